"""Workflow with functions in a nested stack."""

from aws_cdk import NestedStack, Stack
from aws_cdk.aws_lambda import Code
from constructs import Construct

from docs.snippets.orders import HERE
from unum_constructs import Definition, UnumFunction, UnumWorkflow


class LargeOrders(Stack):
    """Order workflow: one function in its own stack, two in a nested stack."""

    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        # --8<-- [start:nested]
        pricing = NestedStack(self, "Pricing")
        own, nested = (Code.from_asset(str(HERE / "functions"), exclude=["__pycache__"]) for _ in range(2))
        self.workflow = UnumWorkflow(
            self,
            "Orders",
            definition=Definition.from_asl_file(HERE / "workflow.asl.json"),
            functions={
                "Split": UnumFunction(self, "Split", code=own, handler="orders.split"),
                "Price": UnumFunction(pricing, "Price", code=nested, handler="orders.price"),
                "Total": UnumFunction(pricing, "Total", code=nested, handler="orders.total"),
            },
        )
        # --8<-- [end:nested]
