"""Decide a failed Task's or fan-out's recovery: retry, catcher, or end of scope."""

from typing import TypeAlias

from unum_runtime.asl import recovery
from unum_runtime.cold_start.records import dataclass
from unum_runtime.model.checkpoint import Continuation, Failure, Outcome, Success
from unum_runtime.model.states import Json, Work
from unum_runtime.protocol.planning.advance import Failed, fall_back
from unum_runtime.protocol.planning.evaluation import EvaluationContext, deadline


@dataclass(frozen=True)
class Retry:
    """Another attempt of the state.

    Attributes:
        retries: uses of each of its retriers, this one included.
        due_ms: time of the attempt in milliseconds since 1970.
    """

    retries: tuple[int, ...]
    due_ms: int


@dataclass(frozen=True)
class NotRetried:
    """Outcome and continuation of a failed state without another attempt."""

    outcome: Outcome
    continuation: Continuation


Recovery: TypeAlias = Retry | NotRetried


def recover(
    state: Work, failure: Failure, value: Json, evaluation: EvaluationContext, *, retries: tuple[int, ...], now_ms: int
) -> Recovery:
    """Return the retry of `state` after `failure`, or its outcome with the catcher's continuation.

    Args:
        state: the state.
        failure: its failure.
        value: its input.
        evaluation: evaluation context of entering it.
        retries: previous uses of its retriers.
        now_ms: time of the failure in milliseconds since 1970.
    """
    again = recovery.next_retry(state.retry, retries, failure.error, evaluation.context_of(state.name))
    deadline_ms = deadline(evaluation.workflow, evaluation.execution)
    is_late = evaluation.is_late_at(now_ms)
    if again is not None and not is_late:
        # No attempt waits past the execution's deadline: the delivery at the deadline then ends the execution.
        due_ms = now_ms + again.delay_ms
        return Retry(again.counts, due_ms if deadline_ms is None else min(due_ms, deadline_ms))
    fallen = Failed(state.name, failure) if is_late else fall_back(state, value, failure, evaluation)
    if isinstance(fallen, Failed):
        return NotRetried(fallen.failure, Continuation())
    continuation = Continuation(variables=fallen.evaluation.variables, goes_to=fallen.target, caught=failure)
    return NotRetried(Success(fallen.value), continuation)
