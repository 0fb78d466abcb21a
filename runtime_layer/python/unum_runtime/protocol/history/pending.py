"""Pending commits of an execution: continuations of its top level and every branch.

Planning again from committed outcomes finds them, so nothing is written for this purpose. Performing a found effect is
as harmless as a late delivery of its event.

A commit that should have been made long ago is overdue. Evidence is the committed steps, stored jobs and the
definition. Retries write nothing, and the queues of Lambda cannot be read. An overdue commit may therefore still come,
so that every recovery must be harmless then.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, cast

from unum_runtime.asl.recovery import longest_wait_ms
from unum_runtime.cold_start.records import dataclass, field, replace
from unum_runtime.errors import StatesError
from unum_runtime.model.checkpoint import Checkpoint
from unum_runtime.model.envelope import Envelope, Neighbours, Results
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import SHARD_SIZE, Name, Scope
from unum_runtime.model.states import SIGNAL, FanOut, Json, Map, Pattern, Task
from unum_runtime.protocol.history.timeline import begin_effect, branches_of_shard, frees_lane
from unum_runtime.protocol.planning.evaluation import deadline
from unum_runtime.protocol.planning.plan import (
    BranchFailed,
    Commit,
    CompleteBranch,
    Effect,
    FeedNext,
    Invoke,
    JoinNeighbour,
    OpenScope,
    branch,
    fed_by,
    plan,
)
from unum_runtime.protocol.runtime import Runtime
from unum_runtime.protocol.waiting.callback import SLOT, By, Try, last_try, nudge_job
from unum_runtime.protocol.waiting.service_job import last_job

if TYPE_CHECKING:
    from unum_runtime.features.signals.mailbox import Mailbox
    from unum_runtime.model.envelope import Value


class WaitsFor(StrEnum):
    """Reason for a pending commit."""

    DELIVERY = "delivery"
    """An event is being delivered, or was lost."""

    TIME = "time"
    """A time in the future."""

    ANSWER = "answer"
    """The result of a Task, from the responder with the task token, or a signal."""

    JOB = "job"
    """The end of a service job; the Task polls it."""


@dataclass(frozen=True)
class EndedBranches:
    """Ended branches of one scope, possibly missing from its completion set.

    Attributes:
        scope: the scope.
        done: indexes of completed branches, ascending.
        failed: failures that count against the scope.
        nodes: ends of the completed nodes of a region, possibly missing from arrival sets; empty for other scopes.
        arrivals: arrivals and results of branches that may be missing from arrival sets.
        joins: neighbour joins of branches that have not arrived there, although the branch before each has; its arrival
            may be missing.
    """

    scope: Scope
    done: tuple[int, ...]
    failed: tuple[BranchFailed, ...]
    nodes: tuple[CompleteBranch, ...] = ()
    arrivals: tuple[JoinNeighbour | FeedNext, ...] = ()
    joins: tuple[Invoke, ...] = ()


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
        signal: the signal that a Task waits for; None for any other reason.
    """

    name: Name
    state: str
    since_ms: int
    waits_for: WaitsFor
    until_ms: int | None = None
    job: Json = None
    effect: "Effect | EndedBranches | Complete | Resend"
    signal: "Mailbox | None" = None

    @property
    def due_ms(self) -> int:
        """Earliest delivery of its event, in milliseconds since 1970."""
        match self.effect:
            case Invoke(due_ms=int() as due_ms) | JoinNeighbour(Invoke(due_ms=int() as due_ms)):
                return max(due_ms, self.since_ms)
        return self.since_ms


@dataclass(frozen=True)
class Complete:
    """A scope all of whose branches have ended; its continuation is pending."""

    scope: Scope


@dataclass(frozen=True)
class Opened:
    """A fan-out to look for pending commits in.

    Attributes:
        opening: the effect that opens it.
        since_ms: time of the commit before it, in milliseconds since 1970.
    """

    opening: OpenScope
    since_ms: int

    @property
    def scope(self) -> Scope:
        """Scope of the fan-out."""
        return self.opening.scope

    @property
    def needed(self) -> int:
        """Number of branches that complete the scope."""
        return self.opening.arrival.state.quorum or self.scope.size


@dataclass(frozen=True)
class Part:
    """Pending commits in one shard of a scope.

    Attributes:
        missing: pending commits of branches; only that of the scope if this part alone decides it.
        ended: ended branches of the part.
        is_decided: True if the part alone completes or fails the scope.
        latest_ms: latest end of a branch, in milliseconds since 1970.
        inside: fan-outs that branches have opened, by branch.
    """

    missing: list[Missing]
    ended: EndedBranches
    is_decided: bool
    latest_ms: int
    inside: dict[int, Opened]


