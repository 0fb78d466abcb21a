"""Traces of an execution and of the executions that it has started, linked in both directions."""

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product, starmap
from typing import NamedTuple

from unum_cli.timing.levels import Levels
from unum_cli.timing.nesting import parent_of, started_by_job, started_by_steps, unnamed_starts
from unum_cli.timing.parents import Started
from unum_cli.traces import conventions
from unum_cli.traces.execution_spans import ExecutionSpans
from unum_cli.traces.spans import Link, Trace
from unum_client.client import Client
from unum_client.reading.stored_steps import start_record
from unum_runtime.errors import UnumError
from unum_runtime.features.traces.opentelemetry import span_ids
from unum_runtime.model.checkpoint import Checkpoint
from unum_runtime.model.ir import Home, Workflow
from unum_runtime.model.naming import Execution
from unum_runtime.protocol.history.timeline import Timeline

MOST_TRACES = 100
"""Most executions of one export: a workflow may start itself again and again."""

PARENT, CHILD = "parent", "child"


class Relative(NamedTuple):
    """Parent or child of an execution.

    Attributes:
        one: its workflow and name.
        client: client of its workflow.
        execution: its identity.
        step: name, as text, of the step between the two.
    """

    one: Started
    client: Client
    execution: Execution
    step: str


class _Due(NamedTuple):
    """Execution whose trace is not built yet.

    Attributes:
        one: its workflow and name.
        client: client of its workflow.
        definition: its definition; None for the store's.
        parent: link to the step that has started it; None if that is not known yet.
    """

    one: Started
    client: Client
    definition: Workflow | None = None
    parent: Link | None = None


@dataclass(frozen=True)
class Family:
    """Reads executions, and builds their traces.

    Attributes:
        client_of: returns a client of the workflow with a name; None for a workflow that cannot be read.
        workflows: names of the workflows that are known to be readable.
        warn: receives what could not be read.
    """

    client_of: Callable[[str], Client | None]
    workflows: Collection[str]
    warn: Callable[[str], None]

    def traces(self, client: Client, name: str, definition: Workflow | None = None) -> Iterator[Trace]:
        """Yield the trace of an execution, then those of the executions that it has started, in turn.

        Args:
            client: client of the execution's workflow.
            name: name of the execution.
            definition: its definition; default: from the store.

        Raises:
            ExecutionDoesNotExist: no execution of that name.
            ClientError: another definition than that of the execution, or none is stored.
        """
        first = _Due(Started(client.workflow, name), client, definition)
        known, due = {first.one}, deque([first])
        while due:
            each = due.popleft()
            levels = self._levels(each, is_first=each is first)
            if levels is None:
                continue
            children = self._children(each.client, levels)
            yield _trace(levels, self._links(each, levels, children))
            for child in children:
                if child.one not in known:
                    known.add(child.one)
                    parent = _link(each.one, levels.timeline.start.name.execution, PARENT, child.step)
                    due.append(_Due(child.one, child.client, parent=parent))
            if len(known) > MOST_TRACES:
                return self.warn(f"more than {MOST_TRACES} executions: trace the others by their names")

    def _levels(self, due: _Due, *, is_first: bool) -> Levels | None:
        """Return rows of an execution; warn and return None for an unreadable relative."""
        try:
            return _levels_of(due.client, due.one.name, due.definition)
        except UnumError as error:
            if is_first:
                raise
            self.warn(f"{due.one}: left out: {error}")
            return None

    def _links(self, due: _Due, levels: Levels, children: Sequence[Relative]) -> Mapping[str, tuple[Link, ...]]:
        """Return the links of an execution by steps; that to its parent by its start."""
        links: dict[str, tuple[Link, ...]] = {}
        for child in children:
            links[child.step] = (*links.get(child.step, ()), _link(child.one, child.execution, CHILD))
        start = levels.timeline.start
        parent = due.parent or self._parent_link(start)
        return links if parent is None else links | {str(start.name): (parent,)}

    def _children(self, client: Client, levels: Levels) -> list[Relative]:
        """Return the executions that the steps of an execution have started, as far as they can be read."""
        starts = [*started_by_steps(levels), *self._started_by_jobs(client, levels)]
        found = [(step, one, self._read(one)) for step, one in starts]
        found += [
            (each.step, one, self._find(one))
            for each in unnamed_starts(levels, {step for step, _ in starts})
            for one in starmap(Started, product(each.workflows or self.workflows, each.names))
        ]
        return [Relative(one, *read, step) for step, one, read in found if read is not None]

    def _started_by_jobs(self, client: Client, levels: Levels) -> Iterator[tuple[str, Started]]:
        """Yield the executions whose ends a running execution waits for."""
        if levels.timeline.end is not None:
            return
        name = levels.timeline.start.name.execution.name
        try:
            for missing in client.pending(name, levels.timeline.workflow):
                child = started_by_job(missing)
                if child is not None:
                    yield missing.invocation, child
        except UnumError as error:
            self.warn(f"{name}: executions that it waits for are unknown: {error}")

    def _find(self, one: Started) -> tuple[Client, Execution] | None:
        """Find the execution of a computed name: client and identity, or None."""
        client = self.client_of(one.workflow)
        try:
            if client is not None:
                return client, start_record(client.store, one.workflow, one.name).name.execution
        except UnumError:
            pass  # most of what is looked for is not there
        return None

    def _read(self, one: Started) -> tuple[Client, Execution] | None:
        """Return a client for an execution, and its identity; None, with a warning, if it cannot be read."""
        client = self.client_of(one.workflow)
        try:
            if client is not None:
                return client, start_record(client.store, one.workflow, one.name).name.execution
            self.warn(f"{one}: no link: its workflow is not in this stack or table")
        except UnumError as error:
            self.warn(f"{one}: no link: {error}")
        return None

    def _parent_link(self, start: Checkpoint) -> Link | None:
        """Return the link from an execution to the step that started it; None if its input does not name its parent."""
        parent = parent_of(start)
        read = None if parent is None else self._read(parent)
        if parent is None or read is None:
            return None
        client, execution = read
        levels = self._levels(_Due(parent, client), is_first=False)
        children = [] if levels is None else self._children(client, levels)
        steps = [child.step for child in children if child.execution == start.name.execution]
        return _link(parent, execution, PARENT, *steps[:1])


def _levels_of(client: Client, name: str, definition: Workflow | None) -> Levels:
    last, checkpoints, earlier = client.past(name, definition)
    return Levels(Timeline(last, checkpoints, earlier), client.clock.now_ms())


def _trace(levels: Levels, links: Mapping[str, tuple[Link, ...]]) -> Trace:
    made = ExecutionSpans(levels, links)
    workflow, execution = levels.timeline.workflow, levels.timeline.start.name.execution
    resource = {"service.name": workflow.name, "cloud.provider": "aws"}
    if workflow.home.region != Home.region:  # the default stands for no deployment
        resource |= {"cloud.region": workflow.home.region, "cloud.account.id": workflow.home.account}
    return Trace(made.trace_id, workflow.name, execution.name, resource, [*made.spans()])


def _link(one: Started, execution: Execution, relation: str, step: str | None = None) -> Link:
    """Return a link to an execution, or to one of its steps."""
    own = span_ids.execution_span(one.workflow, execution)
    span_id = own if step is None else span_ids.step_span(one.workflow, step)
    facts = {conventions.LINK: relation, "unum.workflow": one.workflow, "unum.execution": one.name}
    return Link(span_ids.trace_id(one.workflow, execution), span_id, facts)
