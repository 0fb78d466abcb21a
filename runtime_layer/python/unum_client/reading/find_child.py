"""Search for a child execution by its name alone.

Nothing is stored for child executions. Their names contain the time of entering the Map and a mark of the execution
around it, so the search goes through the list of executions, from that time backwards, and reads those with the mark.
"""

import re
from collections.abc import Callable, Iterator

from unum_client.reading.child_executions import ChildExecution
from unum_runtime.errors import ClientError, ExecutionDoesNotExist
from unum_runtime.model.list_index import execution_at, place
from unum_runtime.model.naming import Execution
from unum_runtime.protocol.history.list_entries import Listed
from unum_runtime.protocol.planning.evaluation import parent_mark
from unum_runtime.store.base import Index

SKEW_MS = 300_000
"""Time by which the clock of an execution's starter may be ahead of the functions' clocks, in milliseconds."""

_NAME = re.compile(r"(?P<high>[0-9a-f]{8})-(?P<low>[0-9a-f]{4})-8(?P<mark>[0-9a-f]{3})-8[0-9a-f]{3}-[0-9a-f]{12}")
_PORTION = 100


def find_child(
    name: str, index: Index, workflow: str, children: Callable[[str], "list[ChildExecution]"]
) -> tuple[str, ChildExecution]:
    """Return the name of the parent, and its child execution `name`.

    Args:
        name: name of the child execution.
        index: index of the workflow's store.
        workflow: name of the workflow.
        children: returns the child executions of an execution, by its name.

    Raises:
        ExecutionDoesNotExist: no execution in the list has such a child.
        ClientError: the only executions that may have it run on another version, or theirs is not stored.
        NoIndex: the table has no index for lists.
        StoreError: unreadable index or execution.
    """
    unreadable: ClientError | None = None
    for parent in _parents(name, index, workflow):
        try:
            found = next((each for each in children(parent) if each.name == name), None)
        except ExecutionDoesNotExist:  # it expired after the list was read
            continue
        except ClientError as error:
            unreadable = error
            continue
        if found is not None:
            return parent, found
    raise unreadable or ExecutionDoesNotExist(f"executionArn: workflow {workflow!r} has no child execution {name!r}")


def _parents(name: str, index: Index, workflow: str) -> Iterator[str]:
    """Yield executions that may have the child `name`, the latest first."""
    match = _NAME.fullmatch(name)
    if match is None:
        return
    latest = Execution("~", int(match["high"] + match["low"], 16) + SKEW_MS)
    for found in Listed(index, workflow).newest(place(latest), _PORTION):
        parent = execution_at(found).name
        if parent_mark(parent) == match["mark"]:
            yield parent
