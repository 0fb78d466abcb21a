"""Rows of an execution's steps, one level at a time: the top level, or one branch of a fan-out.

A fan-out is one row of its level, whatever its size; its branches are levels of their own. Rows come from what is
committed, and from the next effect of the last commit, which shows what runs or waits now.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property

from unum_cli.timing.stretches import Part, Span, Stretch, stretches
from unum_client.deliveries import Delivery
from unum_client.events.scope_events import joined
from unum_runtime.errors import OutcomeCollected
from unum_runtime.features.regions.region import region_of
from unum_runtime.model.checkpoint import Checkpoint, Collected, Phase, Success
from unum_runtime.model.envelope import Results, Value
from unum_runtime.model.naming import Frames, Name, Scope
from unum_runtime.model.states import FanOut, Pattern, State, Task, Wait
from unum_runtime.protocol.history.timeline import (
    Following,
    Timeline,
    failed_with,
    following,
    frees_lane,
    started_branches,
)
from unum_runtime.protocol.planning.plan import (
    BranchFailed,
    Commit,
    CompleteBranch,
    Effect,
    Invoke,
    JoinNeighbour,
    OpenScope,
    is_start,
)


class Shown(StrEnum):
    """Status of a row."""

    PENDING = "pending"
    RUNNING = "running"
    WAITING = "waiting"
    SUCCEEDED = "succeeded"
    CAUGHT = "caught"
    RETRIED = "retried"
    FAILED = "failed"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Step, fan-out, or pending wait of a level.

    Attributes:
        key: invocation name as text; for a fan-out, that of the step before it.
        state: name of the state.
        status: status of the row.
        stretches: what passed, in order.
        note: more about the status, for people.
        error: error name; None without a failure.
        branches: number of branches by status; None for a step.
        checkpoint: commit of a step; None for a fan-out, and before the commit.
        name: invocation that commits the step, or the end of the fan-out; None for a branch.
        scope: the fan-out; None for a step.
    """

    key: str
    state: str
    status: Shown
    stretches: tuple[Stretch, ...] = ()
    note: str = ""
    error: str | None = None
    branches: Mapping[Shown, int] | None = None
    checkpoint: Checkpoint | None = field(default=None, repr=False)
    name: Name | None = field(default=None, repr=False)
    scope: Scope | None = field(default=None, repr=False)


_WAITS = {Pattern.CALLBACK: "for an answer with its task token", Pattern.SYNC: "for the end of its job"}


