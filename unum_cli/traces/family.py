"""Traces of an execution and of the executions that it has started, linked in both directions."""

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise, product, starmap
from typing import NamedTuple

from unum_cli.timing.levels import Levels, Row, Shown
from unum_cli.timing.nesting import parent_of, started_by_job, started_by_steps, unnamed_starts
from unum_cli.timing.parents import Started
from unum_cli.timing.stretches import Part
from unum_cli.traces import conventions
from unum_cli.traces.spans import Attribute, Attributes, Event, Kind, Link, Span, Trace
from unum_client.client import Client
from unum_client.deliveries import Delivery, FailedAttempt
from unum_client.reading.stored_steps import start_record
from unum_runtime.errors import UnumError
from unum_runtime.features.regions.region import region_of
from unum_runtime.features.traces.opentelemetry import span_ids
from unum_runtime.model.checkpoint import Checkpoint, Failure, Status
from unum_runtime.model.ir import Home, Workflow
from unum_runtime.model.naming import Execution, Frames, Name, Scope
from unum_runtime.model.states import FanOut, State, Wait
from unum_runtime.protocol.history.timeline import Timeline, redrives

FAN_IN, REDRIVE, FORK = "fan-in", "redrive", "fork"

MOST_TRACES = 100
"""Most executions of one export: a workflow may start itself again and again."""

PARENT, CHILD = "parent", "child"


