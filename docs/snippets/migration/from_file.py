"""Definition in a file, with the substitutions of `StateMachine`."""

from aws_cdk import Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from docs.snippets.orders import HERE
from unum_constructs import Definition, UnumWorkflow


class Booking(Stack):
    """Stack that prices a line of an order, and stores it."""

    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        key = dynamodb.Attribute(name="item", type=dynamodb.AttributeType.STRING)
        table = dynamodb.Table(self, "Lines", partition_key=key)
        code = lambda_.Code.from_asset(str(HERE / "functions"), exclude=["__pycache__"])
        runtime = lambda_.Runtime.PYTHON_3_13
        price = lambda_.Function(self, "Price", runtime=runtime, code=code, handler="orders.price")
        # --8<-- [start:changes]
        substitutions = {"PriceFunction": price.function_arn, "Lines": table.table_name}
        UnumWorkflow(
            self,
            "Workflow",
            definition=Definition.from_asl_file(HERE / "migration" / "booking.asl.json", substitutions=substitutions),
            functions={"Price": price},
        )
        # --8<-- [end:changes]