class Levels:
    """Levels of one execution.

    Args:
        timeline: its commits.
        now_ms: present time, in milliseconds since 1970.
    """

    def __init__(self, timeline: Timeline, now_ms: int) -> None:
        self.timeline = timeline
        self._now_ms = timeline.end.committed_ms if timeline.end is not None else now_ms
        self._steps: dict[Frames, list[Checkpoint]] = defaultdict(list)
        self._openings: dict[Name, OpenScope | None] = {}
        for name, checkpoint in timeline.committed.items():
            if not is_start(name):
                self._steps[name.frames].append(checkpoint)
        for sequence in self._steps.values():
            sequence.sort(key=lambda each: each.name.step)

    @property
    def now_ms(self) -> int:
        """Time of reading, or of the execution's end, in milliseconds since 1970."""
        return self._now_ms

    @cached_property
    def by_key(self) -> Mapping[str, Checkpoint]:
        """Commits by invocation name as text, start record included."""
        return {str(name): checkpoint for name, checkpoint in self.timeline.committed.items()}

    def rows(self, frames: Frames = ()) -> list[Row]:
        """Return the rows of a level, in order."""
        found: list[Row] = []
        for checkpoint in self._steps.get(frames, ()):
            if checkpoint.phase is not Phase.ENTERED and not self._is_end_of_fan_out(checkpoint):
                found.append(self._step(checkpoint))
            if checkpoint.opens is not None:
                found.append(self.fan_out(checkpoint.opens))
        start = self.timeline.start
        if not frames and start.opens is not None:
            found.insert(0, self.fan_out(start.opens))
        return [*found, *self._pending(frames)]

    def fan_out(self, scope: Scope) -> Row:
        """Return the row of a fan-out."""
        counts = Counter(self.statuses(scope))
        end, failure = self._end_of(scope), None
        own = self.timeline.outcome_of(scope)
        if own is not None and (failure := failed_with(own)) is not None:
            status = _failed(own)
        elif end is not None or counts[Shown.SUCCEEDED] == scope.size:
            status = Shown.SUCCEEDED
        elif self.timeline.end is not None:
            status = Shown.STOPPED
        else:
            status = Shown.WAITING if counts[Shown.WAITING] and not counts[Shown.RUNNING] else Shown.RUNNING
        to_ms = self._now_ms if end is None and status is not Shown.SUCCEEDED else self._latest_ms(scope)
        origin = self.timeline.committed[scope.origin]
        return Row(
            key=str(scope.origin),
            state=scope.state,
            status=status,
            stretches=(Stretch(Part.BRANCHES, origin.committed_ms, max(origin.committed_ms, to_ms)),),
            note=f"{scope.size:,} branches" + (f", try {scope.generation + 1}" if scope.generation else ""),
            error=failure.error if failure else None,
            branches=counts,
            name=scope.join,
            scope=scope,
        )

    def statuses(self, scope: Scope) -> list[Shown]:
        """Return the status of each branch."""
        opened = self._opened(scope)
        found = [self._status_of_branch(scope, index) for index in range(scope.size)]
        if self._end_of(scope) is not None or self.timeline.end is not None:
            return [Shown.STOPPED if each in (None, Shown.RUNNING, Shown.WAITING) else each for each in found]
        freed = [index for index, each in enumerate(found) if each is not None and self._is_free(scope, index)]
        running = set(range(scope.size)) if opened is None else started_branches(opened, freed)
        return [each or self._first_status(scope, index, running) for index, each in enumerate(found)]

    def branch(self, scope: Scope, index: int, status: Shown) -> Row:
        """Return a branch's row, with the stretches of all rows at its own level."""
        rows = self.rows(scope.branch(index))
        return Row(
            key=str(scope.origin),
            state=f"{scope.state} {index}",
            status=status,
            stretches=tuple(stretch for row in rows for stretch in row.stretches),
            note=", ".join(row.note for row in rows[-1:] if row.note and row.status is not Shown.SUCCEEDED),
            error=next((row.error for row in reversed(rows) if row.error and row.status is Shown.FAILED), None),
        )

    def value_before(self, name: Name) -> Success | None:
        """Return the input of the state that commits as `name`; None if unknown."""
        led = self._led_to(name)
        match None if led is None else led.effect:
            case Invoke(input=Value(given=given)) | JoinNeighbour(Invoke(input=Value(given=given))):
                return given
            case Invoke(input=Results(scope)):
                return self._joined(scope)
            case OpenScope(arrival=arrival):
                return Success(arrival.value)
        return None

    def wait_before(self, name: Name) -> tuple[str, int] | None:
        """Return the Wait that delays the Task that commits as `name`, and its end; None for a step without one.

        A Wait before a Task has no commit and no row of its own: the event of the Task is delayed instead.
        """
        led = self._led_to(name)
        return None if led is None else _delay(led)

    def _joined(self, scope: Scope) -> Success | None:
        opened = self._opened(scope)
        lasts = {index: self.timeline.last(scope.branch(index)) for index in range(scope.size)}
        effects = {index: (last, self._effect(last)) for index, last in lasts.items() if last is not None}
        ends = {i: (last, way) for i, (last, way) in effects.items() if isinstance(way, CompleteBranch | BranchFailed)}
        made = None if opened is None else joined(opened, ends)
        return made.outcome if made is not None and isinstance(made.outcome, Success) else None

    def _step(self, checkpoint: Checkpoint) -> Row:
        failure = failed_with(checkpoint)
        status = Shown.SUCCEEDED if failure is None else _failed(checkpoint)
        delivery, goes_to = Delivery.of(checkpoint), checkpoint.continuation.goes_to
        notes = {
            f"retried {checkpoint.attempt} {'time' if checkpoint.attempt == 1 else 'times'}": checkpoint.attempt > 0,
            "cold start": delivery is not None and delivery.is_cold,
            f"caught, continues at {goes_to}": status is Shown.CAUGHT and goes_to is not None,
            f"Lambda gave it up: {delivery and delivery.given_up}": delivery is not None and delivery.given_up,
            "value no longer stored": isinstance(checkpoint.outcome, Collected),
        }
        return Row(
            key=str(checkpoint.name),
            state=checkpoint.state,
            status=status,
            stretches=self._stretches(checkpoint),
            note="; ".join(note for note, holds in notes.items() if holds),
            error=None if failure is None else failure.error,
            checkpoint=checkpoint,
            name=checkpoint.name,
        )

    def _stretches(self, checkpoint: Checkpoint) -> tuple[Stretch, ...]:
        since_ms, due_ms = self._since(checkpoint.name)
        return tuple(stretches(checkpoint, Span(since_ms, due_ms, self._waits(checkpoint) is not None)))

    def _waits(self, checkpoint: Checkpoint) -> str | None:
        """Return what the Task of `checkpoint` waited for after its user code; None for other states."""
        return _waits_for(self.timeline.version_of(checkpoint).states.get(checkpoint.state))

    def _since(self, name: Name) -> tuple[int, int | None]:
        """Return the time of the commit that led to `name`, and the time until which its event had to wait."""
        led = self._led_to(name)
        due_ms = _due_ms(led.effect) if led is not None else None
        before = self.timeline.committed.get(Name(name.execution, name.frames, name.step - 1))
        if before is None and name.frames:
            return self._begin_ms(name), due_ms
        if before is None:
            return self.timeline.start.committed_ms, due_ms
        opens = before.opens
        is_join = opens is not None and opens.join == name
        return self._latest_ms(opens) if opens is not None and is_join else before.committed_ms, due_ms

    def _begin_ms(self, name: Name) -> int:
        """Return the time from which a branch could begin; in a region, that of the last result that it needs."""
        scope, index = name.scopes[-1], name.frames[-1].index
        origin = self.timeline.committed.get(scope.origin)
        if origin is None:
            return self.timeline.start.committed_ms
        version = self.timeline.version_of(origin)
        sources = region_of(version, scope.state).sources[index] if version.fan_out(scope.state).needs else ()
        lasts = (self.timeline.last(scope.branch(source)) for source in sources)
        return max([origin.committed_ms, *(last.committed_ms for last in lasts if last is not None)])

    def _led_to(self, name: Name) -> Following | None:
        """Return the effect that led to `name`; None if its source has expired."""
        before = self.timeline.committed.get(Name(name.execution, name.frames, name.step - 1))
        if before is not None and before.name.frames == name.frames:
            led = self._following(before)
            opens = before.opens
            if led is not None and isinstance(led.effect, OpenScope) and opens is not None and opens.join == name:
                return Following(Invoke(name, "", Results(opens)), [], reenters=False)
            return led
        opened = self._opened(name.scopes[-1]) if name.frames else None
        return None if opened is None else self.timeline.branch_begin(opened, name.frames[-1].index)

    def _pending(self, frames: Frames) -> Iterator[Row]:
        """Yield a row for the pending step of a level, except fan-outs."""
        sequence = self._steps.get(frames)
        last = sequence[-1] if sequence else None if frames else self.timeline.start
        led: Following | None
        if last is None:
            opened = self._opened(Scope.around(self.timeline.start.name.execution, frames))
            led = None if opened is None else self.timeline.branch_begin(opened, frames[-1].index)
            since_ms = self._begin_ms(Name(self.timeline.start.name.execution, frames, 0))
        else:
            led, since_ms = self._following(last), last.committed_ms
        if last is not None and last.ending is not None:
            return
        delay = None if led is None else _delay(led)
        match None if led is None else led.effect:
            case (Invoke() as invoke) | JoinNeighbour(invoke):
                # Until the Wait is over, the execution is at the Wait, though the next commit is the Task's.
                state = invoke.state if delay is None or delay[1] <= self._now_ms else delay[0]
                yield self._waiting_row(invoke.name, state, since_ms, invoke.due_ms)
            case Commit(name, state):
                yield self._waiting_row(name, state, since_ms, None)
            case OpenScope(scope) if scope.join not in self.timeline.committed and self._have_ended(scope):
                fan_out = self._state(scope.state)
                join = fan_out.join if isinstance(fan_out, FanOut) and fan_out.join is not None else scope.state
                yield self._waiting_row(scope.join, join, self._latest_ms(scope), None)

    def _waiting_row(self, name: Name, state: str, since_ms: int, due_ms: int | None) -> Row:
        reason = _waits_for(self._state(state))
        if reason is None and due_ms is not None and due_ms > self._now_ms:
            reason = "for a time"
        status = Shown.WAITING if reason else Shown.RUNNING
        if self.timeline.end is not None:
            status, reason = Shown.STOPPED, "the execution had ended"
        part = Part.WAITING if status is Shown.WAITING else Part.QUEUE
        stretches = (Stretch(part, since_ms, max(since_ms, self._now_ms)),)
        note = reason or "its event is on the way, or its code runs"
        return Row(key=str(name), state=state, status=status, stretches=stretches, note=note, name=name)

    def _have_ended(self, scope: Scope) -> bool:
        return all(isinstance(self._branch_end(scope, index), CompleteBranch) for index in range(scope.size))

    def _status_of_branch(self, scope: Scope, index: int) -> Shown | None:
        """Return the status of a branch by its last commit; None without one."""
        last = self.timeline.last(scope.branch(index))
        if last is None:
            return None
        if isinstance(last.outcome, Collected):  # collection mostly follows success, and nothing else is left
            return Shown.SUCCEEDED
        effect = self._effect(last)
        match effect:
            case CompleteBranch():
                return Shown.SUCCEEDED
            case BranchFailed():
                return Shown.FAILED
            case OpenScope():
                return Shown.RUNNING
        return self._coming_status(effect)

    def _first_status(self, scope: Scope, index: int, running: set[int]) -> Shown:
        if index not in running:
            return Shown.PENDING
        opened = self._opened(scope)
        led = None if opened is None else self.timeline.branch_begin(opened, index)
        return Shown.RUNNING if led is None else self._coming_status(led.effect)

    def _coming_status(self, effect: Effect | None) -> Shown:
        match effect:
            case (Invoke() as invoke) | JoinNeighbour(invoke):
                return self._waiting_row(invoke.name, invoke.state, 0, invoke.due_ms).status
        return Shown.RUNNING

    def _is_free(self, scope: Scope, index: int) -> bool:
        state = self._state(scope.state)
        return isinstance(state, FanOut) and frees_lane(state, self._branch_end(scope, index))

    def _branch_end(self, scope: Scope, index: int) -> Effect | None:
        last = self.timeline.last(scope.branch(index))
        return None if last is None else self._effect(last)

    def _is_end_of_fan_out(self, checkpoint: Checkpoint) -> bool:
        before = self.timeline.committed.get(replace(checkpoint.name, step=checkpoint.name.step - 1))
        scope = None if before is None else before.opens
        return scope is not None and scope.join == checkpoint.name and scope.state == checkpoint.state

    def _end_of(self, scope: Scope) -> Checkpoint | None:
        """Return the commit that proves the end of a fan-out: its own commit, or its joining Task's."""
        return self.timeline.committed.get(scope.join)

    def _latest_ms(self, scope: Scope) -> int:
        """Return the time of the latest commit in a fan-out's branches, or of its own commit."""
        own = self.timeline.outcome_of(scope)
        lasts = (self.timeline.last(scope.branch(index)) for index in range(scope.size))
        times = [each.committed_ms for each in (own, *lasts) if each is not None]
        return max([self._origin_ms(scope), *times])

    def _origin_ms(self, scope: Scope) -> int:
        return self.timeline.committed[scope.origin].committed_ms

    def _opened(self, scope: Scope) -> OpenScope | None:
        """Return the effect that opened a fan-out; None if the previous commit has expired."""
        # Planning again evaluates all items, and every branch asks: a wide Map would take the square of its size.
        if scope.origin not in self._openings:
            origin = self.timeline.committed.get(scope.origin)
            effect = None if origin is None else self._effect(origin)
            self._openings[scope.origin] = effect if isinstance(effect, OpenScope) else None
        return self._openings[scope.origin]

    def _effect(self, checkpoint: Checkpoint) -> Effect | None:
        led = self._following(checkpoint)
        return None if led is None else led.effect

    def _following(self, checkpoint: Checkpoint) -> Following | None:
        try:
            return following(self.timeline.version_of(checkpoint), checkpoint)
        except OutcomeCollected:
            return None

    def _state(self, name: str) -> State | None:
        return self.timeline.workflow.states.get(name)


def _failed(checkpoint: Checkpoint) -> Shown:
    if checkpoint.phase is Phase.RETRIED:
        return Shown.RETRIED
    return Shown.CAUGHT if checkpoint.continuation.caught is not None else Shown.FAILED


def _waits_for(state: State | None) -> str | None:
    if isinstance(state, Wait):
        return "for a time"
    return _WAITS.get(state.pattern) if isinstance(state, Task) else None


def _delay(led: Following) -> tuple[str, int] | None:
    """Return the Wait that delays the Task of `led`, and its end; None without one."""
    due_ms = _due_ms(led.effect)
    passed = [visit.state.name for visit in led.visits[:-1] if isinstance(visit.state, Wait)]
    return (passed[-1], due_ms) if passed and due_ms is not None else None


def _due_ms(effect: Effect) -> int | None:
    match effect:
        case Invoke(due_ms=due_ms) | JoinNeighbour(Invoke(due_ms=due_ms)):
            return due_ms
    return None
