"""What a failure of a Task or of a fan-out leads to: another try, a catcher, or the end of its scope."""

from typing import TypeAlias

from unum_runtime.asl import recovery
from unum_runtime.cold_start.records import dataclass
from unum_runtime.model.checkpoint import Continuation, Failure, Outcome, Success
from unum_runtime.model.ir import Json, Work
from unum_runtime.protocol.planning.advance import Failed, fall_back
from unum_runtime.protocol.planning.evaluation import EvaluationContext, deadline


@dataclass(frozen=True)
class Retry:
    """The state is tried again.

    Attributes:
        retries: how often each of its retriers was used, this one included.
        due_ms: when, in milliseconds since 1970.
    """

    retries: tuple[int, ...]
    due_ms: int


@dataclass(frozen=True)
class NotRetried:
    """A state that is not retried: its `outcome`, and the `continuation` after it."""

    outcome: Outcome
    continuation: Continuation


Recovery: TypeAlias = Retry | NotRetried


def recover(
    state: Work, failure: Failure, value: Json, evaluation: EvaluationContext, *, retries: tuple[int, ...], now_ms: int
) -> Recovery:
    """What `failure` of `state` leads to.

    Args:
        state: the state.
        failure: what it came to.
        value: what it was entered with.
        evaluation: when it was entered.
        retries: how often its retriers were used.
        now_ms: when it failed, in milliseconds since 1970.
    """
    again = recovery.next_retry(state.retry, retries, failure.error, evaluation.context_of(state.name, retries=retries))
    deadline_ms = deadline(evaluation.workflow, evaluation.execution)
    is_late = evaluation.is_late_at(now_ms)
    if again is not None and not is_late:
        due_ms = now_ms + again.delay_ms
        return Retry(again.counts, due_ms if deadline_ms is None else min(due_ms, deadline_ms))
    fallen = Failed(state.name, failure) if is_late else fall_back(state, value, failure, evaluation)
    if isinstance(fallen, Failed):
        return NotRetried(fallen.failure, Continuation())
    continuation = Continuation(variables=fallen.evaluation.variables, goes_to=fallen.target, caught=failure)
    return NotRetried(Success(fallen.value), continuation)
