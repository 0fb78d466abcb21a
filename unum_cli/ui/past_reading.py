"""What the pages of one execution read: its description, its commits, and its definition if that is stored."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from unum_cli.picture.nested_graph import END, START, Edge, Graph, inside, top_level
from unum_cli.picture.wording import kind, shortened
from unum_cli.timing.levels import Levels, Row, Shown
from unum_client.client import Client
from unum_client.descriptions import Description
from unum_client.reading.progress import Progress, Reach, progress
from unum_client.reading.stored_steps import Past
from unum_client.terminal.amounts import duration_text
from unum_compiler.cost.receipt import StoredReceipt, stored_receipt
from unum_runtime.errors import ExecutionDoesNotExist, UnumError
from unum_runtime.model.checkpoint import Checkpoint, Failure, Status
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import Frames
from unum_runtime.model.states import Task
from unum_runtime.protocol.history.timeline import Timeline

_LONGEST = 34

_STATUS = {
    Reach.NOT_REACHED: Shown.PENDING,
    Reach.RUNNING: Shown.RUNNING,
    Reach.SUCCEEDED: Shown.SUCCEEDED,
    Reach.FAILED: Shown.FAILED,
    Reach.STOPPED: Shown.STOPPED,
}


def graph_data(workflow: Workflow, progress: Mapping[str, Progress] | None, statuses: Mapping[str, str]) -> Any:
    """Return nested nodes and edges.

    Args:
        workflow: the definition.
        progress: progress by state; None for the definition alone.
        statuses: statuses of states that `progress` does not tell apart.
    """
    return _Data(workflow, progress, statuses).graph(top_level(workflow))


def told_apart(checkpoints: Iterable[Checkpoint], progress: Mapping[str, Progress]) -> dict[str, Shown]:
    """Return `Shown.CAUGHT` for states whose failures were all caught."""
    caught: dict[str, int] = {}
    uncaught: set[str] = set()
    for each in checkpoints:
        if each.continuation.caught is not None and each.continuation.goes_to is not None:
            caught[each.state] = caught.get(each.state, 0) + 1
        elif isinstance(each.outcome, Failure):
            uncaught.add(each.state)
    is_all = {state: count == progress[state].failed for state, count in caught.items() if state in progress}
    return {state: Shown.CAUGHT for state, holds in is_all.items() if holds and state not in uncaught}


class _Data:
    def __init__(
        self, workflow: Workflow, progress: Mapping[str, Progress] | None, statuses: Mapping[str, str]
    ) -> None:
        self.workflow, self.progress, self.statuses = workflow, progress, statuses

    def graph(self, graph: Graph) -> Any:
        return {
            "nodes": [self._node(name) for name in graph.nodes],
            "edges": [self._edge(each) for each in graph.edges],
        }

    def _node(self, name: str) -> Any:
        if name in (START, END):
            return {"id": name, "marker": "start" if name == START else "end", "lines": [], "graphs": []}
        state = self.workflow.states[name]
        lines = [name, kind(state), *self._measure(name)]
        graphs = [self.graph(each) for each in inside(self.workflow, state)]
        return {
            "id": name,
            "status": self._status(name),
            "lines": [shortened(line, _LONGEST) for line in lines],
            "graphs": graphs,
        }

    def _edge(self, edge: Edge) -> Any:
        return {
            "from": edge.source,
            "to": edge.target,
            "label": shortened(edge.label, _LONGEST),
            "caught": edge.caught,
            "taken": self.progress is None or edge.is_taken(self.progress),
        }

    def _status(self, name: str) -> str | None:
        if self.progress is None:
            return self.statuses.get(name)
        return self.statuses.get(name) or _STATUS[self.progress[name].reach]

    def _measure(self, name: str) -> list[str]:
        """Return a line with status, counts and duration."""
        if self.progress is None:
            return [str(self.statuses[name])] if name in self.statuses else []
        found = self.progress[name]
        times = found.succeeded + found.failed + found.running
        parts = [str(self._status(name))]
        if times > 1:
            counts = {"done": found.succeeded, "failed": found.failed, "running": found.running}
            parts = [", ".join(f"{count:,} {said}" for said, count in counts.items() if count)]
        if isinstance(self.workflow.states[name], Task) and found.slowest_ms:
            parts.append(f"{'slowest ' if times > 1 else ''}{duration_text(found.slowest_ms)}")
        return [" · ".join(parts)]


@dataclass(frozen=True)
class Reading:
    """One execution, read once.

    Attributes:
        client: client of the workflow.
        description: the execution.
        past: its commits and definitions; None if a definition is not stored.
        problem: why `past` is missing; empty otherwise.
    """

    client: Client
    description: Description
    past: Past | None
    problem: str = ""

    @classmethod
    def of(cls, client: Client, name: str) -> "Reading":
        """Read execution `name`.

        Raises:
            ExecutionDoesNotExist: no execution of that name.
            UnumError: the store did not answer.
        """
        # Status before steps: once an execution has ended, the steps read afterwards are complete.
        description = client.describe(name)
        try:
            return cls(client, description, client.past(name))
        except ExecutionDoesNotExist:
            raise
        except UnumError as error:  # the description is worth showing without a definition, too
            return cls(client, description, None, str(error))

    @property
    def is_running(self) -> bool:
        """True before the end."""
        return self.description.status is Status.RUNNING

    @cached_property
    def levels(self) -> Levels | None:
        """Levels of rows; None without a definition."""
        if self.past is None:
            return None
        last, checkpoints, earlier = self.past
        return Levels(Timeline(last, checkpoints, earlier), self.client.clock.now_ms())

    @cached_property
    def graph(self) -> Any:
        """Graph with the progress of all states; None without a definition."""
        if self.past is None or self.levels is None:
            return None
        found = progress(*self.past, now_ms=self.levels.now_ms)
        waiting = {row.state: row.status for row in self.rows() if row.status is Shown.WAITING}
        return graph_data(self.past.last, found, {**told_apart(self.past.checkpoints, found), **waiting})

    def rows(self, frames: Frames = ()) -> list[Row]:
        """Return the rows of a level; none without a definition."""
        return [] if self.levels is None else self.levels.rows(frames)

    def receipt(self) -> StoredReceipt | None:
        """Return what the execution has used; None if the store cannot tell."""
        try:
            client = self.client
            return stored_receipt(client.store, client.workflow, self.description.name, retention_s=client.retention_s)
        except UnumError:
            return None

    def checkpoint(self, key: str) -> Checkpoint | None:
        """Return the commit of the invocation named `key`; None without one."""
        return None if self.levels is None else self.levels.by_key.get(key)
