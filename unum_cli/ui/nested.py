"""Links to executions: from a step to those that it started, and from a child to its parent."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from unum_cli.timing.levels import Levels
from unum_cli.timing.lineage import Lineage, lineage
from unum_cli.timing.nesting import started_by_steps
from unum_cli.timing.parents import Started, parent_in
from unum_cli.ui.directory import Address, Place
from unum_client.client import Client
from unum_client.descriptions import Description
from unum_runtime.model.checkpoint import Checkpoint


class ExecutionLink(NamedTuple):
    """Another execution; `path` is empty if its workflow is unknown here, or several stacks have one of that name."""

    one: Started
    path: str
    lineage: Lineage = Lineage.CONFIRMED


def links_to_children(
    places: Mapping[Address, Place], levels: Levels, checkpoint: Checkpoint
) -> Iterator[ExecutionLink]:
    """Yield a link for each execution that the step with `checkpoint` has started."""
    return (_link(places, one) for step, one in started_by_steps(levels) if step == str(checkpoint.name))


def link_to_parent(places: Mapping[Address, Place], place: Place, child: Description) -> ExecutionLink | None:
    """Return a link to the parent that the input of `child` names; None if it names none.

    The path is empty, too, if the parent's steps have not started `child`.
    """
    parent = parent_in(child.input)
    if parent is None:
        return None

    def client_of(workflow: str) -> Client | None:
        found = place if workflow == place.workflow else _place(places, workflow)
        return None if found is None else found.client

    found = lineage(client_of, child.input, Started(place.workflow, child.name))
    link = _link(places, parent)._replace(lineage=found)
    return link._replace(path="") if found is Lineage.DENIED else link


def _link(places: Mapping[Address, Place], one: Started) -> ExecutionLink:
    found = _place(places, one.workflow)
    return ExecutionLink(one, f"{found.path}/executions/{one.name}" if found is not None else "")


def _place(places: Mapping[Address, Place], name: str) -> Place | None:
    """Return the workflow with a name; None for none, and for several."""
    found = [place for (_, workflow), place in places.items() if workflow == name]
    return found[0] if len(found) == 1 else None
