"""How far an execution has come in its graph: every state's progress, from its committed steps.

Only commits are stored. The states between them run no user code and leave no trace, but planning is a pure function of
what is committed: planning again tells which of them were passed, and what has been invoked and not committed yet.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from unum_runtime.errors import ClientError
from unum_runtime.model.checkpoint import Checkpoint, Collected, Failure, Phase
from unum_runtime.model.ir import Fail, FanOut, Map, Task, Workflow
from unum_runtime.model.naming import Name, Scope
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
    branch,
    is_start,
    plan,
    started_after,
    started_at_once,
)


class Reach(StrEnum):
    """What became of a state, over all its invocations."""

    NOT_REACHED = "not reached"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    STOPPED = "stopped"
    """It was invoked, and the execution failed or was stopped before it committed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a state has come.

    Attributes:
        succeeded: how many invocations succeeded; for a state without user code, how often it was passed.
        failed: how many failed.
        running: how many are invoked and have not committed.
        duration_ms: how long the user code of all invocations ran.
        slowest_ms: how long that of the slowest ran.
        over: whether the execution has ended.
    """

    succeeded: int = 0
    failed: int = 0
    running: int = 0
    duration_ms: int = 0
    slowest_ms: int = 0
    over: bool = False

    @property
    def reach(self) -> Reach:
        """What became of the state; a failure counts more than the rest, then what still runs."""
        if self.failed:
            return Reach.FAILED
        if self.running:
            return Reach.STOPPED if self.over else Reach.RUNNING
        return Reach.SUCCEEDED if self.succeeded else Reach.NOT_REACHED


def progress(workflow: Workflow, checkpoints: Iterable[Checkpoint]) -> Mapping[str, Progress]:
    """The progress of every state of `workflow`.

    Args:
        workflow: the version that the execution runs on.
        checkpoints: its committed steps, its start record if a client wrote one, and its stop record.

    Raises:
        ClientError: the execution runs on another version.
    """
    survey, top_level = _Survey(workflow), []
    for checkpoint in checkpoints:
        if not checkpoint.name.frames:
            top_level.append(checkpoint)
        if not checkpoint.is_stop:
            survey.add(checkpoint)
    survey.count_open_ends()
    last = max(top_level, key=lambda checkpoint: checkpoint.name.step, default=None)
    over = last is not None and last.ending is not None
    return {name: replace(survey.found[name], over=over) for name in workflow.states}


@dataclass
class _Survey:
    """Collects commits, what they led to, and from both the progress of each state."""

    workflow: Workflow
    committed: dict[Name, Checkpoint] = field(default_factory=dict)
    opened: dict[Scope, OpenScope] = field(default_factory=dict)
    collected: list[Scope] = field(default_factory=list)
    completed: dict[Scope, set[int]] = field(default_factory=dict)
    invoked: dict[Name, str] = field(default_factory=dict)
    found: dict[str, Progress] = field(init=False)

    def __post_init__(self) -> None:
        self.found = dict.fromkeys(self.workflow.states, Progress())

    def add(self, checkpoint: Checkpoint) -> None:
        """Count a commit, and the states that were passed after it."""
        self._check_version(checkpoint)
        if checkpoint.state and checkpoint.state not in self.workflow.states:
            return  # a fork has taken it over from another version
        self.committed[checkpoint.name] = checkpoint
        if checkpoint.phase is Phase.LEFT and not is_start(checkpoint.name):
            self._count_commit(checkpoint)
        if isinstance(checkpoint.outcome, Collected):
            self._count_collected(checkpoint)
            return
        visits: Visits = []
        effect = plan(self.workflow, checkpoint, visits)
        is_inside = checkpoint.phase is Phase.ENTERED and not is_start(checkpoint.name)
        self._count_passed([*_names(visits)][is_inside:], effect)
        self._note(effect)

    def count_open_ends(self) -> None:
        """Count what was begun and has not committed; call it when all commits are there."""
        for scope, opened in self.opened.items():
            self._count_branches(scope, opened)
        for scope in self.opened:
            if not self._has_outcome(scope):
                self._count_fan_out(scope)
        for scope in self.collected:
            if not self._has_outcome(scope):
                self._change(scope.state, succeeded=1)
                self._count_surely(self.workflow.fan_out(scope.state).next)
        for name, state in self.invoked.items():
            self._count_uncommitted(name, state)

    def _has_outcome(self, scope: Scope) -> bool:
        """Whether a fan-out itself has committed, and not the Task that joins its results."""
        checkpoint = self.committed.get(scope.join)
        return checkpoint is not None and checkpoint.state == scope.state

    def _check_version(self, checkpoint: Checkpoint) -> None:
        if not is_start(checkpoint.name) and checkpoint.digest != self.workflow.digest:
            raise ClientError(
                f"{checkpoint.name}: ran on version {checkpoint.digest} of workflow {self.workflow.name!r}, "
                f"but this is version {self.workflow.digest}; give the definition that was deployed then"
            )

    def _note(self, effect: Effect) -> None:
        match effect:
            case Invoke(name, state) | JoinNeighbour(Invoke(name, state)):
                self.invoked[name] = state
            case OpenScope(scope):
                self.opened[scope] = effect
            case BranchFailed(execution, frames) if not self._goes_on(frames[-1].state):
                pass
            case CompleteBranch(execution, frames) | BranchFailed(execution, frames):
                self.completed.setdefault(Scope.around(execution, frames), set()).add(frames[-1].index)

    def _goes_on(self, fan_out: str) -> bool:
        """Whether other branches begin when one has failed."""
        state = self.workflow.fan_out(fan_out)
        return state.quorum is not None or (isinstance(state, Map) and state.tolerates)

    def _count_branches(self, scope: Scope, opened: OpenScope) -> None:
        begun = [started_after(opened, index) for index in self.completed.get(scope, ())]
        for indexes in (started_at_once(opened), *begun):
            for index in indexes:
                visits: Visits = []
                effect = branch(opened, index, visits)
                self._count_passed([*_names(visits)], effect)
                self._note(effect)

    def _count_fan_out(self, scope: Scope) -> None:
        """Count a fan-out that has no commit of its own, because its results are joined by the Task after it."""
        if len(self.completed.get(scope, ())) < scope.size:
            self._change(scope.state, running=1)
            return
        self._change(scope.state, succeeded=1)
        fan_out = self.workflow.fan_out(scope.state)
        if fan_out.join is not None:
            self.invoked[scope.join] = fan_out.join
            self._count_surely(fan_out.next)

    def _count_uncommitted(self, name: Name, state: str) -> None:
        """Count an invocation without a commit; of Tasks that are never committed, the commit for them tells."""
        committed = self.committed.get(name)
        if committed is None:
            self._change(state, running=1)
        elif committed.state == self.workflow.committer(state):
            while (following := self.workflow.committed_by(state)) is not None:
                self._change(state, succeeded=1)
                self._count_surely(self.workflow.states[state].next)
                state = following

    def _count_collected(self, checkpoint: Checkpoint) -> None:
        """Count what followed a commit whose value is gone, which it only is when all that follows has committed."""
        if checkpoint.opens is not None:
            self.collected.append(checkpoint.opens)
        elif checkpoint.phase is Phase.LEFT:
            self._count_surely(self.workflow.states[checkpoint.state].next)

    def _count_surely(self, name: str | None) -> None:
        """Count the states from `name` on as passed, as far as the definition alone tells."""
        while name is not None:
            state = self.workflow.states[name]
            if isinstance(state, Task) or (isinstance(state, FanOut) and not state.pure):
                return
            self._change(name, succeeded=1)
            name = state.next

    def _count_passed(self, entered: list[str], effect: Effect) -> None:
        """Count the states on the way to `effect`.

        Where that is a failure, the first Fail among them is where it happened, else the last of them.
        """
        target = _target(effect)
        fails = [name for name in entered if isinstance(self.workflow.states[name], Fail)]
        places = (fails or entered[-1:])[:1] if _fails(effect) else []
        failed = {name for place in places for name in self._with_scopes(place, _failed_branch_of(effect))}
        counted_later = {target}
        for name in reversed(entered):
            if name in counted_later:
                counted_later.clear()
            elif name in failed or name in fails:
                self._change(name, failed=1)
            else:
                self._change(name, succeeded=1)
            failed.discard(name)

    def _with_scopes(self, name: str | None, outermost: str | None) -> Iterator[str]:
        """The state called `name` and the fan-outs around it, up to `outermost`, which commits its own failure."""
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
    """Yield the names of all visited states; those in a fan-out's branches follow the fan-out."""
    for visit in visits:
        yield visit.state.name
        for branch_visits in visit.branches:
            yield from _names(branch_visits)


def _target(effect: Effect) -> str | None:
    """The state that `effect` leads to, which is counted when it commits."""
    match effect:
        case Invoke(_, state) | JoinNeighbour(Invoke(_, state)) | Commit(_, state):
            return state
        case OpenScope(scope):
            return scope.state
    return None


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
    """The fan-out of which `effect` says that a branch failed."""
    return effect.frames[-1].state if isinstance(effect, BranchFailed) else None
