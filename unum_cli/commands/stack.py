"""Addresses of a deployed workflow, from the outputs of its CloudFormation stack."""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from unum_cli.commands.command_errors import UsageError
from unum_runtime.json_text import parse_json, to_text
from unum_runtime.protocol.runtime import DEFAULT_RETENTION_S

_KINDS = "StartAlias|DescribeAlias|ControlFunction|FailureQueue|Table|Workflow|Retention|Activities|PayloadBucket"
_OUTPUT = re.compile(rf"(?P<construct>.*)(?P<field>{_KINDS})")
"""Logical ID of an output of `UnumWorkflow`: the construct's path without separators, and what it is."""

_SEPARATORS = re.compile(r"[^A-Za-z0-9]+")
"""Characters that logical IDs leave out."""

_ALWAYS = frozenset({"StartAlias", "Table", "Workflow", "Retention"})
"""What every workflow has; other outputs may end alike."""

_WORKFLOW = "Workflow"
"""Output with the name of a workflow, or with all its addresses as JSON."""


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
        stack: name of the stack.
        outputs: outputs of the stack, by logical id.
        workflow: name of the workflow, or ID or path of its construct; None for the only one.

    Raises:
        UsageError: no such workflow in the stack, or several to choose from.
    """
    by_construct = _by_construct(outputs)
    found = {one.workflow: one for one in by_construct.values()}
    if workflow is None and len(found) == 1:
        return next(iter(found.values()))
    if workflow in found:
        return found[workflow]
    names = ", ".join(sorted(found)) or "none"
    meant = [] if workflow is None else _meant(stack, by_construct, workflow)
    if len(meant) == 1:
        return meant[0]
    if meant:
        names = ", ".join(sorted(one.workflow for one in meant))
        raise UsageError(f"--workflow {workflow}: stack {stack} has several such workflows; choose one of {names}")
    if workflow is None:
        raise UsageError(f"--stack {stack}: expected one workflow, found {names}; choose one with --workflow NAME")
    raise UsageError(f"--workflow {workflow}: stack {stack} has no such workflow; it has {names}")


def _meant(stack: str, by_construct: Mapping[str, Deployed], name: str) -> list[Deployed]:
    """Return the workflows whose construct has the path or the ID `name`."""
    plain = _SEPARATORS.sub("", name)
    by_path = [one for path, one in by_construct.items() if plain in (path, _SEPARATORS.sub("", stack) + path)]
    # A derived name is the path, joined by hyphens, and a hash; the construct's ID is the last part of the path.
    derived = re.compile(rf"(.*-)?{re.escape(plain)}-?[0-9A-F]{{8}}")
    return by_path or [one for one in by_construct.values() if plain and derived.fullmatch(one.workflow)]


def all_deployed(outputs: Mapping[str, str]) -> list[Deployed]:
    """Return all workflows in the outputs of a stack."""
    return [*_by_construct(outputs).values()]


def with_addresses(outputs: Mapping[str, str]) -> dict[str, str]:
    """Return `outputs` with one output for each address of the workflows that have all addresses in one output."""
    found = dict(outputs)
    for key, value in outputs.items():
        # A name has no braces; outputs of others may end alike.
        if key.endswith(_WORKFLOW) and value.startswith("{"):
            with suppress(ValueError):
                if isinstance(addresses := parse_json(value), Mapping) and addresses.keys() >= _ALWAYS:
                    construct = key.removesuffix(_WORKFLOW)
                    found |= {f"{construct}{kind}": _as_text(address) for kind, address in addresses.items()}
    return found


def _as_text(address: Any) -> str:
    """Return an address as an output of its own has it: queues of activities as JSON."""
    return address if isinstance(address, str) else to_text(address)


def _by_construct(outputs: Mapping[str, str]) -> dict[str, Deployed]:
    """Return all workflows by their constructs' paths without separators."""
    groups: dict[str, dict[str, str]] = {}
    for key, value in with_addresses(outputs).items():
        match = _OUTPUT.fullmatch(key)
        if match:
            groups.setdefault(match["construct"], {})[match["field"]] = value
    return {
        construct: Deployed(
            workflow=group["Workflow"],
            table=group["Table"],
            start_alias=group["StartAlias"],
            retention_s=int(group["Retention"]),
            activities=parse_json(group.get("Activities", "{}")),
            describe_alias=group.get("DescribeAlias"),
            control_alias=group.get("ControlFunction"),
            failure_queue=group.get("FailureQueue"),
            payload_bucket=group.get("PayloadBucket"),
        )
        for construct, group in groups.items()
        if group.keys() >= _ALWAYS  # other outputs may end alike
    }
