"""What an execution waits for: for each of its sequences, the top level and every branch, what follows its last commit.

It is found by planning again from what is committed, so nothing has to be written for it, and whoever does what is
found does what a late delivery would do.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import TypeAlias

from unum_runtime.cold_start.records import dataclass, field, replace
from unum_runtime.errors import RefusedDelivery
from unum_runtime.model.checkpoint import Checkpoint
from unum_runtime.model.envelope import Envelope, Neighbours, Results
from unum_runtime.model.ir import Json, Map, Pattern, Task
from unum_runtime.model.naming import Name, Scope
from unum_runtime.protocol.history.timeline import branches, frees_lane
from unum_runtime.protocol.planning.plan import (
    BranchFailed,
    Commit,
    CompleteBranch,
    Effect,
    Finish,
    Invoke,
    JoinNeighbour,
    OpenScope,
    branch,
    plan,
)
from unum_runtime.protocol.runtime import Runtime
from unum_runtime.protocol.waiting.callback import NUDGE, By, Try, last_try
from unum_runtime.protocol.waiting.service_job import last_job


class WaitsFor(StrEnum):
    """What has to come before an execution goes on."""

    DELIVERY = "delivery"
    """The delivery of an event, or its end."""

    TIME = "time"
    """A time that has not come."""

    ANSWER = "answer"
    """The result of a Task, from whoever has its token."""

    JOB = "job"
    """The end of a job that a Task has started; nothing tells that, so the Task looks from time to time."""


@dataclass(frozen=True)
class EndedBranches:
    """Branches of a scope that have ended.

    Attributes:
        scope: the scope.
        done: indexes of those that count as completed, in their order.
        failed: those that fail the scope, if there are enough of them.
    """

    scope: Scope
    done: tuple[int, ...]
    failed: tuple[BranchFailed, ...]


@dataclass(frozen=True)
class Resend:
    """The stored event of a Task whose result was handed in."""

    envelope: Envelope
    address: str


@dataclass(frozen=True, kw_only=True)
class Missing:
    """A commit that an execution waits for.

    Attributes:
        name: its name.
        state: the state that is to come to it.
        since_ms: when the commit before it was made, in milliseconds since 1970.
        waits_for: what has to come first.
        until_ms: when its time comes, in milliseconds since 1970; of a job, by when it is looked at; else None.
        job: what the service has to be asked by that works on the job; None where there is none.
        effect: what leads to it.
    """

    name: Name
    state: str
    since_ms: int
    waits_for: WaitsFor
    until_ms: int | None = None
    job: Json = None
    effect: "Effect | EndedBranches | Resend"

    @property
    def due_ms(self) -> int:
        """From when on its event may be delivered, in milliseconds since 1970."""
        match self.effect:
            case Invoke(due_ms=int() as due_ms) | JoinNeighbour(Invoke(due_ms=int() as due_ms)):
                return max(due_ms, self.since_ms)
        return self.since_ms


Gap: TypeAlias = Missing | EndedBranches
"""Something that may have been lost: a commit; or that branches which have ended are counted as such."""


def gaps(rt: Runtime, last: Checkpoint) -> Iterator[Gap]:
    """What follows `last`, the last commit of its sequence, and may be lost.

    Args:
        rt: a runtime of the version that the execution runs on.
        last: with its outcome; where that is collected, what follows is committed.
    """
    try:
        yield from _after(rt, last, plan(rt.workflow, last))
    except RefusedDelivery as refused:
        rt.log("refused", reason=str(refused))


def _after(rt: Runtime, last: Checkpoint, effect: Effect) -> Iterator[Gap]:
    match effect:
        case Finish():
            return
        case OpenScope():
            yield from _Survey(rt, effect, last.committed_ms).gaps()
        case Invoke() | JoinNeighbour() | Commit():
            yield _missing(rt, effect, last.committed_ms)


@dataclass(frozen=True)
class _Survey:
    """A look at the branches of a scope, one after the other.

    Attributes:
        rt: the runtime.
        opened: the scope.
        since_ms: when it was opened, in milliseconds since 1970.
        over: when each branch ended whose lane goes on after it.
        done: the branches that count as completed.
        failed: those that fail the scope, if there are enough of them.
    """

    rt: Runtime
    opened: OpenScope
    since_ms: int
    over: dict[int, int] = field(default_factory=dict)
    done: list[int] = field(default_factory=list)
    failed: list[BranchFailed] = field(default_factory=list)

    def gaps(self) -> list[Gap]:
        """What the branches wait for, and what the scope itself does."""
        scope = self.opened.scope
        found: list[Gap] = []
        for index, course in enumerate(branches(self.rt.store, self.rt.workflow.name, scope)):
            found += self._begun(index, course[-1]) if course else self._next(index)
        failed = self.failed if self.opened.arrival.state.quorum is not None else self.failed[:1]  # one is enough
        ended = EndedBranches(scope, tuple(self.done), tuple(failed))
        if not self._is_decided:
            return [*found, ended]
        return [self._joined(ended, max(self.over.values(), default=self.since_ms))]

    def _joined(self, ended: EndedBranches, since_ms: int) -> Missing:
        """What follows the branches that have ended: a Task that joins them by itself may have begun to wait."""
        scope, follower = ended.scope, self.opened.arrival.state.join
        lost = _delivery(scope.join, scope.state, since_ms, ended)
        if follower is None:
            return lost
        invoke = Invoke(scope.join, follower, Results(scope))
        begins = _delivery(scope.join, follower, since_ms, invoke)
        begun = _begun(self.rt, begins, invoke)
        return lost if begun is begins else begun

    def _begun(self, index: int, last: Checkpoint) -> Iterator[Gap]:
        effect, fan_out = plan(self.rt.workflow, last), self.opened.arrival.state
        if frees_lane(fan_out, effect):
            self.over[index] = last.committed_ms
        if not isinstance(effect, CompleteBranch | BranchFailed):
            yield from _after(self.rt, last, effect)
        elif isinstance(effect, CompleteBranch) or (isinstance(fan_out, Map) and fan_out.tolerates):
            self.done.append(index)
        else:
            self.failed.append(effect)

    def _next(self, index: int) -> Iterator[Gap]:
        """The beginning of branch `index`, if it is due: under MaxConcurrency, after another one."""
        before = index - self.opened.arrival.width
        if before < 0 or before in self.over:
            yield _missing(self.rt, branch(self.opened, index), self.over.get(before, self.since_ms))

    @property
    def _is_decided(self) -> bool:
        """Whether enough branches have ended, one way or the other."""
        size, quorum = self.opened.scope.size, self.opened.arrival.state.quorum or self.opened.scope.size
        return len(self.done) >= quorum or len(self.failed) > size - quorum


def _missing(rt: Runtime, effect: Invoke | JoinNeighbour | Commit, since_ms: int) -> Missing:
    invoke = effect.invoke if isinstance(effect, JoinNeighbour) else effect
    found = _delivery(invoke.name, invoke.state, since_ms, effect)
    if isinstance(invoke, Commit):
        return found
    if invoke.due_ms is not None and invoke.due_ms > rt.clock.now_ms():
        return replace(found, waits_for=WaitsFor.TIME, until_ms=invoke.due_ms)
    return _begun(rt, found, invoke)


def _begun(rt: Runtime, missing: Missing, invoke: Invoke) -> Missing:
    """`missing`, which `invoke` leads to; or, if that has come and begun to wait for somebody else, what leads on."""
    match rt.workflow.states[invoke.state]:
        case Task(pattern=Pattern.SYNC):
            return _looked_at(rt, missing, invoke)
        case Task(pattern=Pattern.CALLBACK):
            return _answered(rt, missing)
    return missing


def _looked_at(rt: Runtime, missing: Missing, invoke: Invoke) -> Missing:
    """`missing` of a Task that starts a job: if it has, another look at that leads on."""
    stored = last_job(rt, invoke.name, invoke.state)
    if stored is None:
        return missing
    source = (
        Neighbours() if isinstance(missing.effect, JoinNeighbour) else invoke.input
    )  # they have met, if it has begun
    look = replace(invoke, input=source, retries=stored.retries, job=stored.polled_by(rt.delivery))
    return replace(missing, waits_for=WaitsFor.JOB, until_ms=stored.until_ms, job=stored.job["handle"], effect=look)


def _answered(rt: Runtime, missing: Missing) -> Missing:
    """`missing` of a Task that gives out a token: what it waits for is told by what was stored for its last try."""
    tried = last_try(rt, missing.name, missing.state)
    if tried is None:
        return missing
    if tried.answered_by is None:
        return replace(missing, waits_for=WaitsFor.ANSWER)
    return replace(missing, effect=Resend(_going_on(rt, tried, tried.answered_by), tried.address))


def _going_on(rt: Runtime, tried: Try, by: By) -> Envelope:
    """The event that goes on from a result which came `by` somebody; see `unum_runtime.protocol.waiting.callback`."""
    job = {By.RESPONDER: dict(NUDGE), By.CLOCK: {"since": rt.clock.now_ms()}, By.CODE: None}[by]
    envelope = tried.envelope
    return replace(envelope, job=job, not_after_s=rt.not_after_s(envelope.name.execution))


def _delivery(name: Name, state: str, since_ms: int, effect: Effect | EndedBranches) -> Missing:
    return Missing(name=name, state=state, since_ms=since_ms, waits_for=WaitsFor.DELIVERY, effect=effect)
