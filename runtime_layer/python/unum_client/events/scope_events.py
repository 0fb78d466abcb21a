"""Report events of one scope, and compute the output that its joining Task commits."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from unum_client.events.journal import Event, Journal, Known, data, failure_data
from unum_runtime.asl.program import StateOutput
from unum_runtime.model.checkpoint import Checkpoint, Continuation, Failure, Phase, Success
from unum_runtime.model.states import Choice, Fail, FanOut, Json, Map, Pass, State, Succeed
from unum_runtime.protocol.planning.advance import join, too_many_failed
from unum_runtime.protocol.planning.plan import BranchFailed, CompleteBranch, OpenScope

_Ends = Mapping[int, tuple[Checkpoint, CompleteBranch | BranchFailed]]


def joined(opened: OpenScope, ends: _Ends) -> Checkpoint | None:
    """Return the commit that `opened` would have without a joining Task; None if unknown.

    Args:
        opened: effect that opened the scope.
        ends: last commit of each ended branch and its effect, by index.
    """
    state, value = opened.arrival.state, opened.arrival.value
    counted = _counted(state, ends)
    if state.join is None or not counted or len(counted) < (state.quorum or opened.scope.size):
        return None
    # The latest end completed the scope; its commit time is that of the output.
    as_of, _ = max(counted, key=lambda end: end[0].committed_ms)
    evaluation = replace(
        opened.arrival.evaluation, entered_ms=as_of.committed_ms, seed=str(opened.scope.join), visited=0
    )
    results = [effect.outcome.value for _, effect in counted if isinstance(effect, CompleteBranch)]
    if too_many_failed(state, value, len(counted) - len(results), opened.scope.size, evaluation):
        return None
    left = join(state, value, results, evaluation)
    return None if isinstance(left, Failure) else _checkpoint(opened, left, as_of)


def _counted(state: FanOut, ends: _Ends) -> list[tuple[Checkpoint, CompleteBranch | BranchFailed]]:
    """Return the ends that count, by branch; with a quorum, only the earliest successes."""
    in_order = [ends[index] for index in sorted(ends)]
    if state.quorum is None:
        return in_order
    succeeded = [end for end in in_order if isinstance(end[1], CompleteBranch)]
    first = sorted(succeeded, key=lambda end: end[0].committed_ms)[: state.quorum]
    return [end for end in succeeded if end in first]


def _checkpoint(opened: OpenScope, left: StateOutput, as_of: Checkpoint) -> Checkpoint:
    return Checkpoint(
        name=opened.scope.join,
        state=opened.scope.state,
        phase=Phase.LEFT,
        outcome=Success(left.value),
        digest=as_of.digest,
        committed_ms=as_of.committed_ms,
        continuation=Continuation(variables=left.variables),
    )


@dataclass
class Account:
    """Reporter of one thread of control.

    Attributes:
        journal: journal of the execution.
        last: last reported event.
        index: branch index of each fan-out around it, outermost first, from 0.
    """

    journal: Journal
    last: Event
    index: tuple[int, ...] = ()

    def branch(self, index: int, before: Event) -> "Account":
        """Return a reporter for branch `index` of a fan-out, starting after event `before`."""
        return Account(self.journal, before, (*self.index, index))

    def add(
        self,
        event_type: str,
        details: Mapping[str, Json] | None = None,
        at_ms: int | None = None,
        *,
        retries: int = 0,
        approximate: bool = False,
    ) -> Event:
        """Report an event; by default at the last event's time."""
        self.last = self.journal.add(
            Event(
                type=event_type,
                at_ms=self.last.at_ms if at_ms is None else at_ms,
                previous=self.last,
                details=details,
                index=self.index,
                retries=retries,
                approximate=approximate,
            )
        )
        return self.last

    def enter(self, state: State, value: Known, at_ms: int | None = None) -> None:
        """Report entering `state` with `value`."""
        details = {"name": state.name, **data(input=value)}
        # No commit stores the time of a passed state; readers must not take the earlier commit's time for it.
        approximate = at_ms is None or _runs_in_passing(state)
        self.add(f"{type(state).__name__}StateEntered", details, at_ms, approximate=approximate)

    def exit(
        self, state: State, value: Known, at_ms: int | None = None, variables: Mapping[str, Json] | None = None
    ) -> None:
        """Report leaving `state` with `value`; `variables` are members for assigned variables."""
        details = {"name": state.name, **data(output=value), **(variables or {})}
        approximate = at_ms is None or _runs_in_passing(state)
        self.add(f"{type(state).__name__}StateExited", details, at_ms, approximate=approximate)

    def start(self, state: FanOut, size: int, at_ms: int | None = None, retries: int = 0) -> Event:
        """Report that all branches of `state` start."""
        details = {"length": size} if isinstance(state, Map) else None
        return self.add(f"{type(state).__name__}StateStarted", details, at_ms, retries=retries)

    def end(self, state: FanOut, at_ms: int | None = None, *, succeeded: bool) -> None:
        """Report that all branches of `state` have ended."""
        self.add(f"{type(state).__name__}State{'Succeeded' if succeeded else 'Failed'}", at_ms=at_ms)

    def iterate(self, state: FanOut, what: str, at_ms: int | None = None) -> Event:
        """Report event `what` of this branch, if `state` is a Map; Parallel branches have no such events."""
        if not isinstance(state, Map):
            return self.last
        return self.add(f"MapIteration{what}", {"name": state.name, "index": self.index[-1]}, at_ms)

    def fail_to_evaluate(self, state: State, failure: Failure, at_ms: int | None = None) -> None:
        """Report a failed expression of `state`."""
        self.add("EvaluationFailed", failure_data(failure) | {"state": state.name}, at_ms)


def _runs_in_passing(state: State) -> bool:
    """Return True if `state` runs right after the commit before it, without its own stored time."""
    return isinstance(state, Pass | Choice | Succeed | Fail) or (isinstance(state, FanOut) and state.pure)
