from typing import Any

from aws_cdk import Duration, Stack
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from unum_constructs import Definition, UnumFunction, UnumWorkflow

CODE = """
class Busy(Exception):
    pass


class Declined(Exception):
    pass


def pass_on(event, context):
    print("passing on", event["case"], flush=True)
    return event


def charge(event, context):
    raise Declined("no money")


def print_(event, context):
    print("printing, attempt", context.unum.attempt, flush=True)
    if context.unum.attempt < 2:
        raise Busy("no paper")
    return event


def ask(event, context):
    print("token", event["token"], "of", event["name"], flush=True)


def ship(event, context):
    raise PermissionError("no stamps")
"""

TOKEN = "arn:aws:states:::lambda:invoke.waitForTaskToken"

CASES = {"fails": "Ship", "catches": "Charge", "retries": "Print", "pauses": "Pause", "asks": "Ask"}
CASES |= {"cold": "Weigh", "warm": "Weigh"}
"""First state of each case; others continue at once with the last one."""


class Shown(Stack):
    """A workflow, inside another construct, with a step of every kind, alarms and a dashboard."""

    def __init__(self, scope: Construct, construct_id: str, **options: Any) -> None:
        super().__init__(scope, construct_id, **options)
        handlers = {"Receive": "pass_on", "Charge": "charge", "Refund": "pass_on", "Print": "print_"}
        handlers |= {"Ask": "ask", "Ship": "ship", "Pack": "pass_on", "Weigh": "pass_on"}
        shop = Construct(self, "Shop")
        orders = UnumWorkflow(
            shop,
            "Orders",
            definition=Definition.from_asl({"StartAt": "Receive", "States": _states()}),
            functions={
                key: UnumFunction(shop, key, handler=f"index.{handler}", code=lambda_.Code.from_inline(CODE))
                for key, handler in handlers.items()
            },
        )
        orders.add_alarms(oldest_running=Duration.days(2))
        orders.dashboard(dashboard_name="Orders")


def _states() -> dict[str, Any]:
    choices = [{"Variable": "$.case", "StringEquals": case, "Next": state} for case, state in CASES.items()]
    retry = [{"ErrorEquals": ["Busy"], "IntervalSeconds": 1, "MaxAttempts": 2}]
    catch = [{"ErrorEquals": ["Declined"], "ResultPath": None, "Next": "Refund"}]
    payload = {"FunctionName": "Ask", "Payload": {"token.$": "$$.Task.Token", "name.$": "$$.Execution.Name"}}
    return {
        "Receive": {"Type": "Task", "Resource": "Receive", "Next": "Which?"},
        "Which?": {"Type": "Choice", "Choices": choices, "Default": "Pack"},
        "Ship": {"Type": "Task", "Resource": "Ship", "Next": "Pack"},
        "Charge": {"Type": "Task", "Resource": "Charge", "Catch": catch, "Next": "Pack"},
        "Refund": {"Type": "Task", "Resource": "Refund", "End": True},
        "Print": {"Type": "Task", "Resource": "Print", "Retry": retry, "Next": "Pack"},
        "Pause": {"Type": "Wait", "Seconds": 3600, "Next": "Pack"},
        "Ask": {"Type": "Task", "Resource": TOKEN, "Parameters": payload, "Next": "Pack"},
        "Weigh": {"Type": "Task", "Resource": "Weigh", "End": True},
        "Pack": {"Type": "Task", "Resource": "Pack", "End": True},
    }
