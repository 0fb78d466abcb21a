"""Links from a step to the executions of other workflows that it started, and from these to their parent."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from unum_cli.timing.parents import STARTED_BY, parent_in, parsed
from unum_cli.ui.directory import Address, Place
from unum_runtime.model.checkpoint import Success
from unum_runtime.model.states import Json

_MEMBERS = ("ExecutionArn", "executionArn")


class ExecutionLink(NamedTuple):
    """Another execution; `path` is empty if its workflow is unknown here."""

    arn: str
    name: str
    path: str


def links_to_executions(places: Mapping[Address, Place], output: Success | None) -> Iterator[ExecutionLink]:
    """Yield a link for each execution whose ARN is in `output`, at its top or in its elements."""
    for arn in _arns(None if output is None else output.value):
        yield from _links(places, arn)


def link_to_parent(places: Mapping[Address, Place], given: Json) -> ExecutionLink | None:
    """Return a link to the execution that the input `given` names as the parent; None if it names none."""
    return None if parent_in(given) is None else next(_links(places, given[STARTED_BY]), None)


def _links(places: Mapping[Address, Place], arn: str) -> Iterator[ExecutionLink]:
    if one := parsed(arn):
        found = [place for (_, workflow), place in places.items() if workflow == one.workflow]
        path = f"{found[0].path}/executions/{one.name}" if len(found) == 1 else ""
        yield ExecutionLink(arn, one.name, path)


def _arns(value: Json) -> Iterator[str]:
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, dict):
            yield from (each[member] for member in _MEMBERS if isinstance(each.get(member), str))
