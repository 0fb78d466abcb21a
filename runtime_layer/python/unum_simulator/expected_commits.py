"""Expected checkpoints and recovery, independent of the protocol's code, and their comparison with commits."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from unum_runtime.asl.program import StateOutput
from unum_runtime.errors import StatesError
from unum_runtime.json_text import to_ascii, to_text
from unum_runtime.model.checkpoint import Checkpoint, Collected, Continuation, Failure, Outcome, Phase, Success
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import Execution
from unum_runtime.model.states import Json, Retrier, Work
from unum_runtime.protocol.planning import dataset_variables
from unum_runtime.protocol.planning.advance import failure_of
from unum_runtime.protocol.planning.evaluation import EvaluationContext, compiled
from unum_runtime.protocol.planning.plan import MAX_OUTCOME_BYTES

_WILDCARDS = frozenset(("States.ALL", "States.TaskFailed"))

LIMIT = "States.DataLimitExceeded"


@dataclass(frozen=True, slots=True)
class Due:
    """An expected retry.

    Attributes:
        retries: uses of each retrier, including this retry.
        least_ms: minimum delay, in milliseconds.
        most_ms: maximum delay, in milliseconds.
    """

    retries: tuple[int, ...]
    least_ms: int
    most_ms: int

    def nearest_ms(self, due_ms: int | None, failed_ms: tuple[int, int], deadline: int | None) -> int:
        """Return the valid retry time nearest to `due_ms`, for a failure within the interval `failed_ms`.

        The execution's `deadline` caps every wait.
        """
        least, most = failed_ms[0] + self.least_ms, failed_ms[1] + self.most_ms
        bounded_ms = min(max(due_ms or 0, least), most)
        return bounded_ms if deadline is None else min(bounded_ms, deadline)


@dataclass(frozen=True, slots=True)
class Failing:
    """A failed state.

    Attributes:
        work: the state.
        raw: the state's input before its data flow.
        evaluation: evaluation context at the state's entry.
        retries: earlier uses of its retriers.
        since_ms: a lower bound of the failure's time, in milliseconds since 1970.
    """

    work: Work
    raw: Json
    evaluation: EvaluationContext
    retries: tuple[int, ...]
    since_ms: int = 0

    def expected_commit(self, failure: Failure, checkpoint: Checkpoint) -> tuple[Phase, Outcome, Continuation]:
        """Return the phase, outcome and continuation that `failure` requires.

        Only a retry's time comes from `checkpoint`, within the allowed interval.
        """
        deadline = deadline_ms(self.evaluation.workflow, self.evaluation.execution)
        is_late = deadline is not None and checkpoint.committed_ms >= deadline
        due = None if is_late else due_retry(self.work, failure.error, self.retries)
        if due is None:
            return Phase.LEFT, *self._after_retries(failure, is_late=is_late)
        until_ms = due.nearest_ms(checkpoint.continuation.until_ms, (self.since_ms, checkpoint.committed_ms), deadline)
        continuation = Continuation(
            variables=self.evaluation.variables, caught=failure, retries=due.retries, until_ms=until_ms
        )
        return Phase.RETRIED, Success(self.raw), continuation

    def is_from_catcher(self, failure: Failure) -> bool:
        """Return True if `failure` can come from a catcher's own data flow; the caught error is unknown then."""
        positions = range(len(self.work.catch))
        return any(self._enter_catcher(position, Failure("", "")) == failure for position in positions)

    def _after_retries(self, failure: Failure, *, is_late: bool) -> tuple[Outcome, Continuation]:
        position = None if is_late else _catcher_for(self.work, failure.error)
        if position is None:
            return failure, Continuation()
        left = self._enter_catcher(position, failure)
        if isinstance(left, Failure):
            return left, Continuation()
        target = self.work.catch[position].next
        return Success(left.value), Continuation(variables=left.variables, goes_to=target, caught=failure)

    def _enter_catcher(self, position: int, failure: Failure) -> StateOutput | Failure:
        program = compiled(self.evaluation.workflow, self.work)
        try:
            visible = replace(self.evaluation, variables=dataset_variables.without(self.evaluation.variables))
            context = visible.context_of(self.work.name)
            return program.catch(position, self.raw, _error_output(failure), context)
        except StatesError as failed:
            return failure_of(self.work, failed)


def deadline_ms(workflow: Workflow, execution: Execution) -> int | None:
    """Return the deadline of `execution`, in milliseconds since 1970, or None without a timeout."""
    return None if workflow.timeout_s is None else execution.started_ms + workflow.timeout_s * 1000


def due_retry(work: Work, error: str | None, retries: Sequence[int]) -> Due | None:
    """Return the retry of `work` that its retriers require after `error`, or None."""
    used = tuple(retries) or (0,) * len(work.retry)
    for position, retrier in enumerate(work.retry):
        if _matches(retrier.errors, error):
            return _due(retrier, position, used) if used[position] < retrier.max_attempts else None
    return None


def _catcher_for(work: Work, error: str | None) -> int | None:
    """Return the position of the catcher of `work` for `error`."""
    return next((position for position, rule in enumerate(work.catch) if _matches(rule.errors, error)), None)


def _error_output(failure: Failure) -> dict[str, str | None]:
    """Return a catcher's input for `failure`."""
    if failure.error is None and failure.cause is None:
        return {"Error": None, "Cause": None}  # recorded by AWS
    named = (("Error", failure.error), ("Cause", failure.cause))
    return {name: text for name, text in named if text is not None}


def _due(retrier: Retrier, position: int, used: tuple[int, ...]) -> Due:
    # The first retry waits the interval; the rate multiplies each further wait. Source: Amazon States Language,
    # "Retrier", fields IntervalSeconds and BackoffRate.
    delay_s = retrier.interval_s * retrier.backoff_rate ** used[position]
    if retrier.max_delay_s is not None:
        delay_s = min(delay_s, retrier.max_delay_s)
    delay_ms = int(delay_s * 1000)
    more = tuple(count + (other == position) for other, count in enumerate(used))
    # Jitter FULL picks any delay from 0 to the computed one.
    return Due(more, 0 if retrier.jitter else delay_ms, delay_ms)


def _matches(errors: Sequence[str], error: str | None) -> bool:
    # Step Functions never retries or catches States.Runtime, not even by States.ALL. Source: Developer Guide,
    # "Handling errors in Step Functions workflows".
    if error == "States.Runtime":
        return False
    # States.TaskFailed matches every error except States.Timeout; a heartbeat timeout also matches States.Timeout.
    wildcards = {
        "States.Timeout": {"States.ALL"},
        "States.HeartbeatTimeout": {*_WILDCARDS, "States.Timeout"},
    }.get(error or "", _WILDCARDS)
    return not {error, *wildcards}.isdisjoint(errors)


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
