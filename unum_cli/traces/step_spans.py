"""Spans of one step: the step itself, its failed attempts, and the parts of its time."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from unum_cli.timing.levels import Row, Shown
from unum_cli.timing.stretches import Part
from unum_cli.traces import conventions
from unum_cli.traces.spans import Attribute, Event, Kind, Link, Span
from unum_client.deliveries import Delivery, FailedAttempt
from unum_runtime.model import span_ids
from unum_runtime.model.checkpoint import Checkpoint
from unum_runtime.model.naming import Name
from unum_runtime.model.states import State, Wait
from unum_runtime.protocol.history.timeline import Timeline

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
        """The links that a span may have."""
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
