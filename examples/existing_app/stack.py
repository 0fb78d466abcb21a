"""Existing shop with a new workflow: uploaded files of orders are priced and booked."""

from pathlib import Path
from typing import Any

from aws_cdk import CfnOutput, RemovalPolicy, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_events as events
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from constructs import Construct

from unum_constructs import Definition, UnumFunction, UnumWorkflow, UnumWorkflowTarget

HERE = Path(__file__).parent


class ExistingApp(Stack):
    """The shop's stack."""

    def __init__(self, scope: Construct, construct_id: str, **options: Any) -> None:
        super().__init__(scope, construct_id, **options)
        self._shop()
        self._order_workflow()
        self._start_on_upload()

    def _shop(self) -> None:
        """Make the existing parts: a table, a bucket, and two functions, of which one invokes the other."""
        self.uploads = s3.Bucket(
            self, "Uploads", event_bridge_enabled=True, enforce_ssl=True, removal_policy=RemovalPolicy.DESTROY
        )
        self.orders = dynamodb.Table(
            self,
            "Orders",
            partition_key=dynamodb.Attribute(name="file", type=dynamodb.AttributeType.STRING),
            sort_key=dynamodb.Attribute(name="line", type=dynamodb.AttributeType.STRING),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            removal_policy=RemovalPolicy.DESTROY,
        )
        self.price = lambda_.Function(self, "Price", **self._code("price"))
        self.quote = lambda_.Function(
            self, "Quote", environment={"PRICE_FUNCTION": self.price.function_name}, **self._code("quote")
        )
        self.price.grant_invoke(self.quote)
        CfnOutput(self, "UploadsBucket", value=self.uploads.bucket_name)
        CfnOutput(self, "OrdersTable", value=self.orders.table_name)
        CfnOutput(self, "PriceFunction", value=self.price.function_name)
        CfnOutput(self, "QuoteFunction", value=self.quote.function_name)

    def _order_workflow(self) -> None:
        """Add the workflow: the price function becomes a node, and still answers its other callers."""
        read_orders = UnumFunction(self, "ReadOrders", **self._code("read_orders"))
        book = UnumFunction(self, "Book", environment={"ORDERS_TABLE": self.orders.table_name}, **self._code("book"))
        self.uploads.grant_read(read_orders, "orders/*")
        # Only the action of `batch_writer`: `grant_write_data` would add update and delete.
        self.orders.grant(book, "dynamodb:BatchWriteItem")
        self.workflow = UnumWorkflow(
            self,
            "Workflow",
            definition=Definition.from_asl_file(HERE / "workflow.asl.json"),
            functions={"ReadOrders": read_orders, "Price": self.price, "Book": book},
        )

    def _start_on_upload(self) -> None:
        """Start executions on uploads; matching events become inputs."""
        uploaded = events.EventPattern(
            source=["aws.s3"],
            detail_type=["Object Created"],
            detail={"bucket": {"name": [self.uploads.bucket_name]}, "object": {"key": [{"prefix": "orders/"}]}},
        )
        events.Rule(self, "Uploaded", event_pattern=uploaded, targets=[UnumWorkflowTarget(self.workflow)])

    def _code(self, folder: str) -> dict[str, Any]:
        return {
            "runtime": lambda_.Runtime.PYTHON_3_13,
            "handler": "handler.handle",
            "code": lambda_.Code.from_asset(str(HERE / "functions" / folder), exclude=["__pycache__"]),
        }
