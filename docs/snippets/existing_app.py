"""Stack whose existing function becomes a workflow node, started by an event source."""

from aws_cdk import Stack
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from constructs import Construct

from docs.snippets.orders import HERE
from unum_constructs import Definition, UnumWorkflow


class Shop(Stack):
    """Existing app, from ``# before`` on, with a new workflow."""

    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        # before
        code = lambda_.Code.from_asset(str(HERE / "functions"), exclude=["__pycache__"])
        bucket = s3.Bucket(self, "Uploads", event_bridge_enabled=True)
        price = lambda_.Function(self, "Price", runtime=lambda_.Runtime.PYTHON_3_13, code=code, handler="orders.price")
        # --8<-- [start:new]
        workflow = UnumWorkflow(
            self,
            "Pricing",
            definition=Definition.from_asl(
                {"StartAt": "Price", "States": {"Price": {"Type": "Task", "Resource": "Price", "End": True}}}
            ),
            functions={"Price": price},
        )
        uploaded = events.EventPattern(
            source=["aws.s3"], detail_type=["Object Created"], detail={"bucket": {"name": [bucket.bucket_name]}}
        )
        events.Rule(self, "Uploaded", event_pattern=uploaded, targets=[targets.LambdaFunction(workflow.start_alias)])
        # --8<-- [end:new]
