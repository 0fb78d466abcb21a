"""IoT pipeline of the Unum paper: aggregate a room's readings, then decide, if the mean is uncomfortable."""

from pathlib import Path
from typing import Any

from aws_cdk import Stack
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from unum_constructs import Definition, UnumFunction, UnumWorkflow

HERE = Path(__file__).parent


class IotPipeline(Stack):
    """Workflow with its two functions."""

    def __init__(self, scope: Construct, construct_id: str, **options: Any) -> None:
        super().__init__(scope, construct_id, **options)
        self.workflow = UnumWorkflow(
            self,
            "Workflow",
            definition=Definition.from_asl_file(HERE / "workflow.asl.json"),
            functions={
                "Aggregate": self._function("Aggregate", "aggregate"),
                "Decide": self._function("Decide", "decide"),
            },
        )

    def _function(self, construct_id: str, folder: str) -> UnumFunction:
        return UnumFunction(
            self,
            construct_id,
            handler="handler.handle",
            code=lambda_.Code.from_asset(str(HERE / "functions" / folder), exclude=["__pycache__"]),
        )
