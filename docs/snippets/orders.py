"""Stack that the other snippets extend."""

from pathlib import Path

from aws_cdk import Stack
from aws_cdk.aws_lambda import Code
from constructs import Construct

from unum_constructs import Definition, UnumFunction, UnumWorkflow

HERE = Path(__file__).parent


class Orders(Stack):
    """Workflow of three functions."""

    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        code = Code.from_asset(str(HERE / "functions"), exclude=["__pycache__"])
        self.workflow = UnumWorkflow(
            self,
            "Orders",
            definition=Definition.from_asl_file(HERE / "workflow.asl.json"),
            functions={
                "Split": UnumFunction(self, "Split", code=code, handler="orders.split"),
                "Price": UnumFunction(self, "Price", code=code, handler="orders.price"),
                "Total": UnumFunction(self, "Total", code=code, handler="orders.total"),
            },
        )
