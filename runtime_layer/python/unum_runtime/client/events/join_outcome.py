"""What the Task after a fan-out makes of its branches: the one outcome of a state that is never committed itself."""

from collections.abc import Mapping
from dataclasses import replace

from unum_runtime.asl.program import StateOutput
from unum_runtime.model.checkpoint import Checkpoint, Continuation, Failure, Phase, Success
from unum_runtime.model.ir import FanOut
from unum_runtime.protocol.planning.advance import join, too_many_failed
from unum_runtime.protocol.planning.plan import BranchFailed, CompleteBranch, OpenScope

_Ends = Mapping[int, tuple[Checkpoint, CompleteBranch | BranchFailed]]


def joined(opened: OpenScope, ends: _Ends) -> Checkpoint | None:
    """The commit that `opened` would have if no Task came after it for certain; None where it cannot be known.

    Args:
        opened: the fan-out.
        ends: of its branches by index: the last commit of each, and what follows from that.
    """
    state, value = opened.arrival.state, opened.arrival.value
    counted = _counted(state, ends)
    if state.join is None or not counted or len(counted) < (state.quorum or opened.scope.size):
        return None
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
    """The ends that count, in the order of the branches: where a quorum is enough, those that succeeded first."""
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
