from aws_cdk import CfnOutput, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from aws_cdk import aws_stepfunctions as sfn
from aws_cdk import aws_stepfunctions_tasks as tasks
from constructs import Construct

from unum_constructs import Definition, UnumFunction, UnumWorkflow
from unum_constructs import graph as g

CODE = "def handle(event, context):\n    return event\n"

FORGER = """
import os

import boto3
from botocore.exceptions import ClientError


def handle(event, context):
    item = {"pk": {"S": "definition:FromAsl/0123456789ab"}, "sk": {"S": "0"}, "ttl": {"N": "9999999999"}}
    try:
        boto3.client("dynamodb").put_item(TableName=os.environ["TABLE"], Item=item)
    except ClientError as error:
        return error.response["Error"]["Code"]
    return "written"
"""

LAST = {1: "Old end", 2: "New end"}
"""Last state of each version."""


class Definitions(Stack):
    """Workflows from a chain, a graph and the Amazon States Language, in two versions; and users who read them."""

    def __init__(self, scope: Construct, construct_id: str, *, version: int) -> None:
        super().__init__(scope, construct_id)
        last = LAST[version]
        reader, operator = (iam.User(self, name) for name in ("Reader", "Operator"))
        for name, definition in (("FromChain", self._chain(last)), ("FromGraph", self._graph(last))):
            self._grant(UnumWorkflow(self, name, workflow_name=name, definition=definition), reader, operator)
        first, forger = self._function("AslFirst"), self._function("AslForger", FORGER)
        asl = UnumWorkflow(
            self,
            "FromAsl",
            workflow_name="FromAsl",
            definition=Definition.from_asl(_asl(last)),
            functions={"First": first, "Forger": forger},
        )
        forger.add_environment("TABLE", asl.table.table_name)
        self._grant(asl, reader, operator)
        for user in (reader, operator):
            CfnOutput(self, f"{user.node.id}Name", value=user.user_name)

    def _grant(self, workflow: UnumWorkflow, reader: iam.User, operator: iam.User) -> None:
        workflow.grant_read(reader)
        workflow.grant_read(operator)
        workflow.grant_nudge(operator)

    def _chain(self, last: str) -> Definition:
        queue = sqs.Queue(self, "Queue")
        # A token in the definition: its value is known at the deployment alone.
        payload = sfn.TaskInput.from_object({"items": [1, 2], "queue": queue.queue_url})
        first = tasks.LambdaInvoke(
            self, "First", lambda_function=self._function("ChainFirst"), payload=payload, output_path="$.Payload"
        )
        work = tasks.LambdaInvoke(self, "Work", lambda_function=self._function("ChainWork"), output_path="$.Payload")
        each = sfn.Map(self, "Each", items_path="$.items").item_processor(work)
        return Definition.from_chainable(first.next(each).next(sfn.Pass(self, last)))

    def _graph(self, last: str) -> Definition:
        first, work = (g.task(name, self._function(f"Graph{name}")) for name in ("First", "Work"))
        return Definition.from_graph(
            first >> g.map(work, name="Each", items=g.out["items"]) >> g.task(last, self._function("GraphLast"))
        )

    def _function(self, construct_id: str, code: str = CODE) -> UnumFunction:
        return UnumFunction(self, construct_id, handler="index.handle", code=lambda_.Code.from_inline(code))


def _asl(last: str) -> dict[str, object]:
    work = {"Type": "Task", "Resource": "Forger", "End": True}
    return {
        "StartAt": "First",
        "States": {
            "First": {"Type": "Task", "Resource": "First", "Next": "Each"},
            "Each": {
                "Type": "Map",
                "ItemsPath": "$.items",
                "ItemProcessor": {
                    "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"},
                    "StartAt": "Work",
                    "States": {"Work": work},
                },
                "Next": last,
            },
            last: {"Type": "Pass", "End": True},
        },
    }
