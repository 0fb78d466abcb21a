"""Check fan-out results against results of branches."""

from unum_runtime.errors import InconsistentHistory, UnumError
from unum_runtime.model.checkpoint import Checkpoint, Collected, Phase, Success
from unum_runtime.protocol.delivery.commit import limit_outcome
from unum_runtime.protocol.delivery.join import join_results
from unum_runtime.protocol.history.timeline import Timeline
from unum_runtime.protocol.planning.plan import OpenScope
from unum_runtime.protocol.runtime import Runtime


def joined_wrongly(rt: Runtime, timeline: Timeline, opened: OpenScope, commit: Checkpoint) -> str | None:
    """Return a fault of `commit`, outcome of fan-out `opened` or joining Task; None without fault.

    A failure is believed: the first failed branch decides, and others may have succeeded since. So is the outcome of a
    quorum, which did not wait for the branches that ended after it.
    """
    is_own = commit.state == opened.scope.state
    is_success = isinstance(commit.outcome, Success) and commit.continuation.caught is None
    is_believed = (
        opened.arrival.state.quorum is not None or commit.phase is not Phase.LEFT or (is_own and not is_success)
    )
    lasts = (timeline.last(opened.scope.branch(index)) for index in range(opened.scope.size))
    if is_believed or any(last is not None and isinstance(last.outcome, Collected) for last in lasts):
        return None
    try:
        expected = join_results(rt, opened.scope)
    except InconsistentHistory as missing:
        return f"is committed, but {missing}"
    except (UnumError, LookupError, TypeError, ValueError):
        return None  # found with the branch that cannot be planned
    outcome = limit_outcome(rt, expected.outcome, expected.continuation, limit=rt.workflow.payload_limit)
    return "its result is not made of the results of its branches" if is_own and outcome != commit.outcome else None
