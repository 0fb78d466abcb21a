"""Workflow of functions in other languages and of another team's function."""

from aws_cdk import Stack
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from unum_constructs import Definition, UnumWorkflow

RESIZE = "exports.handler = async (event) => ({...event, width: 100});"
ARN = "arn:aws:lambda:eu-west-1:123456789012:function:publish"
DEFINITION = {
    "StartAt": "Resize",
    "States": {
        "Resize": {"Type": "Task", "Resource": "Resize", "Next": "Publish"},
        "Publish": {"Type": "Task", "Resource": "Publish", "End": True},
    },
}


class Pictures(Stack):
    """Resized by Node.js, published by a function that exists elsewhere."""

    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        # --8<-- [start:workflow]
        resize = lambda_.Function(
            self,
            "Resize",
            code=lambda_.Code.from_inline(RESIZE),
            handler="index.handler",
            runtime=lambda_.Runtime.NODEJS_22_X,
        )
        UnumWorkflow(
            self,
            "Pictures",
            definition=Definition.from_asl(DEFINITION),
            functions={
                "Resize": resize.add_alias("live"),
                "Publish": lambda_.Function.from_function_arn(self, "Publish", ARN),
            },
        )
        # --8<-- [end:workflow]