class ExecutionSpans:
    """Spans of one execution.

    Args:
        levels: its rows.
        links: links to other executions, by the name of the step as text; those of the execution itself by its start's.
    """

    def __init__(self, levels: Levels, links: Mapping[str, tuple[Link, ...]]) -> None:
        self._levels, self._timeline, self._links = levels, levels.timeline, links
        self._workflow = levels.timeline.workflow.name
        self._execution = levels.timeline.start.name.execution
        self.trace_id = span_ids.trace_id(self._workflow, self._execution)
        self._steps = StepSpans(levels.timeline, self.trace_id)
        self._redriven = {ended.name for ended, _ in redrives(self._timeline.top_level)}

    def spans(self) -> Iterator[Span]:
        """Yield all spans, each after the span around it."""
        root = span_ids.execution_span(self._workflow, self._execution)
        end = self._timeline.end
        failure = end.ending.outcome if end is not None and end.ending is not None else None
        yield Span(
            trace_id=self.trace_id,
            span_id=root,
            parent_id="",
            name=self._workflow,
            from_ms=self._timeline.start.committed_ms,
            to_ms=max(self._levels.now_ms, self._timeline.start.committed_ms),
            attributes=self._facts(),
            error=conventions.error_type(failure.error) if isinstance(failure, Failure) else None,
            events=tuple(self._redrives()),
            links=(*self._origin(), *self._links.get(str(self._timeline.start.name), ())),
        )
        yield from self._level((), root)[0]

    def _facts(self) -> dict[str, Attribute]:
        end = self._timeline.end
        status = Status.RUNNING if end is None or end.ending is None else end.ending.status
        facts: dict[str, Attribute] = {
            conventions.STATUS: str(status),
            "unum.workflow": self._workflow,
            "unum.execution": self._execution.name,
        }
        return facts if end is not None else facts | {conventions.UNFINISHED: True}

    def _redrives(self) -> Iterator[Event]:
        for ended, redriven in redrives(self._timeline.top_level):
            failure = ended.ending.outcome if ended.ending is not None else None
            named = failure.error if isinstance(failure, Failure) else None
            at_ms = max(redriven.committed_ms, self._timeline.start.committed_ms)
            yield Event("unum.redrive", at_ms, {conventions.ERROR: conventions.error_type(named)})

    def _origin(self) -> Iterator[Link]:
        fork = self._timeline.start.fork
        if fork is not None:
            facts = {conventions.LINK: FORK, "unum.execution": fork.execution.name, "unum.fork.state": fork.node}
            yield self._link(fork.execution, span_ids.execution_span(self._workflow, fork.execution), facts)

    def _level(self, frames: Frames, parent_id: str) -> tuple[list[Span], str]:
        """Return the spans of a level, and the last step's own; the parent's for a level without steps."""
        spans: list[Span] = []
        last_id, before, ends = parent_id, None, list[str]()
        rows = [row for row in self._levels.rows(frames) if row.name is not None and not self._is_copy(row)]
        for row, following in pairwise((*rows, None)):
            assert row is not None  # noqa: S101 - only the last one is
            causes = (*self._causes(before, last_id), *map(self._fan_in, ends))
            if row.scope is None:
                made, last_id = self._step(row, parent_id, causes)
                ends = []
            else:
                # Without a step that joins, the end of the fan-out is the end of its span.
                made, ends = self._fan_out(row, row.scope, parent_id, causes, joins=following is None)
                last_id = made[0].span_id
            spans += made
            before = row
        return spans, last_id

    def _step(self, row: Row, parent_id: str, causes: tuple[Link, ...]) -> tuple[list[Span], str]:
        """Return the spans of a step and of a Wait before it, and the id of the last."""
        name = row.name
        assert name is not None  # noqa: S101 - `_level` leaves out others
        own, spans, wait = self._links.get(str(name), ()), list[Span](), self._levels.wait_before(name)
        if wait is not None:
            span, row = self._steps.wait(row, name, *wait, parent_id, Causes(causes))
            spans, causes = [span], ()
            if row.checkpoint is None and not row.stretches:
                return spans, span.span_id
        step = [*self._steps.spans(row, name, parent_id, Causes((*causes, *own)))]
        return [*spans, *step], step[0].span_id

    def _fan_out(
        self, row: Row, scope: Scope, parent_id: str, causes: tuple[Link, ...], *, joins: bool
    ) -> tuple[list[Span], list[str]]:
        """Return the spans of a fan-out and of its branches, and the last span of each branch that has ended."""
        scope_id = span_ids.scope_span(self._workflow, scope)
        branches: list[Span] = []
        lasts: dict[int, str] = {}
        statuses = self._levels.statuses(scope)
        for index, status in enumerate(statuses):
            if status is not Shown.PENDING:
                spans, lasts[index] = self._branch(scope, index, status, scope_id, lasts)
                branches += spans
        ends = [lasts[index] for index in lasts if statuses[index] not in UNFINISHED]
        if joins and row.status not in UNFINISHED:
            causes += tuple(map(self._fan_in, ends))
        from_ms, to_ms = self._steps.bounds(row)
        facts: dict[str, Attribute] = {
            conventions.STATUS: str(row.status),
            "unum.state.type": type(self._fan_out_state(scope)).__name__,
            "unum.branches": scope.size,
            "unum.attempts": scope.generation + 1,
        }
        own = Span(
            trace_id=self.trace_id,
            span_id=scope_id,
            parent_id=parent_id,
            name=self._timeline.workflow.visible_name(scope.state),
            from_ms=from_ms,
            to_ms=to_ms,
            attributes=facts | ({conventions.UNFINISHED: True} if row.status in UNFINISHED else {}),
            error=error_of(row),
            links=Causes(causes).links,
            dropped_links=Causes(causes).dropped,
        )
        return [own, *branches], [] if joins else ends

    def _branch(
        self, scope: Scope, index: int, status: Shown, scope_id: str, lasts: dict[int, str]
    ) -> tuple[list[Span], str]:
        """Return the spans of a branch, and the id of its last step's; `lasts` are those of the branches before."""
        branch_id = span_ids.branch_span(self._workflow, scope, index)
        inside, last_id = self._level(scope.branch(index), branch_id)
        origin_ms = max(self._timeline.committed[scope.origin].committed_ms, self._timeline.start.committed_ms)
        from_ms = min((each.from_ms for each in inside), default=origin_ms)
        to_ms = max((each.to_ms for each in inside), default=from_ms)
        facts: dict[str, Attribute] = {
            conventions.STATUS: str(status),
            "unum.index": [frame.index for frame in scope.branch(index)],
        }
        if status in UNFINISHED:
            facts[conventions.UNFINISHED] = True
            to_ms = max(self._levels.now_ms, from_ms)
        failed = [each.error for each in inside if each.error is not None and each.parent_id == branch_id]
        own = Span(
            trace_id=self.trace_id,
            span_id=branch_id,
            parent_id=scope_id,
            name=f"{self._timeline.workflow.visible_name(scope.state)} branch",
            from_ms=from_ms,
            to_ms=to_ms,
            attributes=facts,
            error=(failed or [conventions.NO_NAME])[-1] if status is Shown.FAILED else None,
            links=tuple(self._fan_in(lasts[source]) for source in self._sources(scope, index) if source in lasts),
        )
        return [own, *inside], last_id

    def _sources(self, scope: Scope, index: int) -> Sequence[int]:
        """Return the nodes whose results a node of a region waited for; none for a branch of another fan-out."""
        version = self._timeline.version_of(self._timeline.committed[scope.origin])
        state = version.states.get(scope.state)
        is_region = isinstance(state, FanOut) and bool(state.needs)
        return region_of(version, scope.state).sources[index] if is_region else ()

    def _fan_out_state(self, scope: Scope) -> object:
        return self._timeline.version_of(self._timeline.committed[scope.origin]).states.get(scope.state)

    def _causes(self, before: Row | None, last_id: str) -> tuple[Link, ...]:
        """Return a link to the step that ended the execution before a redrive, for the first step after it."""
        if before is None or before.name not in self._redriven:
            return ()
        return (self._link(self._execution, last_id, {conventions.LINK: REDRIVE}),)

    def _fan_in(self, span_id: str) -> Link:
        return self._link(self._execution, span_id, {conventions.LINK: FAN_IN})

    def _link(self, execution: Execution, span_id: str, facts: Attributes) -> Link:
        return Link(span_ids.trace_id(self._workflow, execution), span_id, facts)

    def _is_copy(self, row: Row) -> bool:
        """Return True for what a fork has copied: it happened in its original, whose trace shows it."""
        fork = self._timeline.start.fork
        return fork is not None and row.name is not None and not row.name.frames and row.name.step < fork.step


