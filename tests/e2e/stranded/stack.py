from pathlib import Path

from aws_cdk import CfnOutput, Duration, RemovalPolicy, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from tests.e2e.stranded.definitions import FUNCTIONS, definition
from unum_constructs import Definition, UnumFunction, UnumWorkflow

HERE = Path(__file__).parent


class Stranded(Stack):
    """A workflow whose definition changes over functions that stay."""

    def __init__(self, scope: Construct, construct_id: str, *, definition: int) -> None:
        super().__init__(scope, construct_id)
        self._notes = dynamodb.Table(
            self,
            "Notes",
            partition_key=dynamodb.Attribute(name="key", type=dynamodb.AttributeType.STRING),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            removal_policy=RemovalPolicy.DESTROY,
        )
        functions = {key: self._function(key, handler) for key, handler in FUNCTIONS.items()}
        self._add_workflow(definition, functions)
        CfnOutput(self, "NotesTable", value=self._notes.table_name)

    def _add_workflow(self, number: int, functions: dict[str, UnumFunction]) -> None:
        text = definition(number)
        named = str(text)
        UnumWorkflow(
            self,
            "Workflow",
            definition=Definition.from_asl(text),
            functions={key: function for key, function in functions.items() if f"'{key}'" in named},
        )

    def _function(self, key: str, handler: str) -> UnumFunction:
        function = UnumFunction(
            self,
            key,
            handler=f"index.{handler}",
            code=lambda_.Code.from_inline((HERE / "work.py").read_text(encoding="utf-8")),
            environment={"NOTES_TABLE": self._notes.table_name},
            timeout=Duration.minutes(5),
        )
        self._notes.grant(function, "dynamodb:GetItem", "dynamodb:PutItem")
        return function
