"""Check the outcome of a fan-out against the outcomes of its branches."""

from unum_runtime.errors import InconsistentHistory, UnumError
from unum_runtime.model.checkpoint import Checkpoint, Collected, Phase, Success
from unum_runtime.protocol.delivery.commit import limit_outcome
from unum_runtime.protocol.delivery.join import join_results
from unum_runtime.protocol.history.timeline import Timeline
from unum_runtime.protocol.planning.plan import OpenScope
from unum_runtime.protocol.runtime import Runtime


def joined_wrongly(rt: Runtime, timeline: Timeline, opened: OpenScope, commit: Checkpoint) -> str | None:
    """Return why `commit` cannot follow from the fan-out `opened`, as its outcome or its joining Task's; None if it can.

    A failure is believed: the first failed branch decides, and others may have succeeded since. So is the outcome of a
    quorum, which did not wait for the branches that ended after it.
    """
    if opened.arrival.state.quorum is not None or commit.phase is not Phase.LEFT:
        return None
    is_joined_here = commit.state == opened.scope.state
    if is_joined_here and not (isinstance(commit.outcome, Success) and commit.continuation.caught is None):
        return None
    lasts = [timeline.last(opened.scope.branch(index)) for index in range(opened.scope.size)]
    if any(last is not None and isinstance(last.outcome, Collected) for last in lasts):
        return None
    try:
        expected = join_results(rt, opened.scope)
    except InconsistentHistory as missing:
        return f"is committed, but {missing}"
    except (UnumError, LookupError, TypeError, ValueError):
        return None  # found with the branch that cannot be planned
    outcome = limit_outcome(rt, expected.outcome, expected.continuation, limit=rt.workflow.payload_limit)
    if is_joined_here and outcome != commit.outcome:
        return "its result is not made of the results of its branches"
    return None
