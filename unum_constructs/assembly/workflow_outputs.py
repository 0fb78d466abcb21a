"""Stack outputs of a workflow, which clients and the command line read."""

from collections.abc import Mapping
from typing import NamedTuple

from aws_cdk import Stack
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from unum_constructs.cdk.outputs import EXPORTED, add_outputs
from unum_constructs.cdk.storage import Storage
from unum_constructs.options.stack_outputs import Outputs
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

    def add_to(self, workflow: Construct, name: str, outputs: Outputs, *, exported: bool) -> None:
        """Add the `outputs` of `workflow`, and those with exports by its `name` if `exported`."""
        found = self._found(workflow, name)
        match outputs:
            case Outputs.ALL:
                added = found
            case Outputs.ONE:
                kept = {kind: found[kind] for kind in EXPORTED if exported}
                addresses = {kind: value for kind, (value, _) in found.items()} | self._activity_urls
                added = {**kept, "Workflow": (_to_json(workflow, addresses), f"Addresses of workflow {name}")}
            case Outputs.NONE:
                added = {kind: found[kind] for kind in EXPORTED if exported}
        add_outputs(workflow, added, exported_as=name if exported else None)

    def _found(self, workflow: Construct, name: str) -> dict[str, tuple[str, str]]:
        """Return value and description of everything that an output may name, by kind."""
        found = {
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
            found["PayloadBucket"] = (self.payload_bucket.bucket_name, f"Large values of workflow {name}")
        for kind, urls in self._activity_urls.items():
            found[kind] = (_to_json(workflow, urls), f"Queues of the activities of workflow {name}")
        return found

    @property
    def _activity_urls(self) -> dict[str, Mapping[str, str]]:
        """URLs of the activities' queues by name, as the address of their kind; empty without activities."""
        urls = {each: queue.queue_url for each, queue in self.activities.items()}
        return {"Activities": urls} if urls else {}


def _to_json(workflow: Construct, values: Mapping[str, object]) -> str:
    """Return `values`, which may have tokens, as JSON."""
    return Stack.of(workflow).to_json_string(values)
