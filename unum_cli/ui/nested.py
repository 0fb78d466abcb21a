"""Links from a step to the executions of other workflows that it started."""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from unum_cli.ui.directory import Address, Place
from unum_runtime.model.checkpoint import Success
from unum_runtime.model.states import Json

_ARN = re.compile(r"arn:[^:]+:states:[^:]*:[^:]*:execution:(?P<workflow>[^:/]+):(?P<name>[^:/]+)")
"""ARN of an execution, as nested workflows return it."""

_MEMBERS = ("ExecutionArn", "executionArn")


class ExecutionLink(NamedTuple):
    """Another execution; `path` is empty if its workflow is unknown here."""

    arn: str
    name: str
    path: str


def links_to_executions(places: Mapping[Address, Place], output: Success | None) -> Iterator[ExecutionLink]:
    """Yield a link for each execution whose ARN is in `output`, at its top or in its elements."""
    for arn in _arns(None if output is None else output.value):
        if match := _ARN.fullmatch(arn):
            found = [place for (_, workflow), place in places.items() if workflow == match["workflow"]]
            path = f"{found[0].path}/executions/{match['name']}" if len(found) == 1 else ""
            yield ExecutionLink(arn, match["name"], path)


def _arns(value: Json) -> Iterator[str]:
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, dict):
            yield from (each[member] for member in _MEMBERS if isinstance(each.get(member), str))
