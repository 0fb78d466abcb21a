"""Progress of every state, counted from an execution's committed steps.

Only commits are stored. States between commits run no user code and leave no trace. Planning again from each commit,
which is a pure function, shows the states passed and the invocations without a commit.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from unum_runtime.model.checkpoint import Checkpoint, Collected, Failure, Phase
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import START_STEP, Name, Scope
from unum_runtime.model.states import Fail, FanOut, Task, Wait
from unum_runtime.protocol.history.timeline import (
    Following,
    Timeline,
    entered_state,
    following,
    frees_lane,
    redrives,
    started_branches,
)
from unum_runtime.protocol.planning.advance import Visits
from unum_runtime.protocol.planning.plan import (
    BranchFailed,
    Commit,
    CompleteBranch,
    Effect,
    Finish,
    Invoke,
    JoinNeighbour,
    OpenScope,
    is_start,
)


class Reach(StrEnum):
    """Summary of a state's invocations."""

    NOT_REACHED = "not reached"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    STOPPED = "stopped"
    """Invoked, but the execution ended before its commit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Counts of one state.

    Attributes:
        succeeded: successful invocations; without user code, passes of the state.
        failed: failed invocations.
        running: invocations without a commit.
        duration_ms: total duration of user code.
        slowest_ms: duration of user code in the slowest invocation.
        over: True after the execution's end.
        followed_by: names of the states that control went on to; None among them for the end of the scope.
    """

    succeeded: int = 0
    failed: int = 0
    running: int = 0
    duration_ms: int = 0
    slowest_ms: int = 0
    over: bool = False
    followed_by: frozenset[str | None] = frozenset()

    @property
    def reach(self) -> Reach:
        """Summary of the state: failures outrank running invocations, which outrank successes."""
        if self.failed:
            return Reach.FAILED
        if self.running:
            return Reach.STOPPED if self.over else Reach.RUNNING
        return Reach.SUCCEEDED if self.succeeded else Reach.NOT_REACHED


def progress(
    workflow: Workflow,
    checkpoints: Iterable[Checkpoint],
    earlier: Iterable[Workflow] = (),
    *,
    now_ms: int | None = None,
) -> Mapping[str, Progress]:
    """Return progress of every state in `workflow`.

    Args:
        workflow: the last version that the execution runs on.
        checkpoints: the execution's steps, its start record if a client wrote one, and its stop records.
        earlier: other versions that it has run on; their states that `workflow` lacks are left out.
        now_ms: present time, in milliseconds since 1970, which tells whether a Wait before a Task is over; None to
            count such Waits of a running execution as passed.

    Raises:
        ClientError: the execution has run on a version that is not given.
    """
    timeline = Timeline(workflow, checkpoints, earlier)
    is_over = timeline.end is not None
    until_ms = now_ms if timeline.end is None else timeline.end.committed_ms
    # The steps of a scope are of one version, so each version counts its own ones.
    counts = [_Count(timeline, version, until_ms).count() for version in timeline.versions]
    return {
        name: replace(_sum(count[name] for count in counts if name in count), over=is_over) for name in workflow.states
    }


def _sum(counts: Iterable[Progress]) -> Progress:
    total = Progress()
    for each in counts:
        total = Progress(
            succeeded=total.succeeded + each.succeeded,
            failed=total.failed + each.failed,
            running=total.running + each.running,
            duration_ms=total.duration_ms + each.duration_ms,
            slowest_ms=max(total.slowest_ms, each.slowest_ms),
            followed_by=total.followed_by | each.followed_by,
        )
    return total