UNFINISHED = frozenset({Shown.PENDING, Shown.RUNNING, Shown.WAITING})
"""Statuses without an end."""

FAILED = frozenset({Shown.FAILED, Shown.CAUGHT, Shown.RETRIED})


MOST_LINKS = 128
"""Most links of a span; the others are counted. Source: OpenTelemetry Specification, "Span Limits"."""


@dataclass(frozen=True, slots=True)
class Causes:
    """Links of a span to its causes.

    Attributes:
        all: all of them.
    """

    all: tuple[Link, ...] = ()

    @property
    def links(self) -> tuple[Link, ...]:
        """Possible links of a span."""
        return self.all[:MOST_LINKS]

    @property
    def dropped(self) -> int:
        """The number of the others."""
        return max(0, len(self.all) - MOST_LINKS)


class StepSpans:
    """Spans of the steps of one execution.

    Args:
        timeline: commits of the execution.
        trace_id: trace of the execution.
    """

    def __init__(self, timeline: Timeline, trace_id: str) -> None:
        self._timeline = timeline
        self._trace_id = trace_id
        self._workflow = timeline.workflow.name
        self._start_ms = timeline.start.committed_ms

    def spans(self, row: Row, name: Name, parent_id: str, causes: Causes) -> Iterator[Span]:
        """Yield the span of the step in `row`, which commits as `name`, and the spans inside it."""
        delivery = None if row.checkpoint is None else Delivery.of(row.checkpoint)
        from_ms, to_ms = self.bounds(row)
        step_id = span_ids.step_span(self._workflow, name)
        yield Span(
            trace_id=self._trace_id,
            span_id=step_id,
            parent_id=parent_id,
            name=self._timeline.workflow.visible_name(row.state),
            from_ms=from_ms,
            to_ms=to_ms,
            attributes=self._attributes(row, name),
            error=error_of(row),
            events=tuple(_retry(each, number, from_ms, to_ms) for number, each in _failed(row.checkpoint, delivery)),
            links=causes.links,
            dropped_links=causes.dropped,
        )
        # What a step waits for may still become another part of its time, and a Wait has one part alone.
        if row.checkpoint is not None and not isinstance(self._state(row), Wait):
            attempts = self._attempts(row.checkpoint, delivery, name, step_id, (from_ms, to_ms))
            parts = self._parts(row, row.checkpoint, delivery, name, step_id)
            # An attempt that took no millisecond comes before the wait that begins with its end.
            yield from sorted((*parts, *attempts), key=lambda span: (span.from_ms, span.to_ms))

    def wait(self, row: Row, name: Name, wait: str, due_ms: int, parent_id: str, causes: Causes) -> tuple[Span, Row]:
        """Return the span of the Wait until `due_ms` that delays a step, and the row of the step after it."""
        from_ms, end_ms = self.bounds(row)
        to_ms = min(max(due_ms, from_ms), end_ms)
        is_over = row.checkpoint is not None or end_ms >= due_ms
        status = Shown.SUCCEEDED if is_over else row.status
        facts: dict[str, Attribute] = {conventions.STATUS: str(status), "unum.state.type": "Wait"}
        if name.frames:
            facts["unum.index"] = [frame.index for frame in name.frames]
        if status in UNFINISHED:
            facts |= {conventions.UNFINISHED: True, "unum.note": row.note}
        span = Span(
            trace_id=self._trace_id,
            span_id=span_ids.wait_span(self._workflow, name),
            parent_id=parent_id,
            name=wait,
            from_ms=from_ms,
            to_ms=to_ms,
            attributes=facts,
            links=causes.links,
            dropped_links=causes.dropped,
        )
        rest = [replace(each, from_ms=max(each.from_ms, to_ms)) for each in row.stretches if each.to_ms >= to_ms]
        after = [each for each in rest if each.part is not Part.WAITING or each.to_ms > to_ms]
        return span, replace(row, stretches=tuple(after if is_over else ()))

    def bounds(self, row: Row) -> tuple[int, int]:
        """Return begin and end of `row`; the begin is not before the execution's, as it is behind copies of a fork."""
        committed_ms = self._start_ms if row.checkpoint is None else row.checkpoint.committed_ms
        from_ms = max(row.stretches[0].from_ms if row.stretches else committed_ms, self._start_ms)
        return from_ms, max(row.stretches[-1].to_ms if row.stretches else committed_ms, from_ms)

    def _attributes(self, row: Row, name: Name) -> dict[str, Attribute]:
        found: dict[str, Attribute] = {
            conventions.STATUS: str(row.status),
            "unum.invocation": str(name),
            **conventions.of_task(self._state(row)),
        }
        if name.frames:
            found["unum.index"] = [frame.index for frame in name.frames]
        if row.checkpoint is not None:
            found["unum.attempts"] = row.checkpoint.attempt + 1
        if row.status is Shown.CAUGHT and row.checkpoint is not None and row.checkpoint.continuation.goes_to:
            found["unum.caught.next"] = row.checkpoint.continuation.goes_to
        if row.status in UNFINISHED:
            found |= {conventions.UNFINISHED: True, "unum.note": row.note}
        return found

    def _attempts(
        self, checkpoint: Checkpoint, delivery: Delivery | None, name: Name, parent_id: str, bounds: tuple[int, int]
    ) -> Iterator[Span]:
        is_user_code = conventions.is_user_code(self._timeline.version_of(checkpoint).states.get(checkpoint.state))
        for number, failed in _failed(checkpoint, delivery):
            yield Span(
                trace_id=self._trace_id,
                span_id=span_ids.attempt_span(self._workflow, name, number),
                parent_id=parent_id,
                name="failed attempt",
                from_ms=_within(failed.began_at, *bounds),
                to_ms=_within(failed.failed_at, *bounds),
                attributes={"unum.attempt": number},
                error=conventions.error_type(failed.error),
                of_function=is_user_code,
            )

    def _parts(
        self, row: Row, checkpoint: Checkpoint, delivery: Delivery | None, name: Name, parent_id: str
    ) -> Iterator[Span]:
        state, last = self._state(row), len(row.stretches) - 1
        for number, stretch in enumerate(row.stretches):
            if stretch.to_ms < self._start_ms or (stretch.part is Part.TRIES and delivery is not None):
                continue  # before a fork, or told as attempts
            is_code, is_call = stretch.part is Part.CODE, conventions.is_service_call(state)
            facts: dict[str, Attribute] = {}
            if is_code:
                facts = {"unum.attempt": checkpoint.attempt + 1, **conventions.of_service_call(state)}
                facts |= {} if delivery is None else conventions.of_delivery(delivery)
            yield Span(
                trace_id=self._trace_id,
                span_id=(
                    span_ids.attempt_span(self._workflow, name, checkpoint.attempt + 1)
                    if is_code
                    else span_ids.part_span(self._workflow, name, stretch.part.name, number)
                ),
                parent_id=parent_id,
                name="service call" if is_code and is_call else str(stretch.part),
                kind=(Kind.CLIENT if is_call else Kind.SERVER) if is_code else Kind.INTERNAL,
                from_ms=max(stretch.from_ms, self._start_ms),
                to_ms=stretch.to_ms,
                attributes=facts,
                # Whatever failed, failed last: the code, or the answer or job that the step waited for.
                error=error_of(row) if number == last else None,
                of_function=is_code and conventions.is_user_code(state),
            )

    def _state(self, row: Row) -> State | None:
        version = self._timeline.workflow
        if row.checkpoint is not None:
            version = self._timeline.version_of(row.checkpoint)
        return version.states.get(row.state)


