from pathlib import Path
from typing import Any

from aws_cdk import CfnOutput, Duration, RemovalPolicy, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from unum_constructs import Definition, ExecutionData, Store, Sweep, UnumFunction, UnumWorkflow

HERE = Path(__file__).parent

SILENT_S = 11

ECHO: Any = {
    "StartAt": "Once",
    "States": {
        "Once": {"Type": "Task", "Resource": "Echo", "Next": "Again"},
        "Again": {"Type": "Task", "Resource": "Echo", "End": True},
    },
}

DEFINITION: Any = {
    "StartAt": "Begin",
    "States": {
        "Begin": {"Type": "Task", "Resource": "Begin", "Next": "Each"},
        "Each": {
            "Type": "Map",
            "ItemsPath": "$.items",
            "ItemSelector": {"run.$": "$.run", "item.$": "$$.Map.Item.Value"},
            "ItemProcessor": {"StartAt": "Work", "States": {"Work": {"Type": "Task", "Resource": "Work", "End": True}}},
            "Next": "End",
        },
        "End": {"Type": "Task", "Resource": "End", "End": True},
    },
}


class Control(Stack):
    """A map of which branches fail until a table says otherwise."""

    def __init__(self, scope: Construct, construct_id: str, **options: Any) -> None:
        super().__init__(scope, construct_id, **options)
        counts = dynamodb.Table(
            self,
            "Counts",
            partition_key=dynamodb.Attribute(name="id", type=dynamodb.AttributeType.STRING),
            removal_policy=RemovalPolicy.DESTROY,
        )
        functions = {key: self._function(key, counts) for key in ("Begin", "Work", "End")}
        for function in functions.values():
            counts.grant_read_write_data(function)
        self.workflow = UnumWorkflow(
            self,
            "Workflow",
            definition=Definition.from_asl(DEFINITION),
            functions=functions,
            execution_data=ExecutionData(payload="s3"),
        )
        self._swept()
        operator = iam.User(self, "Operator")
        for grant in (
            self.workflow.grant_redrive,
            self.workflow.grant_nudge,
            self.workflow.grant_fork,
            self.workflow.grant_delete,
            self.workflow.grant_pause,
        ):
            grant(operator)
        CfnOutput(self, "CountsTable", value=counts.table_name)
        CfnOutput(self, "OperatorName", value=operator.user_name)

    def _swept(self) -> None:
        """Workflows of one Task after another: a schedule sweeps executions or dead letters, or nothing does."""
        silent_for = Duration.seconds(SILENT_S)
        options: dict[str, Any] = {
            "Swept": {"sweep": Sweep.every(Duration.minutes(1), silent_for=silent_for)},
            "Reported": {"sweep": Sweep.every(Duration.minutes(1), silent_for=silent_for, nudge=False)},
            "Unlisted": {"store": Store.dynamodb(list_executions=False), "sweep": None},
        }
        for name, given in options.items():
            function = UnumFunction(
                self,
                f"{name}Echo",
                handler="index.handle",
                code=lambda_.Code.from_inline("def handle(event, context):\n    return event\n"),
                timeout=Duration.seconds(SILENT_S - 1),
            )
            UnumWorkflow(self, name, definition=Definition.from_asl(ECHO), functions={"Echo": function}, **given)

    def _function(self, key: str, counts: dynamodb.Table) -> UnumFunction:
        return UnumFunction(
            self,
            key,
            handler=f"steps.{key.lower()}",
            code=lambda_.Code.from_asset(str(HERE / "functions"), exclude=["__pycache__"]),
            environment={"COUNTS": counts.table_name},
        )
