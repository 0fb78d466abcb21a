"""Links to executions: from a step to those that it started, and from a child to its parent."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from unum_cli.timing.levels import Levels
from unum_cli.timing.nesting import started_by_steps
from unum_cli.timing.parents import Started, parent_in
from unum_cli.ui.directory import Address, Place
from unum_runtime.model.checkpoint import Checkpoint
from unum_runtime.model.states import Json


class ExecutionLink(NamedTuple):
    """Another execution; `path` is empty if its workflow is unknown here, or several stacks have one of that name."""

    one: Started
    path: str


def links_to_children(
    places: Mapping[Address, Place], levels: Levels, checkpoint: Checkpoint
) -> Iterator[ExecutionLink]:
    """Yield a link for each execution that the step with `checkpoint` has started."""
    return (_link(places, one) for step, one in started_by_steps(levels) if step == str(checkpoint.name))


def link_to_parent(places: Mapping[Address, Place], value: Json) -> ExecutionLink | None:
    """Return a link to the execution that the input `value` names as the parent; None if it names none."""
    one = parent_in(value)
    return None if one is None else _link(places, one)


def _link(places: Mapping[Address, Place], one: Started) -> ExecutionLink:
    found = [place for (_, workflow), place in places.items() if workflow == one.workflow]
    return ExecutionLink(one, f"{found[0].path}/executions/{one.name}" if len(found) == 1 else "")
