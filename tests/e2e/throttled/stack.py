from typing import Any

from aws_cdk import CfnOutput, Stack
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from unum_constructs import Definition, UnumFunction, UnumWorkflow

CODE = """CODE = {code}


def first(event, context):
    return [f"{{each}} by code {{CODE}}" for each in event]


def each(event, context):
    return f"{{event}}, each by code {{CODE}}"


def last(event, context):
    return event
"""

ALL = [{"ErrorEquals": ["States.ALL"], "MaxAttempts": 1}]
CAUGHT = [{"ErrorEquals": ["States.ALL"], "Next": "Caught"}]


def task(function: str, **fields: Any) -> dict[str, Any]:
    return {"Type": "Task", "Resource": function, **fields}


class Throttled(Stack):
    """A Task, a Map of Tasks and a Task that joins them; every failure is retried, and then caught."""

    def __init__(self, scope: Construct, construct_id: str, *, code: int, **options: Any) -> None:
        super().__init__(scope, construct_id, **options)
        each = {"StartAt": "Each", "States": {"Each": task("Each", End=True, Retry=ALL)}}
        states = {
            "First": task("First", Next="Map", Retry=ALL),
            "Map": {"Type": "Map", "ItemProcessor": each, "Catch": CAUGHT, "Next": "Last"},
            "Last": task("Last", End=True, Retry=ALL, Catch=CAUGHT),
            "Caught": {"Type": "Pass", "End": True},
        }
        functions = {
            name: UnumFunction(
                self,
                name,
                handler=f"index.{name.lower()}",
                code=lambda_.Code.from_inline(CODE.format(code=code)),
            )
            for name in ("First", "Each", "Last")
        }
        definition = Definition.from_asl({"StartAt": "First", "States": states})
        UnumWorkflow(self, "Workflow", definition=definition, functions=functions)
        for name, function in functions.items():
            CfnOutput(self, f"{name}Name", value=function.function_name)
