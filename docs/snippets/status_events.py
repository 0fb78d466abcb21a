"""Stack that reacts to executions that do not succeed."""

from aws_cdk import Stack
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_sqs as sqs
from aws_cdk.aws_lambda import Code
from constructs import Construct

from docs.snippets.orders import HERE
from unum_constructs import Definition, Monitoring, UnumFunction, UnumWorkflow


class ToldOrders(Stack):
    """Orders with status events."""

    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        code = Code.from_asset(str(HERE / "functions"), exclude=["__pycache__"])
        functions = {
            key: UnumFunction(self, key, code=code, handler=f"orders.{key.lower()}")
            for key in ("Split", "Price", "Total")
        }
        definition = Definition.from_asl_file(HERE / "workflow.asl.json")
        # --8<-- [start:events]
        bus = events.EventBus(self, "Bus")
        workflow = UnumWorkflow(
            self, "Orders", definition=definition, functions=functions, monitoring=Monitoring(events=bus)
        )
        # --8<-- [end:events]
        # --8<-- [start:rule]
        to_do = sqs.Queue(self, "ToDo")
        workflow.on_execution_status_change(
            "NotSucceeded", statuses=["FAILED", "TIMED_OUT", "ABORTED"], target=targets.SqsQueue(to_do)
        )
        # --8<-- [end:rule]
