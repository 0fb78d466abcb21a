from typing import Any

from aws_cdk import CfnOutput, Duration, RemovalPolicy, Stack, Tags
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct, IConstruct

from unum_constructs import Definition, Monitoring, Store, UnumFunction, UnumWorkflow

CODE = """
def handle(event, context):
    if isinstance(event, dict) and event.get("fails"):
        raise ValueError("told to")
    return event
"""

FAULTS = "emulator:faults"
TASKS = "die=0.3 within=7 twice=0.1"
HANDLERS = "die=0.3 within=8"


class Told(Stack):
    """Workflows whose status events arrive in a queue: calm ones in a table and a bucket, and one that is killed."""

    def __init__(self, scope: Construct, construct_id: str, **options: Any) -> None:
        super().__init__(scope, construct_id, **options)
        self._bus = events.EventBus(self, "Bus")
        self._bus.apply_removal_policy(RemovalPolicy.DESTROY)
        self._workflow("Calm")
        self._workflow("Bucket", store=Store.s3())
        killed = self._workflow("Killed")
        for handler in (killed.failure_handler, killed.control):
            _fail(handler, HANDLERS)

    def _workflow(self, construct_id: str, **options: Any) -> UnumWorkflow:
        functions = {key: self._function(f"{construct_id}{key}") for key in ("First", "Second")}
        if construct_id == "Killed":
            for function in functions.values():
                _fail(function, TASKS)
        pause = {"Type": "Wait", "SecondsPath": "$.pause_s", "Next": "Second"}
        waits = {
            "Type": "Choice",
            "Choices": [{"Variable": "$.pause_s", "IsPresent": True, "Next": "Pause"}],
            "Default": "Second",
        }
        states = {
            "First": {"Type": "Task", "Resource": "First", "Next": "Waits"},
            "Waits": waits,
            "Pause": pause,
            "Second": {"Type": "Task", "Resource": "Second", "End": True},
        }
        workflow = UnumWorkflow(
            self,
            construct_id,
            definition=Definition.from_asl({"StartAt": "First", "States": states}),
            functions=functions,
            monitoring=Monitoring(events=self._bus),
            **options,
        )
        queue = sqs.Queue(self, f"{construct_id}Queue", removal_policy=RemovalPolicy.DESTROY)
        workflow.on_execution_status_change("Every", target=targets.SqsQueue(queue))
        failures = sqs.Queue(self, f"{construct_id}Failures", removal_policy=RemovalPolicy.DESTROY)
        workflow.on_execution_failed("OnlyFailures", target=targets.SqsQueue(failures))
        CfnOutput(self, f"{construct_id}Told", value=queue.queue_url)
        CfnOutput(self, f"{construct_id}Failed", value=failures.queue_url)
        return workflow

    def _function(self, construct_id: str) -> UnumFunction:
        code = lambda_.Code.from_inline(CODE)
        return UnumFunction(self, construct_id, handler="index.handle", code=code, timeout=Duration.seconds(10))


def _fail(functions: IConstruct, faults: str) -> None:
    Tags.of(functions).add(FAULTS, faults, include_resource_types=["AWS::Lambda::Function"])
