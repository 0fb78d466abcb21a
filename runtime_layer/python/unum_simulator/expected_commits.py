"""Comparison of committed checkpoints with the reference run's expectations."""

from unum_runtime.asl.program import StateOutput
from unum_runtime.json_text import to_ascii, to_text
from unum_runtime.model.checkpoint import Checkpoint, Collected, Continuation, Failure, Outcome, Phase, Success
from unum_runtime.model.states import Json
from unum_runtime.protocol.planning.plan import MAX_OUTCOME_BYTES

LIMIT = "States.DataLimitExceeded"


def explains(expected: Outcome, found: Outcome, limit: int | None = None) -> bool:
    """Return True if `found` equals `expected`, or reports that `expected` exceeds `limit` or the store's maximum."""
    if isinstance(found, Failure) and found.error == LIMIT and isinstance(expected, Success):
        return len(to_text(expected.value).encode()) > min(limit or MAX_OUTCOME_BYTES, MAX_OUTCOME_BYTES)
    return same_json(_fields(expected), _fields(found))


def same_json(one: Json, other: Json) -> bool:
    """Return True if two values are identical JSON."""
    # Compare texts: in Python, True == 1 and 1 == 1.0, but their JSON differs.
    return to_ascii(one, is_sorted=True) == to_ascii(other, is_sorted=True)


def matches_commit(checkpoint: Checkpoint, phase: Phase, outcome: Outcome, continuation: Continuation) -> bool:
    """Return True if `checkpoint` has the expected phase, outcome and continuation."""
    found = created_outcome(checkpoint)
    if not explains(outcome, found):
        return False
    is_same_continuation = same_json(continuation.to_item(), checkpoint.continuation.to_item())
    # A size-limit failure replaces a success, and with it the continuation, so only equal outcome types compare
    # it.
    return checkpoint.phase is phase and (is_same_continuation or type(found) is not type(outcome))


def is_retried(checkpoint: Checkpoint) -> bool:
    """Return True if `checkpoint` schedules another attempt of its fan-out."""
    return checkpoint.phase is Phase.RETRIED and isinstance(checkpoint.outcome, Success)


def commit_fields(checkpoint: Checkpoint) -> tuple[Phase, Outcome, Continuation]:
    """Return the compared fields of `checkpoint`."""
    return checkpoint.phase, created_outcome(checkpoint), checkpoint.continuation


def outcome_of(left: StateOutput | Failure) -> Outcome:
    """Return the outcome with which a state is left."""
    return left if isinstance(left, Failure) else Success(left.value)


def continuation_of(left: StateOutput | Failure) -> Continuation:
    """Return the continuation with which a state is left."""
    return Continuation() if isinstance(left, Failure) else Continuation(variables=left.variables)


def created_outcome(checkpoint: Checkpoint) -> Outcome:
    """Return the outcome as it was created."""
    assert not isinstance(checkpoint.outcome, Collected)  # noqa: S101 - what is read here is what was created
    return checkpoint.outcome


def _fields(outcome: Outcome) -> Json:
    return [outcome.value] if isinstance(outcome, Success) else [outcome.error, outcome.cause]
