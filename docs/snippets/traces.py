"""Stack with functions that send spans of user code, and segments of X-Ray."""

from aws_cdk import Stack
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from docs.snippets.orders import HERE
from unum_constructs import Definition, Monitoring, OpenTelemetry, UnumFunction, UnumWorkflow


class Traced(Stack):
    """Orders, traced by OpenTelemetry and X-Ray."""

    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        code = lambda_.Code.from_asset(str(HERE / "functions"), exclude=["__pycache__"])
        definition = Definition.from_asl_file(HERE / "workflow.asl.json")
        # --8<-- [start:segments]
        functions = {
            name: UnumFunction(self, name, code=code, handler=f"orders.{name.lower()}", tracing=lambda_.Tracing.ACTIVE)
            for name in ("Split", "Price", "Total")
        }
        # --8<-- [end:segments]
        # --8<-- [start:spans]
        UnumWorkflow(
            self,
            "Orders",
            definition=definition,
            functions=functions,
            monitoring=Monitoring(opentelemetry=OpenTelemetry(endpoint="http://collector.internal:4318")),
        )
        # --8<-- [end:spans]
