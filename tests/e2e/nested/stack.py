from pathlib import Path
from typing import Any

from aws_cdk import CfnOutput, RemovalPolicy, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from unum_constructs import Definition, UnumFunction, UnumWorkflow

HERE = Path(__file__).parent


class Nested(Stack):
    """Workflow that starts itself and another one, with a shared function."""

    def __init__(self, scope: Construct, construct_id: str, **options: Any) -> None:
        super().__init__(scope, construct_id, **options)
        runs = dynamodb.Table(
            self,
            "Runs",
            partition_key=dynamodb.Attribute(name="key", type=dynamodb.AttributeType.STRING),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            removal_policy=RemovalPolicy.DESTROY,
        )
        double = UnumFunction(
            self,
            "Double",
            handler="counted.double",
            code=lambda_.Code.from_asset(str(HERE / "functions"), exclude=["__pycache__"]),
            environment={"RUNS_TABLE": runs.table_name},
        )
        runs.grant(double, "dynamodb:UpdateItem")
        functions = {"Double": double}
        child = UnumWorkflow(
            self, "Child", definition=Definition.from_asl_file(HERE / "child.asl.json"), functions=functions
        )
        definition = Definition.from_asl_file(
            HERE / "workflow.asl.json", substitutions={"Child": child.start_alias.function_arn}
        )
        workflow = UnumWorkflow(self, "Workflow", definition=definition, functions=functions)
        services = workflow.node.find_child("Services")
        assert isinstance(services, lambda_.Function)
        CfnOutput(self, "Services", value=services.current_version.function_arn)
        CfnOutput(self, "RunsTable", value=runs.table_name)
