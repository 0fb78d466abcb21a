"""A workflow that calls functions without the runtime: Node, an alias, a version, an imported one, one with options."""

from typing import Any

from aws_cdk import Duration, Stack
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_stepfunctions as sfn
from aws_cdk import aws_stepfunctions_tasks as tasks
from constructs import Construct

from unum_constructs import Definition, UnumFunction, UnumWorkflow

NODE = """
exports.handler = async (event) => ({...event, n: event.n * 2});
"""

PYTHON = """
import time

class RefusedError(Exception):
    pass

def add(event, context):
    if event.get("refuse") == context.function_name:
        raise RefusedError("no thanks")
    return {**event, "n": event["n"] + 1}

def tell(event, context):
    return {"version": context.function_version}

def sleep(event, context):
    time.sleep(event["seconds"])
"""

NAME = "called-by-name"
INVOKE = "arn:aws:states:::lambda:invoke"
ERRORS = [{"ErrorEquals": ["RefusedError"], "ResultPath": "$.error", "Next": "Refused"}]


def _task(resource: str, **fields: Any) -> dict[str, Any]:
    return {"Type": "Task", "Resource": resource, **fields}


def _invoke(**parameters: Any) -> dict[str, Any]:
    return _task(INVOKE, Parameters=parameters, ResultPath="$.result", End=True)


STATES: dict[str, Any] = {
    "Add": _task("Add", Next="Double"),
    "Double": _task("Node", Next="Each"),
    "Each": {
        "Type": "Map",
        "ItemsPath": "$.list",
        "ItemProcessor": {"StartAt": "Half", "States": {"Half": _task("Node", End=True)}},
        "ResultPath": "$.doubled",
        "Next": "Which?",
    },
    "Which?": {
        "Type": "Choice",
        "Choices": [
            {"Variable": "$.case", "StringEquals": case, "Next": case}
            for case in ("alias", "version", "imported", "options", "event", "dry", "slow")
        ],
    },
    "alias": {**_task("Alias", ResultPath="$.result", End=True)},
    "version": _invoke(FunctionName="Version", **{"Payload.$": "$"}),
    "imported": {**_invoke(FunctionName="Imported", **{"Payload.$": "$"}), "Catch": ERRORS},
    "options": _invoke(FunctionName="Told", Qualifier="live", LogType="Tail", Payload={}),
    "event": _invoke(FunctionName="Told", InvocationType="Event", Payload={}),
    "dry": _invoke(FunctionName="Told", InvocationType="DryRun", Payload={}),
    "slow": _task("Slow", Parameters={"seconds": 20}, TimeoutSeconds=2, End=True),
    "Refused": {"Type": "Pass", "End": True},
}


class Called(Stack):
    """A workflow over functions of every kind, and one from a chain of the CDK."""

    def __init__(self, scope: Construct, construct_id: str, **options: Any) -> None:
        super().__init__(scope, construct_id, **options)
        node = lambda_.Function(
            self,
            "Node",
            code=lambda_.Code.from_inline(NODE),
            handler="index.handler",
            runtime=lambda_.Runtime.NODEJS_22_X,
        )
        reply, add = self._plain("Told", "tell"), self._plain("Other", "add", function_name=NAME)
        alias = lambda_.Alias(self, "Live", alias_name="live", version=reply.current_version)
        UnumWorkflow(
            self,
            "Workflow",
            definition=Definition.from_asl({"StartAt": "Add", "States": STATES}),
            functions={
                "Add": UnumFunction(self, "Add", code=lambda_.Code.from_inline(PYTHON), handler="index.add"),
                "Node": node,
                "Told": reply,
                "Alias": alias,
                "Version": reply.current_version,
                "Imported": lambda_.Function.from_function_name(self, "Imported", NAME),
                "Slow": self._plain("Slow", "sleep").add_alias("slow"),
            },
        ).node.add_dependency(alias, add)
        chain = tasks.LambdaInvoke(self, "By CDK", lambda_function=node, payload_response_only=True)
        UnumWorkflow(self, "Chain", definition=Definition.from_chainable(sfn.Chain.start(chain)))

    def _plain(self, construct_id: str, handler: str, **options: Any) -> lambda_.Function:
        return lambda_.Function(
            self,
            construct_id,
            code=lambda_.Code.from_inline(PYTHON),
            handler=f"index.{handler}",
            runtime=lambda_.Runtime.PYTHON_3_12,
            timeout=Duration.seconds(30),
            **options,
        )
