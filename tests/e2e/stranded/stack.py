from pathlib import Path

from aws_cdk import CfnOutput, Duration, RemovalPolicy, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from tests.e2e.stranded.definitions import FUNCTIONS, LAST, LEAVING, REVIEW, definition_of
from unum_constructs import Definition, Keep, OnRemoved, UnumFunction, UnumWorkflow, Upgrades

HERE = Path(__file__).parent


class Stranded(Stack):
    """A workflow whose definition changes; its functions stay until the last definition.

    With `keeps`, the last one keeps what it would remove; with `forces`, it does not ask.
    """

    def __init__(
        self, scope: Construct, construct_id: str, *, definition: int, keeps: bool = False, forces: bool = False
    ) -> None:
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
        kept = LEAVING if keeps else ()
        in_stack = {key for key in FUNCTIONS if key in used or key in kept or (definition < LAST and key != "More")}
        functions = {key: self._function(key, FUNCTIONS[key]) for key in FUNCTIONS if key in in_stack}
        # The second definition alone has no long Wait, and executions of the first may have one.
        keep = Keep(
            functions={key: functions[key] for key in kept}, activities=[REVIEW] if keeps else [], schedules=True
        )
        UnumWorkflow(
            self,
            "Workflow",
            definition=Definition.from_asl(text),
            functions={key: functions[key] for key in FUNCTIONS if key in used},
            upgrades=Upgrades(
                keep=keep if keeps or definition == 2 else None,
                on_removed=OnRemoved.FAIL_EXECUTIONS if forces else None,
            ),
        )
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
