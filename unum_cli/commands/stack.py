"""Where a deployed workflow is: from the outputs of its CloudFormation stack."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from unum_cli.commands.command_errors import UsageError
from unum_runtime.protocol.runtime import DEFAULT_RETENTION_S

_KINDS = "StartAlias|ControlAlias|FailureQueue|Table|Workflow|Retention|Activities|PayloadBucket"
_OUTPUT = re.compile(rf"(?P<construct>.*)(?P<field>{_KINDS})")
"""Logical ID of an output of `UnumWorkflow`: the construct's path without separators, and what it is."""

_ALWAYS = frozenset({"StartAlias", "Table", "Workflow", "Retention"})
"""What every workflow has; other outputs may end alike."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployed:
    """A workflow as a client needs to know it.

    Attributes:
        workflow: its name.
        table: name of its table.
        start_alias: ARN of its start alias; None for a client that only looks.
        retention_s: how long it keeps its state, in seconds.
        activities: URLs of the queues of its activities by name.
        control_alias: ARN of its control alias; None for a client that controls nothing.
        failure_queue: URL of the queue of what it could not go on from; None if that is not known.
        payload_bucket: name of its bucket for large values; None if it has none.
    """

    workflow: str
    table: str
    start_alias: str | None
    retention_s: int = DEFAULT_RETENTION_S
    activities: Mapping[str, str] = field(default_factory=dict)
    control_alias: str | None = None
    failure_queue: str | None = None
    payload_bucket: str | None = None


def deployed(stack: str, outputs: Mapping[str, str], workflow: str | None) -> Deployed:
    """The workflow called `workflow` in a stack, or the only one.

    Args:
        stack: name of the stack, for the message.
        outputs: of the stack, by logical ID.
        workflow: which; None if there is only one.

    Raises:
        UsageError: the stack has no such workflow, or several to choose from.
    """
    found = {one.workflow: one for one in _all_deployed(outputs)}
    if workflow is None and len(found) == 1:
        return next(iter(found.values()))
    if workflow in found:
        return found[workflow]
    names = ", ".join(sorted(found)) or "none"
    if workflow is None:
        raise UsageError(f"--stack {stack}: expected one workflow, found {names}; choose one with --workflow NAME")
    raise UsageError(f"--workflow {workflow}: stack {stack} has no such workflow; it has {names}")


def _all_deployed(outputs: Mapping[str, str]) -> list[Deployed]:
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
            control_alias=group.get("ControlAlias"),
            failure_queue=group.get("FailureQueue"),
            payload_bucket=group.get("PayloadBucket"),
        )
        for group in groups.values()
        if group.keys() >= _ALWAYS  # other outputs may end alike
    ]
