from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aws_cdk import CfnOutput, RemovalPolicy, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk.aws_lambda_event_sources import SqsEventSource
from constructs import Construct

from unum_constructs import Definition, UnumFunction, UnumWorkflow

HERE = Path(__file__).parent


class Chaos(Stack):
    """A map with functions that die; what died is in a table, for the test to see."""

    def __init__(self, scope: Construct, construct_id: str, **options: Any) -> None:
        super().__init__(scope, construct_id, **options)
        deaths = dynamodb.Table(
            self,
            "Deaths",
            partition_key=dynamodb.Attribute(name="key", type=dynamodb.AttributeType.STRING),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            removal_policy=RemovalPolicy.DESTROY,
        )
        functions = {key: self._function(key, deaths) for key in ("Source", "Item", "Join")}
        workflow = UnumWorkflow(
            self,
            "Workflow",
            definition=Definition.from_asl_file(HERE / "workflow.asl.json"),
            functions=functions,
        )
        CfnOutput(self, "DeathsTable", value=deaths.table_name)
        self._redrive(workflow, deaths, functions)

    def _redrive(
        self, workflow: UnumWorkflow, deaths: dynamodb.Table, functions: Mapping[str, lambda_.Function]
    ) -> None:
        """What lies in the failure queue is invoked again."""
        redrive = self._function("Redrive", deaths, handler="again.redrive")
        redrive.add_event_source(SqsEventSource(workflow.failure_queue))
        versions = [f"{function.function_arn}:*" for function in functions.values()]
        redrive.add_to_role_policy(iam.PolicyStatement(actions=["lambda:InvokeFunction"], resources=versions))

    def _function(self, key: str, deaths: dynamodb.Table, *, handler: str | None = None) -> UnumFunction:
        function = UnumFunction(
            self,
            key,
            handler=handler or f"chaos.{key.lower()}",
            code=lambda_.Code.from_asset(str(HERE / "functions"), exclude=["__pycache__"]),
            environment={"DEATHS_TABLE": deaths.table_name},
        )
        deaths.grant(function, "dynamodb:PutItem")
        return function
