from typing import Any

from aws_cdk import CfnOutput, NestedStack, RemovalPolicy, Stack
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from unum_constructs import Definition, Delivery, UnumFunction, UnumWorkflow

CODE = """
import os


def begin(event, context):
    return {"n": event["n"] + 1}


def conclude(event, context):
    if event["n"] == 0:
        os._exit(1)
    if event["n"] < 0:
        raise ValueError("negative")
    return event["n"] * 10
"""

RETRY = [{"ErrorEquals": ["ValueError"], "IntervalSeconds": 1, "MaxAttempts": 1}]
DEFINITION: dict[str, Any] = {
    "StartAt": "Begin",
    "States": {
        "Begin": {"Type": "Task", "Resource": "Begin", "Next": "Wait"},
        "Wait": {"Type": "Wait", "Seconds": 1, "Next": "Conclude"},
        "Conclude": {"Type": "Task", "Resource": "Conclude", "Retry": RETRY, "End": True},
    },
}
"""Both functions get events that waited, and the last one fails, as executions of a negative number tell."""


def function(scope: Construct, construct_id: str, **options: Any) -> UnumFunction:
    return UnumFunction(
        scope,
        construct_id,
        code=lambda_.Code.from_inline(CODE),
        handler=f"index.{construct_id.lower()}",
        **options,
    )


class Keyed(Stack):
    """All that a workflow makes, and its functions, under one key of the user's."""

    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        key = kms.Key(self, "Key", removal_policy=RemovalPolicy.DESTROY)
        UnumWorkflow(
            self,
            "Workflow",
            definition=Definition.from_asl(DEFINITION),
            functions={each: function(self, each, encryption_key=key) for each in ("Begin", "Conclude")},
            encryption_key=key,
        )
        CfnOutput(self, "KeyArn", value=key.key_arn)


class Parted(Stack):
    """Workflow with functions in two nested stacks."""

    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        functions = {each: function(NestedStack(self, f"{each}Part"), each) for each in ("Begin", "Conclude")}
        UnumWorkflow(self, "Workflow", definition=Definition.from_asl(DEFINITION), functions=functions)


class Shared(Stack):
    """A function for workflows of two other stacks."""

    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        self.conclude = function(self, "Conclude")


CATCHING = {
    **DEFINITION,
    "States": {
        **DEFINITION["States"],
        "Conclude": {
            **DEFINITION["States"]["Conclude"],
            "Catch": [{"ErrorEquals": ["Runtime.ExitError"], "ResultPath": "$.error", "Next": "Caught"}],
        },
        "Caught": {"Type": "Pass", "Result": "caught", "End": True},
    },
}


class Sharing(Stack):
    """A workflow that ends in a function of another stack, in which each execution of -1 dies."""

    def __init__(self, scope: Construct, construct_id: str, shared: Shared) -> None:
        super().__init__(scope, construct_id)
        UnumWorkflow(
            self,
            "Workflow",
            definition=Definition.from_asl(CATCHING),
            functions={"Begin": function(self, "Begin"), "Conclude": shared.conclude},
            delivery=Delivery(retry_attempts=0),
        )
