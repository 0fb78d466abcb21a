"""Compute outputs of fan-outs that a joining Task commits."""

from collections.abc import Mapping
from dataclasses import replace

from unum_runtime.asl.program import StateOutput
from unum_runtime.model.checkpoint import Checkpoint, Continuation, Failure, Phase, Success
from unum_runtime.model.states import FanOut
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
