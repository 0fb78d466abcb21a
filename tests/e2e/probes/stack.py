from pathlib import Path
from typing import Any

from aws_cdk import CfnOutput, RemovalPolicy, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from tests.e2e.packages import with_packages
from unum_constructs import Definition, ExecutionData, Payload, UnumFunction, UnumWorkflow

HERE = Path(__file__).parent
EXAMPLE = HERE.parents[2] / "docs" / "snippets" / "functions" / "powertools.py"
POWERTOOLS = ("aws_lambda_powertools", "aws_xray_sdk", "pydantic")


class Probes(Stack):
    """Workflow with a case for each feature without an example."""

    def __init__(self, scope: Construct, construct_id: str, **options: Any) -> None:
        super().__init__(scope, construct_id, **options)
        self.runs = dynamodb.Table(
            self,
            "Runs",
            partition_key=dynamodb.Attribute(name="key", type=dynamodb.AttributeType.STRING),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            removal_policy=RemovalPolicy.DESTROY,
        )
        record = self._function("Record")
        self.runs.grant(record, "dynamodb:UpdateItem")
        others = ("Reject", "Unserializable", "Square", "Total", "Advance", "Trespass")
        self.workflow = UnumWorkflow(
            self,
            "Workflow",
            definition=Definition.from_asl_file(HERE / "workflow.asl.json"),
            functions={"Record": record, "Charge": self._with_powertools()}
            | {key: self._function(key) for key in others}
            | {key: self._function(key, memory_size=512) for key in ("Inflate", "HandOn", "Weigh")},
            execution_data=ExecutionData(payload=Payload.S3),
        )
        starter = iam.Role(self, "Starter", assumed_by=iam.AccountRootPrincipal())
        self.workflow.grant_start_sync(starter)
        CfnOutput(self, "RunsTable", value=self.runs.table_name)
        CfnOutput(self, "StarterRole", value=starter.role_arn)

    def _with_powertools(self) -> UnumFunction:
        """Return the documentation's example with its packages."""
        function = UnumFunction(
            self,
            "Charge",
            handler="powertools.charge",
            code=lambda_.Code.from_asset(str(with_packages(EXAMPLE, *POWERTOOLS))),
            environment={"PAYMENTS_TABLE": self.runs.table_name},
        )
        self.runs.grant_read_write_data(function)
        return function

    def _function(self, key: str, **options: Any) -> UnumFunction:
        return UnumFunction(
            self,
            key,
            handler=f"probes.{key.lower()}",
            code=lambda_.Code.from_asset(str(HERE / "functions"), exclude=["__pycache__"]),
            environment={"RUNS_TABLE": self.runs.table_name},
            **options,
        )
