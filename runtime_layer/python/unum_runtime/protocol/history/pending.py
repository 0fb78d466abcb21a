"""Pending commits of an execution: continuations of its top level and every branch.

Planning again from committed outcomes finds them, so nothing is written for this purpose. Performing a found effect is
as harmless as a late delivery of its event.
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
    """Reason for a pending commit."""

    DELIVERY = "delivery"
    """An event is being delivered, or was lost."""

    TIME = "time"
    """A time in the future."""

    ANSWER = "answer"
    """The result of a Task, from the responder with the task token."""

    JOB = "job"
    """The end of a service job; the Task polls it."""


@dataclass(frozen=True)
class EndedBranches:
    """Ended branches of one scope, possibly missing from its completion set.

    Attributes:
        scope: the scope.
        done: indexes of completed branches, ascending.
        failed: failures that count against the scope.
    """

    scope: Scope
    done: tuple[int, ...]
    failed: tuple[BranchFailed, ...]


@dataclass(frozen=True)
class Resend:
    """Stored event of a Task whose result was submitted, with the function's address."""

    envelope: Envelope
    address: str


@dataclass(frozen=True, kw_only=True)
class Missing:
    """A pending commit.

    Attributes:
        name: name of the invocation.
        state: the state that will commit.
        since_ms: time of the commit before it, in milliseconds since 1970.
        waits_for: the reason.
        until_ms: end of a Wait, or time of a job's next poll, in milliseconds since 1970; otherwise None.
        job: the service's handle of the job; None without a job.
        effect: the effect that leads to the commit.
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
        """Earliest delivery of its event, in milliseconds since 1970."""
        match self.effect:
            case Invoke(due_ms=int() as due_ms) | JoinNeighbour(Invoke(due_ms=int() as due_ms)):
                return max(due_ms, self.since_ms)
        return self.since_ms


Gap: TypeAlias = Missing | EndedBranches
"""A step that may have been lost: a commit, or the entry of ended branches in a completion set."""


def gaps(rt: Runtime, last: Checkpoint) -> Iterator[Gap]:
    """Yield continuations of `last`, the last commit of a branch or the top level, that may be lost.

    Args:
        rt: a runtime of the execution's version.
        last: the last commit; if its outcome is collected, the continuation is committed and nothing is pending.
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
            yield missing_after(rt, effect, last.committed_ms)


@dataclass(frozen=True)
class _Survey:
    """Pending commits in one scope, collected branch by branch.

    Attributes:
        rt: the runtime.
        opened: the scope.
        since_ms: time of opening the scope, in milliseconds since 1970.
        over: times of branches that have freed their lanes, by index.
        done: indexes of the completed branches.
        failed: failures that count against the scope.
    """

    rt: Runtime
    opened: OpenScope
    since_ms: int
    over: dict[int, int] = field(default_factory=dict)
    done: list[int] = field(default_factory=list)
    failed: list[BranchFailed] = field(default_factory=list)

    def gaps(self) -> list[Gap]:
        """Return the pending commits of the branches, or that of the scope if enough branches have ended."""
        scope = self.opened.scope
        found: list[Gap] = []
        for index, course in enumerate(branches(self.rt.store, self.rt.workflow.name, scope)):
            found += self._begun(index, course[-1]) if course else self._next(index)
        # Without a quorum the first failure decides; repeating the others would only cost writes.
        failed = self.failed if self.opened.arrival.state.quorum is not None else self.failed[:1]
        ended = EndedBranches(scope, tuple(self.done), tuple(failed))
        if not self._is_decided:
            return [*found, ended]
        return [self._joined(ended, max(self.over.values(), default=self.since_ms))]

    def _joined(self, ended: EndedBranches, since_ms: int) -> Missing:
        """Return the pending commit after the branches; a Task that joins them may itself wait for a job or token."""
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
        """Yield the first commit of branch `index` if it is due; under MaxConcurrency another branch comes first."""
        # Branches come in ascending order, so the one before it in its lane is already in `over`.
        before = index - self.opened.arrival.width
        if before < 0 or before in self.over:
            yield missing_after(self.rt, branch(self.opened, index), self.over.get(before, self.since_ms))

    @property
    def _is_decided(self) -> bool:
        """True if enough branches have ended to complete or fail the scope."""
        size, quorum = self.opened.scope.size, self.opened.arrival.state.quorum or self.opened.scope.size
        return len(self.done) >= quorum or len(self.failed) > size - quorum


def missing_after(rt: Runtime, effect: Invoke | JoinNeighbour | Commit, since_ms: int) -> Missing:
    """Return the pending commit that `effect`, planned from a commit at `since_ms`, leads to."""
    invoke = effect.invoke if isinstance(effect, JoinNeighbour) else effect
    found = _delivery(invoke.name, invoke.state, since_ms, effect)
    if isinstance(invoke, Commit):
        return found
    if invoke.due_ms is not None and invoke.due_ms > rt.clock.now_ms():
        return replace(found, waits_for=WaitsFor.TIME, until_ms=invoke.due_ms)
    return _begun(rt, found, invoke)


def _begun(rt: Runtime, missing: Missing, invoke: Invoke) -> Missing:
    """Return `missing`; if `invoke` was delivered and waits for a job or a token, return what continues it instead."""
    match rt.workflow.states[invoke.state]:
        case Task(pattern=Pattern.SYNC):
            return _with_poll(rt, missing, invoke)
        case Task(pattern=Pattern.CALLBACK):
            return _with_answer(rt, missing)
    return missing


def _with_poll(rt: Runtime, missing: Missing, invoke: Invoke) -> Missing:
    """Return `missing` with a poll of the job as its effect, if the Task has started a job."""
    stored = last_job(rt, invoke.name, invoke.state)
    if stored is None:
        return missing
    # A neighbour join that has started its job has had both branches arrive.
    source = Neighbours() if isinstance(missing.effect, JoinNeighbour) else invoke.input
    look = replace(invoke, input=source, retries=stored.retries, job=stored.polled_by(rt.delivery))
    return replace(missing, waits_for=WaitsFor.JOB, until_ms=stored.until_ms, job=stored.job["handle"], effect=look)


def _with_answer(rt: Runtime, missing: Missing) -> Missing:
    """Return `missing` of a Task with a task token: waiting for the answer, or resuming from a stored one."""
    tried = last_try(rt, missing.name, missing.state)
    if tried is None:
        return missing
    if tried.answered_by is None:
        return replace(missing, waits_for=WaitsFor.ANSWER)
    return replace(missing, effect=Resend(_resuming_event(rt, tried, tried.answered_by), tried.address))


def _resuming_event(rt: Runtime, tried: Try, by: By) -> Envelope:
    """Return the event that resumes from a result submitted `by`; see `unum_runtime.protocol.waiting.callback`."""
    job = {By.RESPONDER: dict(NUDGE), By.CLOCK: {"since": rt.clock.now_ms()}, By.CODE: None}[by]
    envelope = tried.envelope
    return replace(envelope, job=job, sent_s=rt.sent_s())


def _delivery(name: Name, state: str, since_ms: int, effect: Effect | EndedBranches) -> Missing:
    return Missing(name=name, state=state, since_ms=since_ms, waits_for=WaitsFor.DELIVERY, effect=effect)