class _Count:
    """Counts per state of one version, from its commits and their effects."""

    def __init__(self, timeline: Timeline, version: Workflow, now_ms: int | None) -> None:
        self.timeline, self.workflow, self.now_ms = timeline, version, now_ms
        self.found = dict.fromkeys(self.workflow.states, Progress())
        self.opened: dict[Scope, OpenScope] = {}
        self.collected: list[Scope] = []
        self.freed: dict[Scope, set[int]] = {}
        self.invoked: dict[Name, str] = {}
        self.redriven = {ended.name.step: redriven for ended, redriven in redrives(timeline.top_level)}

    def count(self) -> Mapping[str, Progress]:
        """Return progress per state, by name."""
        for checkpoint in self.timeline.committed.values():
            # A fork of an earlier release may have copied steps of another version, whose states this one lacks.
            is_known = not checkpoint.state or checkpoint.state in self.workflow.states
            if is_known and self.timeline.version_of(checkpoint) is self.workflow:
                self._count_step(checkpoint)
        self._count_ways()
        # Branches are counted last: the ends of all others decide which of them have begun.
        for scope, opened in self.opened.items():
            begins = (
                self.timeline.branch_begin(opened, each) for each in started_branches(opened, self.freed.get(scope, ()))
            )
            for led in map(self._as_far_as_a_wait, filter(None, begins)):
                self._count_passed(led)
                self._follow(led)
        for scope in self.opened:
            if self.timeline.outcome_of(scope) is None:
                self._count_fan_out(scope)
        for scope in self.collected:
            if self.timeline.outcome_of(scope) is None:
                self._change(scope.state, succeeded=1)
                self._count_surely(scope.state)
        for name, state in self.invoked.items():
            self._count_uncommitted(name, state)
        return self.found

    def _count_ways(self) -> None:
        """Count the states that redrives passed on the way to their first steps on this version."""
        for _, redriven in redrives(self.timeline.top_level):
            way = self.timeline.way_to(redriven) if self.timeline.version_of(redriven) is self.workflow else None
            if way is not None:
                self._count_visits(way)
                self._follow(way)

    def _count_step(self, checkpoint: Checkpoint) -> None:
        """Count a commit, plus states passed after it."""
        has_left = checkpoint.phase is Phase.LEFT and not is_start(checkpoint.name)
        if has_left:
            self._count_commit(checkpoint)
        if isinstance(checkpoint.outcome, Collected):
            self._count_collected(checkpoint)
        else:
            led = self._as_far_as_a_wait(following(self.workflow, checkpoint))
            self._count_passed(led)
            self._follow(led, checkpoint.state if has_left else None)

    def _as_far_as_a_wait(self, led: Following) -> Following:
        """Return `led` up to the Wait that delays its Task, if the Wait is not over; otherwise `led`."""
        match led.effect:
            case (Invoke(due_ms=int(due_ms)) as invoke) | JoinNeighbour(Invoke(due_ms=int(due_ms)) as invoke):
                is_over = invoke.name in self.timeline.committed or self._is_over(invoke.name, due_ms)
            case _:
                return led
        waits = [place for place, visit in enumerate(led.visits) if isinstance(visit.state, Wait)]
        if is_over or not waits:  # without a Wait, a retry is due later
            return led
        *before, wait = led.visits[: waits[-1] + 1]
        # Planning passes the Wait, and delays the event of the Task. To readers, control is still at the Wait.
        stays = replace(wait, end=led.visits[-1].end)
        return Following(replace(invoke, state=wait.state.name), [*before, stays], led.reenters)

    def _is_over(self, name: Name, due_ms: int) -> bool:
        """Return True if no Wait until `due_ms` holds the invocation `name` any more, which has no commit."""
        if not self._is_replaced(name):
            return self.now_ms is None or due_ms <= self.now_ms
        # A redrive by the same definition has left the Wait for its Task. By another one it has planned the Wait anew.
        return not name.frames and self.timeline.way_to(self.redriven[name.step]) is None

    def _is_replaced(self, name: Name) -> bool:
        """Return True if the execution ended before the commit `name`, and a redrive began it under another name."""
        return _step_of_top_level(name) <= max(self.redriven, default=START_STEP)

    def _note(self, effect: Effect) -> None:
        match self.timeline.joined(effect):
            case Invoke(name, state) | JoinNeighbour(Invoke(name, state)):
                self.invoked[name] = state
            case OpenScope(scope) as opened:
                self.opened[scope] = opened
            case CompleteBranch(execution, frames) | BranchFailed(execution, frames):
                if frees_lane(self.workflow.fan_out(frames[-1].state), effect):
                    self.freed.setdefault(Scope.around(execution, frames), set()).add(frames[-1].index)

    def _count_fan_out(self, scope: Scope) -> None:
        """Count a fan-out without its own commit: running, or joined by a Task."""
        if len(self.freed.get(scope, ())) < scope.size:
            self._change(scope.state, running=not self._is_replaced(scope.join))
            return
        self._change(scope.state, succeeded=1)
        fan_out = self.workflow.fan_out(scope.state)
        if fan_out.join is not None:
            self.invoked[scope.join] = fan_out.join
            self._count_surely(scope.state)

    def _count_uncommitted(self, name: Name, state: str) -> None:
        """Count an invocation without a commit; a later Task's commit proves Tasks that never commit."""
        committed = self.timeline.committed.get(name)
        if committed is None:
            self._change(state, running=not self._is_replaced(name))
        elif committed.state == self.workflow.committer(state):
            while (following := self.workflow.committed_by(state)) is not None:
                self._change(state, succeeded=1)
                self._count_surely(state)
                state = following

    def _count_collected(self, checkpoint: Checkpoint) -> None:
        """Count states after a collected commit; collection proves that later steps committed."""
        if checkpoint.opens is not None:
            self.collected.append(checkpoint.opens)
        elif checkpoint.phase is Phase.LEFT:
            self._count_surely(checkpoint.state)

    def _count_surely(self, left: str) -> None:
        """Count states after `left` that the definition alone proves as passed."""
        while self._go_on(left, following := self.workflow.states[left].next) and following is not None:
            state = self.workflow.states[following]
            if isinstance(state, Task) or (isinstance(state, FanOut) and not state.pure):
                return
            self._change(following, succeeded=1)
            left = following

    def _follow(self, led: Following, left: str | None = None) -> None:
        """Note the transitions from `left`, the state of the commit, and between the visited states."""
        if left is not None and led.visits:
            self._go_on(left, led.visits[0].state.name)
        elif left is not None and not _fails(led.effect):
            self._go_on(left, entered_state(led.effect))
        self._follow_visits(led.visits)

    def _follow_visits(self, visits: Visits) -> None:
        for visit in visits:
            if visit.exit is not None:
                self._go_on(visit.state.name, visit.exit.target)
            for branch in visit.branches:
                self._follow_visits(branch)

    def _go_on(self, left: str, following: str | None) -> bool:
        now = self.found[left]
        self.found[left] = replace(now, followed_by=now.followed_by | {following})
        return True

    def _count_passed(self, led: Following) -> None:
        """Count states visited before an effect.

        If the effect is a failure, the first Fail failed, or without one the last visited state.
        """
        self._note(led.effect)
        self._count_visits(led)

    def _count_visits(self, led: Following) -> None:
        effect, entered = led.effect, [*_names(led.visits)][led.reenters :]
        fails = [name for name in entered if isinstance(self.workflow.states[name], Fail)]
        places = (fails or entered[-1:])[:1] if _fails(effect) else []
        failed = {name for place in places for name in self._with_scopes(place, _failed_branch_of(effect))}
        # The last visit of the target is no pass: control stops there, and its commit counts it.
        counted_later = {entered_state(effect)}
        for name in reversed(entered):
            if name in counted_later:
                counted_later.clear()
            else:
                self._change(name, **{"failed" if name in failed or name in fails else "succeeded": 1})
            failed.discard(name)

    def _with_scopes(self, name: str | None, outermost: str | None) -> Iterator[str]:
        """Yield `name`, then each outer fan-out, up to `outermost`, which commits its own failure."""
        while name is not None and name != outermost:
            yield name
            name = self.workflow.states[name].scope

    def _count_commit(self, checkpoint: Checkpoint) -> None:
        failed = isinstance(checkpoint.outcome, Failure) or checkpoint.continuation.caught is not None
        duration_ms = checkpoint.duration_ms
        self._change(checkpoint.state, succeeded=not failed, failed=failed, duration_ms=duration_ms)
        now = self.found[checkpoint.state]
        self.found[checkpoint.state] = replace(now, slowest_ms=max(now.slowest_ms, duration_ms))

    def _change(self, state: str, **more: int) -> None:
        now = self.found[state]
        self.found[state] = replace(now, **{name: getattr(now, name) + by for name, by in more.items()})


def _names(visits: Visits) -> Iterator[str]:
    """Yield names of all visited states; a fan-out precedes states in its branches."""
    for visit in visits:
        yield visit.state.name
        for branch_visits in visit.branches:
            yield from _names(branch_visits)


def _step_of_top_level(name: Name) -> int:
    """Return the step of the top level that `name` is, or that is the end of the outermost fan-out around it."""
    return name.frames[0].iteration if name.frames else name.step


def _fails(effect: Effect) -> bool:
    match effect:
        case Commit(outcome=outcome):
            return isinstance(outcome, Failure)
        case BranchFailed():
            return True
        case Finish(ending=ending):
            return isinstance(ending.outcome, Failure)
    return False


def _failed_branch_of(effect: Effect) -> str | None:
    """Return the fan-out whose branch failed by `effect`; None otherwise."""
    return effect.frames[-1].state if isinstance(effect, BranchFailed) else None