def error_of(row: Row) -> str | None:
    """Return the error type of a row that failed, also if the failure was caught or retried; None for another one."""
    return conventions.error_type(row.error) if row.status in FAILED else None


def _failed(checkpoint: Checkpoint | None, delivery: Delivery | None) -> list[tuple[int, FailedAttempt]]:
    """Return the known failed attempts before `delivery` with their numbers, from 1."""
    if checkpoint is None or delivery is None:
        return []
    known = delivery.failed
    # Records keep the latest attempts, so the last known one is the one before the attempt that committed.
    return [*enumerate(known, start=max(checkpoint.attempt - len(known), 0) + 1)]


def _retry(failed: FailedAttempt, number: int, from_ms: int, to_ms: int) -> Event:
    facts: dict[str, Attribute] = {"exception.type": conventions.error_type(failed.error), "unum.attempt": number}
    return Event("exception", _within(failed.failed_at, from_ms, to_ms), facts)


def _within(at: datetime, from_ms: int, to_ms: int) -> int:
    """Return `at` in milliseconds since 1970, not outside of a span whose times come from another clock."""
    return min(max(round(at.timestamp() * 1000), from_ms), to_ms)


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
        """Yield the trace of an execution, then traces of started executions, breadth first.

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
    """Return a link to an execution or a step."""
    own = span_ids.execution_span(one.workflow, execution)
    span_id = own if step is None else span_ids.step_span(one.workflow, step)
    facts = {conventions.LINK: relation, "unum.workflow": one.workflow, "unum.execution": one.name}
    return Link(span_ids.trace_id(one.workflow, execution), span_id, facts)
