from pathlib import Path
from typing import Any

from aws_cdk import CfnOutput, Duration, RemovalPolicy, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from unum_constructs import Definition, Guard, Memoization, MemoScope, Store, UnumFunction, UnumWorkflow

HERE = Path(__file__).parent
SHARE_S = 12
"""Timeout of the shared function, and so the lifetime of its lease, in seconds."""

SQUARES = Memoization(key="$.n", version="1", lifetime=Duration.hours(1), scope=MemoScope.TABLE)


class Guards(Stack):
    """A chain of functions with every option."""

    def __init__(self, scope: Construct, construct_id: str, **options: Any) -> None:
        super().__init__(scope, construct_id, **options)
        self.runs = dynamodb.Table(
            self,
            "Runs",
            partition_key=dynamodb.Attribute(name="key", type=dynamodb.AttributeType.STRING),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            removal_policy=RemovalPolicy.DESTROY,
        )
        functions = {
            "Slow": self._function("Slow", guard=Guard.LEASE),
            "Onward": self._function("Onward", checkpoint=False),
            "Square": self._function("Square", memoize=SQUARES),
        }
        definition = Definition.from_asl_file(HERE / "workflow.asl.json")
        store = Store.dynamodb(list_executions=True)
        UnumWorkflow(self, "Workflow", definition=definition, functions=functions, store=store)
        CfnOutput(self, "RunsTable", value=self.runs.table_name)
        self._add_sharing()

    def _add_sharing(self) -> None:
        """Add a workflow of one memoized function, whose lease is short because its timeout is."""
        share = self._function("Share", memoize=True, timeout=Duration.seconds(SHARE_S))
        states = {"Share": {"Type": "Task", "Resource": "Share", "End": True}}
        definition = Definition.from_asl({"StartAt": "Share", "States": states})
        UnumWorkflow(self, "Sharing", definition=definition, functions={"Share": share})

    def _function(self, key: str, **options: Any) -> UnumFunction:
        function = UnumFunction(
            self,
            key,
            handler=f"guarded.{key.lower()}",
            code=lambda_.Code.from_asset(str(HERE / "functions"), exclude=["__pycache__"]),
            environment={"RUNS_TABLE": self.runs.table_name},
            **options,
        )
        self.runs.grant(function, "dynamodb:UpdateItem")
        return function
