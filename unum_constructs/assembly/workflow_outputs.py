"""Stack outputs of a workflow, which clients and the command line read."""

from collections.abc import Mapping
from typing import NamedTuple

from aws_cdk import Stack
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from unum_constructs.cdk.outputs import add_outputs
from unum_constructs.cdk.storage import Storage
from unum_constructs.resources.aliases import WorkflowAliases


class WorkflowOutputs(NamedTuple):
    """Resources of a workflow that its outputs name, and the lifetime of results in seconds."""

    start_alias: lambda_.Alias
    control_function: lambda_.IFunction
    aliases: WorkflowAliases
    storage: Storage
    failure_queue: sqs.Queue
    payload_bucket: s3.IBucket | None
    activities: Mapping[str, sqs.Queue]
    retention_s: int

    def add_to(self, workflow: Construct, name: str, *, exported: bool) -> None:
        """Add the outputs of `workflow`, exported by its `name` if `exported`."""
        outputs = {
            "StartAlias": (self.start_alias.function_arn, f"Start alias of workflow {name}"),
            "Table": (self.storage.address, f"Table of workflow {name}"),
            "Workflow": (name, "Name of the workflow"),
            "DescribeAlias": (self.aliases.describe.function_arn, f"Describe alias of workflow {name}"),
            "RunAlias": (self.aliases.run.function_arn, f"Run alias of workflow {name}"),
            "RespondAlias": (self.aliases.respond.function_arn, f"Response alias of workflow {name}"),
            "ControlFunction": (self.control_function.function_arn, f"Control function of workflow {name}"),
            "FailureQueue": (self.failure_queue.queue_url, f"What workflow {name} could not go on from"),
            "Retention": (str(self.retention_s), f"Seconds that workflow {name} keeps results"),
        }
        if self.payload_bucket:
            outputs["PayloadBucket"] = (self.payload_bucket.bucket_name, f"Large values of workflow {name}")
        if self.activities:
            urls = {each: queue.queue_url for each, queue in self.activities.items()}
            text = Stack.of(workflow).to_json_string(urls)
            outputs["Activities"] = (text, f"Queues of the activities of workflow {name}")
        add_outputs(workflow, outputs, exported_as=name if exported else None)
