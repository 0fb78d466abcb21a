from pathlib import Path
from typing import Any

from aws_cdk import CfnOutput, Duration, RemovalPolicy, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

from unum_constructs import Definition, UnumFunction, UnumWorkflow

HERE = Path(__file__).parent


class Language(Stack):
    """One workflow with a case for what the language needs in a deployment beside functions."""

    def __init__(self, scope: Construct, construct_id: str, **options: Any) -> None:
        super().__init__(scope, construct_id, **options)
        self.runs, self.things = self._table("Runs"), self._table("Things")
        self.letters = sqs.Queue(self, "Letters", removal_policy=RemovalPolicy.DESTROY)
        flaky = self._function("Flaky")
        self.runs.grant(flaky, "dynamodb:UpdateItem")
        self.workflow = UnumWorkflow(
            self,
            "Workflow",
            definition=Definition.from_asl_file(
                HERE / "workflow.asl.json",
                substitutions={
                    "Things": self.things.table_name,
                    "Letters": self.letters.queue_url,
                    "Child": self._child().state_machine_arn,
                },
            ),
            functions={"Flaky": flaky} | {key: self._function(key) for key in ("Echo", "Reject", "Sleep")},
        )
        CfnOutput(self, "ThingsTable", value=self.things.table_name)
        CfnOutput(self, "LettersUrl", value=self.letters.queue_url)

    def _table(self, construct_id: str) -> dynamodb.Table:
        return dynamodb.Table(
            self,
            construct_id,
            partition_key=dynamodb.Attribute(name="key", type=dynamodb.AttributeType.STRING),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            removal_policy=RemovalPolicy.DESTROY,
        )

    def _child(self) -> sfn.StateMachine:
        pause = sfn.Wait(self, "Rest", time=sfn.WaitTime.duration(Duration.seconds(1)))
        return sfn.StateMachine(self, "Child", definition_body=sfn.DefinitionBody.from_chainable(pause))

    def _function(self, key: str) -> UnumFunction:
        return UnumFunction(
            self,
            key,
            handler=f"words.{key.lower()}",
            code=lambda_.Code.from_asset(str(HERE / "functions"), exclude=["__pycache__"]),
            environment={"RUNS_TABLE": self.runs.table_name},
        )