def pending_after(rt: Runtime, last: Checkpoint) -> "Missing | Opened | None":
    """Return what may be lost after `last`, the last commit of a branch or the top level; None after its end.

    Args:
        rt: a runtime of the execution's version.
        last: the last commit.

    Raises:
        RefusedDelivery: its outcome is collected, so the continuation is committed and nothing is pending.
    """
    return _after(rt, plan(rt.workflow, last), last.committed_ms)


def _after(rt: Runtime, effect: Effect, since_ms: int) -> "Missing | Opened | None":
    match effect:
        case OpenScope():
            return Opened(effect, since_ms)
        case Invoke() | JoinNeighbour() | Commit():
            return missing_after(rt, effect, since_ms)
    return None


def part_of(rt: Runtime, opened: Opened, shard: int) -> Part:
    """Return the pending commits in one shard of a scope, without those in the scopes inside.

    Raises:
        RefusedDelivery: results of the scope are collected, so its outcome is committed.
    """
    return _Survey(rt, opened, shard).part()


def pending_join(rt: Runtime, opened: Opened, effect: Complete | EndedBranches, latest_ms: int) -> Missing:
    """Return the pending commit after all branches; a Task that joins them may itself wait for a job or token.

    Args:
        rt: the runtime.
        opened: the fan-out.
        effect: the effect that continues it, unless a joining Task waits.
        latest_ms: latest end of a branch, in milliseconds since 1970; 0 without one.
    """
    scope, follower, since_ms = opened.scope, opened.opening.arrival.state.join, latest_ms or opened.since_ms
    lost = _delivery(scope.join, scope.state, since_ms, effect)
    if follower is None:
        return lost
    invoke = Invoke(scope.join, follower, Results(scope))
    begins = _delivery(scope.join, follower, since_ms, invoke)
    missing = _after_start(rt, begins, invoke)
    return lost if missing is begins else missing


