"""Addresses of a deployed workflow, from the outputs of its CloudFormation stack."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from unum_cli.commands.command_errors import UsageError
from unum_runtime.protocol.runtime import DEFAULT_RETENTION_S

_KINDS = (
    "StartAlias|DescribeAlias|ControlAlias|ControlFunction|FailureQueue|Table|Workflow|Retention|Activities|"
    "PayloadBucket"
)
_OUTPUT = re.compile(rf"(?P<construct>.*)(?P<field>{_KINDS})")
"""Logical ID of an output of `UnumWorkflow`: the construct's path without separators, and what it is."""

_ALWAYS = frozenset({"StartAlias", "Table", "Workflow", "Retention"})
"""What every workflow has; other outputs may end alike."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployed:
    """Addresses and settings that a client needs.

    Attributes:
        workflow: name of the workflow.
        table: name of its table.
        start_alias: ARN of its start alias; None for a client that only reads.
        retention_s: retention of its items, in seconds.
        activities: URLs of its activity queues, by name.
        describe_alias: ARN of its describe alias; None for a client that reads descriptions in the table.
        control_alias: ARN of its control function; None for a client without control.
        failure_queue: URL of its dead-letter queue; None if unknown.
        payload_bucket: name of its bucket for large values; None if it has none.
    """

    workflow: str
    table: str
    start_alias: str | None
    retention_s: int = DEFAULT_RETENTION_S
    activities: Mapping[str, str] = field(default_factory=dict)
    describe_alias: str | None = None
    control_alias: str | None = None
    failure_queue: str | None = None
    payload_bucket: str | None = None


def deployed(stack: str, outputs: Mapping[str, str], workflow: str | None) -> Deployed:
    """Return the workflow named `workflow` in a stack, or its only one.

    Args:
        stack: name of the stack, for messages.
        outputs: outputs of the stack, by logical id.
        workflow: name of the workflow; None for the only one.

    Raises:
        UsageError: no such workflow in the stack, or several to choose from.
    """
    found = {one.workflow: one for one in all_deployed(outputs)}
    if workflow is None and len(found) == 1:
        return next(iter(found.values()))
    if workflow in found:
        return found[workflow]
    names = ", ".join(sorted(found)) or "none"
    if workflow is None:
        raise UsageError(f"--stack {stack}: expected one workflow, found {names}; choose one with --workflow NAME")
    raise UsageError(f"--workflow {workflow}: stack {stack} has no such workflow; it has {names}")


def all_deployed(outputs: Mapping[str, str]) -> list[Deployed]:
    """Return all workflows in the outputs of a stack."""
    groups: dict[str, dict[str, str]] = {}
    for key, value in outputs.items():
        match = _OUTPUT.fullmatch(key)
        if match:
            groups.setdefault(match["construct"], {})[match["field"]] = value
    return [
        Deployed(
            workflow=group["Workflow"],
            table=group["Table"],
            start_alias=group["StartAlias"],
            retention_s=int(group["Retention"]),
            activities=json.loads(group.get("Activities", "{}")),
            describe_alias=group.get("DescribeAlias"),
            control_alias=group.get("ControlFunction", group.get("ControlAlias")),
            failure_queue=group.get("FailureQueue"),
            payload_bucket=group.get("PayloadBucket"),
        )
        for group in groups.values()
        if group.keys() >= _ALWAYS  # other outputs may end alike
    ]
