"""Spans of one execution: itself, its steps, its fan-outs and their branches."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from unum_cli.timing.levels import Levels, Row, Shown
from unum_cli.traces import conventions
from unum_cli.traces.spans import Attribute, Attributes, Event, Link, Span
from unum_cli.traces.step_spans import UNFINISHED, Causes, StepSpans, error_of
from unum_runtime.model import span_ids
from unum_runtime.model.checkpoint import Failure, Status
from unum_runtime.model.naming import Execution, Frames, Scope
from unum_runtime.model.region import region_of
from unum_runtime.model.states import FanOut
from unum_runtime.protocol.history.timeline import redrives

FAN_IN, REDRIVE, FORK = "fan-in", "redrive", "fork"


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
        """Return the spans of a step, after that of a Wait before it, and the id of the last of the two."""
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