@dataclass(frozen=True)
class _Survey:
    """Pending commits in one shard of a scope, collected branch by branch.

    Attributes:
        rt: the runtime.
        opened: the scope.
        shard: the shard.
        over: times of branches that have freed their lanes, by index.
        done: indexes of the completed branches.
        failed: failures that count against the scope.
        inside: fan-outs that branches have opened, by branch.
        nodes: ends of the completed nodes of a region.
        lasts: last commits of these, by index.
        arrivals: arrivals and results of branches whose Tasks have not begun.
        _read: earlier shards whose branches are in `over`.
    """

    rt: Runtime
    opened: Opened
    shard: int
    over: dict[int, int] = field(default_factory=dict)
    done: list[int] = field(default_factory=list)
    failed: list[BranchFailed] = field(default_factory=list)
    inside: dict[int, Opened] = field(default_factory=dict)
    nodes: list[CompleteBranch] = field(default_factory=list)
    lasts: dict[int, Checkpoint] = field(default_factory=dict)
    arrivals: list[JoinNeighbour | FeedNext] = field(default_factory=list)
    _read: set[int] = field(default_factory=set)

    def part(self) -> Part:
        """Return the pending commits of the branches, or that of the scope if enough branches have ended."""
        found: list[Missing] = []
        courses = self._sequences(self.shard)
        for index, course in enumerate(courses, self.shard * SHARD_SIZE):
            found += self._after(index, course[-1]) if course else self._next(index)
        if any(self.rt.workflow.task(source).scope == self.opened.scope.state for source in self.rt.workflow.feeds):
            found += self._joined(courses)
        latest_ms = max((self.over[index] for index in self.over if index // SHARD_SIZE == self.shard), default=0)
        # Without a quorum the first failure decides; repeating the others would only cost writes.
        failed = self.failed if self._fan_out.quorum is not None else self.failed[:1]
        arrivals, joins = tuple(self.arrivals), tuple(self._awaited_joins(courses))
        ended = EndedBranches(self.opened.scope, tuple(self.done), tuple(failed), tuple(self.nodes), arrivals, joins)
        if self._is_decided:
            found = [pending_join(self.rt, self.opened, ended, latest_ms)]
        return Part(found, ended, self._is_decided, latest_ms, {} if self._is_decided else self.inside)

    def _after(self, index: int, last: Checkpoint) -> Iterator[Missing]:
        effect, fan_out = plan(self.rt.workflow, last), self._fan_out
        if isinstance(effect, CompleteBranch) and fan_out.needs:
            self.lasts[index] = last
            self.nodes.append(effect)
        if frees_lane(fan_out, effect):
            self.over[index] = last.committed_ms
        if isinstance(effect, JoinNeighbour) and self.rt.workflow.task(effect.invoke.state).after_previous:
            return  # see `_joined`
        if not isinstance(effect, CompleteBranch | BranchFailed):
            found = _after(self.rt, effect, last.committed_ms)
            if isinstance(found, Opened):
                self.inside[index] = found
            elif found is not None:
                yield found
        elif isinstance(effect, CompleteBranch) or (isinstance(fan_out, Map) and fan_out.tolerates):
            self.done.append(index)
        else:
            self.failed.append(effect)

    def _joined(self, courses: list[list[Checkpoint]]) -> Iterator[Missing]:
        """Yield first commits of Tasks that have a result of the previous branch; note arrivals that wait for one."""
        from unum_runtime.features.waves.previous_results import begin_joined, result_of  # noqa: PLC0415 - few workflows

        workflow, before = self.rt.workflow, self._sequences(self.shard - 1)[-1] if self.shard else []
        for previous, course in zip([before, *courses], [*courses, []], strict=True):
            own, started = plan(workflow, course[-1]) if course else None, {step.state for step in course}
            if isinstance(own, JoinNeighbour) and (awaited := workflow.task(own.invoke.state).after_previous):
                found = result_of(previous, awaited)
                if found is None:
                    self.arrivals.append(own)
                else:
                    begins = begin_joined(own, found)
                    started.add(begins.state)
                    yield missing_after(self.rt, begins, max(course[-1].committed_ms, found.committed_ms))
            fed = (each for step in previous for each in fed_by(workflow, step))
            self.arrivals.extend(each for each in fed if each.waiting not in started)

    def _awaited_joins(self, courses: list[list[Checkpoint]]) -> Iterator[Invoke]:
        """Yield neighbour joins of branches that have not arrived there, although the branch before each has."""
        workflow, scope = self.rt.workflow, self.opened.scope
        inside = [task for task in workflow.tasks if task.meets_previous and task.scope == scope.state]
        if not inside:
            return
        joins = {workflow.committer(task.name): task.name for task in inside}
        # Nothing else repeats the arrival of a branch whose own join has committed, or waits for a job or an answer. A
        # redrive keeps such commits, and the branch after it would wait for ever.
        before = self._sequences(self.shard - 1)[-1] if self.shard else []
        for index, (previous, course) in enumerate(zip([before, *courses], courses, strict=False)):
            arrived = [(step.name, joins[step.state]) for step in previous if step.state in joins]
            ahead = plan(workflow, previous[-1]) if previous else None
            if isinstance(ahead, JoinNeighbour):
                arrived.append((ahead.invoke.name, ahead.invoke.state))
            present = {step.name.step for step in course}
            own = scope.branch(self.shard * SHARD_SIZE + index)
            for name, state in arrived:
                if name.step - 1 not in present:
                    yield Invoke(replace(name, frames=own), state, Neighbours())

    def _next(self, index: int) -> Iterator[Missing]:
        """Yield the first commit of branch `index` if it is due; under MaxConcurrency another branch comes first."""
        opening = self.opened.opening
        if self._fan_out.needs:
            yield from self._next_node(index)
            return
        before = index - opening.arrival.width
        if before < 0 or self._freed(before):
            since_ms = self.over.get(before, self.opened.since_ms)
            yield missing_after(self.rt, branch(opening, index), since_ms)

    def _next_node(self, node: int) -> Iterator[Missing]:
        """Yield the first commit of `node` of a region if all its sources, which come before it, have ended."""
        from unum_runtime.features.regions.region import region_of  # noqa: PLC0415 - few workflows have regions

        sources = region_of(self.rt.workflow, self.opened.scope.state).sources[node]
        effect = begin_effect(self.opened.opening, node, self.lasts.get)
        if effect is not None:
            yield missing_after(
                self.rt, effect, max((self.over[each] for each in sources), default=self.opened.since_ms)
            )

    def _freed(self, index: int) -> bool:
        """Return True if branch `index`, of this part or an earlier one, has freed its lane."""
        shard = index // SHARD_SIZE
        if shard != self.shard and shard not in self._read:
            self._read.add(shard)
            for other, course in enumerate(self._sequences(shard), shard * SHARD_SIZE):
                if course and frees_lane(self._fan_out, plan(self.rt.workflow, course[-1])):
                    self.over[other] = course[-1].committed_ms
        return index in self.over

    def _sequences(self, shard: int) -> list[list[Checkpoint]]:
        return branches_of_shard(self.rt.store, self.rt.workflow.name, self.opened.scope, shard)

    @property
    def _fan_out(self) -> FanOut:
        return self.opened.opening.arrival.state

    @property
    def _is_decided(self) -> bool:
        """True if enough branches have ended in this part alone to complete or fail the scope."""
        return len(self.done) >= self.opened.needed or len(self.failed) > self.opened.scope.size - self.opened.needed


def missing_after(rt: Runtime, effect: Invoke | JoinNeighbour | Commit, since_ms: int) -> Missing:
    """Return the pending commit that `effect`, planned from a commit at `since_ms`, leads to."""
    invoke = effect.invoke if isinstance(effect, JoinNeighbour) else effect
    found = _delivery(invoke.name, invoke.state, since_ms, effect)
    if isinstance(invoke, Commit):
        return found
    if invoke.due_ms is not None and invoke.due_ms > rt.clock.now_ms():
        return replace(found, waits_for=WaitsFor.TIME, until_ms=invoke.due_ms)
    return _after_start(rt, found, invoke)


def _after_start(rt: Runtime, missing: Missing, invoke: Invoke) -> Missing:
    """Return `missing`; if `invoke` was delivered and waits for a job or a token, return what continues it instead."""
    match rt.workflow.states[invoke.state]:
        case Task(pattern=Pattern.SYNC):
            return _with_poll(rt, missing, invoke)
        case Task(pattern=Pattern.CALLBACK, resource=str() as resource) as task if resource.startswith(SIGNAL):
            return _with_signal(rt, missing, invoke, task)
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
        return replace(missing, waits_for=WaitsFor.ANSWER, effect=_own_event(rt, tried))
    return replace(missing, effect=Resend(_resuming_event(rt, tried, tried.answered_by), tried.address))


def _with_signal(rt: Runtime, missing: Missing, invoke: Invoke, task: Task) -> Missing:
    """Return `missing` of a wait for a signal: waiting for it, or resuming from a stored result."""
    from unum_runtime.features.signals.listeners import is_unheard  # noqa: PLC0415 - few workflows wait for signals
    from unum_runtime.features.signals.signal_wait import last_wait, mailbox_of  # noqa: PLC0415

    try:  # the input of a wait is a value: no wait joins results by reference
        mailbox = mailbox_of(rt, task, invoke.name, cast("Value", invoke.input))
    except StatesError:  # the delivery of its event fails with it
        return missing
    found = last_wait(rt, mailbox, missing.name, missing.state)
    if found is None:
        return missing
    tried, slot = found
    if tried.answered_by is None and mailbox.key and is_unheard(rt, mailbox, slot):
        return replace(missing, effect=_own_event(rt, tried))
    if tried.answered_by in (None, By.NOBODY):
        return replace(missing, waits_for=WaitsFor.ANSWER, signal=mailbox, effect=_own_event(rt, tried))
    return replace(missing, effect=Resend(_resuming_event(rt, tried, tried.answered_by, slot), tried.address))


def _own_event(rt: Runtime, tried: Try) -> Resend:
    """Return the event that began the try, which runs user code again."""
    return Resend(replace(tried.envelope, sent_s=rt.sent_s()), tried.address)


def _resuming_event(rt: Runtime, tried: Try, by: By, slot: str | None = None) -> Envelope:
    """Return the event that resumes from a result submitted `by`; see `unum_runtime.protocol.waiting.callback`."""
    since = {"since": rt.clock.now_ms(), SLOT: slot} if slot else {"since": rt.clock.now_ms()}
    job = {By.RESPONDER: nudge_job(slot), By.CLOCK: since}.get(by)
    return replace(tried.envelope, job=job, sent_s=rt.sent_s())


def _delivery(name: Name, state: str, since_ms: int, effect: Effect | EndedBranches | Complete) -> Missing:
    return Missing(name=name, state=state, since_ms=since_ms, waits_for=WaitsFor.DELIVERY, effect=effect)


def is_overdue(rt: Runtime, missing: Missing, silent_ms: int) -> bool:
    """Return True if `missing` was expected at least `silent_ms` milliseconds ago.

    Args:
        rt: a runtime of the execution's version.
        missing: a pending commit.
        silent_ms: longer than a Task takes with all attempts, the intervals between them not counted.
    """
    expected_ms = _expected_ms(rt.workflow, missing)
    return expected_ms is not None and rt.clock.now_ms() - expected_ms >= silent_ms


def _expected_ms(workflow: Workflow, missing: Missing) -> int | None:
    """Return the due time of `missing`, in milliseconds since 1970; None without limit."""
    match missing.waits_for:
        case WaitsFor.TIME:
            return None
        case WaitsFor.DELIVERY:
            return missing.due_ms + _longest_wait_ms(workflow, missing.state)
        case WaitsFor.JOB:  # the last poll may have found a failure; a retry starts the job again after its interval
            return (missing.until_ms or missing.due_ms) + _longest_wait_ms(workflow, missing.state)
        case WaitsFor.ANSWER:  # a responder may take until the execution's deadline
            return deadline(workflow, missing.name.execution)


def _longest_wait_ms(workflow: Workflow, name: str) -> int:
    state = workflow.states[name]
    return longest_wait_ms(state.retry) if isinstance(state, Task) else 0
