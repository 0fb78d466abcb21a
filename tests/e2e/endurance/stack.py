from pathlib import Path
from typing import Any

from aws_cdk import CfnOutput, Duration, RemovalPolicy, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from unum_constructs import Definition, UnumFunction, UnumWorkflow

HERE = Path(__file__).parent
LONGEST_HOLD = Duration.minutes(2)


class Endurance(Stack):
    """A workflow for many executions, long ones, and such as are stopped."""

    def __init__(self, scope: Construct, construct_id: str, **options: Any) -> None:
        super().__init__(scope, construct_id, **options)
        notes = dynamodb.Table(
            self,
            "Notes",
            partition_key=dynamodb.Attribute(name="key", type=dynamodb.AttributeType.STRING),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            removal_policy=RemovalPolicy.DESTROY,
        )
        handlers = {"Begin": "begin", "Square": "square", "Hold": "hold", "Round": "round_"}
        functions = {key: self._function(key, name, notes) for key, name in handlers.items()}
        notes.grant(functions["Begin"], "dynamodb:UpdateItem")
        notes.grant(functions["Hold"], "dynamodb:UpdateItem", "dynamodb:GetItem")
        UnumWorkflow(
            self,
            "Workflow",
            definition=Definition.from_asl_file(HERE / "workflow.asl.json"),
            functions=functions,
        )
        CfnOutput(self, "NotesTable", value=notes.table_name)

    def _function(self, key: str, name: str, notes: dynamodb.Table) -> UnumFunction:
        return UnumFunction(
            self,
            key,
            handler=f"enduring.{name}",
            code=lambda_.Code.from_asset(str(HERE / "functions"), exclude=["__pycache__"]),
            environment={"NOTES_TABLE": notes.table_name},
            timeout=LONGEST_HOLD,
        )
