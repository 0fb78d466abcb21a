from pathlib import Path

from aws_cdk import CfnOutput, Duration, RemovalPolicy, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from tests.e2e.stranded.definitions import FUNCTIONS, LAST, definition_of
from unum_constructs import Definition, UnumFunction, UnumWorkflow

HERE = Path(__file__).parent


class Stranded(Stack):
    """A workflow whose definition changes; its functions stay until the last definition."""

    def __init__(self, scope: Construct, construct_id: str, *, definition: int) -> None:
        super().__init__(scope, construct_id)
        self._notes = dynamodb.Table(
            self,
            "Notes",
            partition_key=dynamodb.Attribute(name="key", type=dynamodb.AttributeType.STRING),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            removal_policy=RemovalPolicy.DESTROY,
        )
        text = definition_of(definition)
        used = {key for key in FUNCTIONS if f"'{key}'" in str(text)}
        kept = FUNCTIONS if definition < LAST else used
        functions = {key: self._function(key, FUNCTIONS[key]) for key in kept}
        named = {key: functions[key] for key in kept if key in used}
        UnumWorkflow(self, "Workflow", definition=Definition.from_asl(text), functions=named)
        CfnOutput(self, "NotesTable", value=self._notes.table_name)

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
