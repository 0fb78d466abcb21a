"""Retriers and catchers: matching of error names, and retry delays. Source: specification, "Errors".

Names in ``ErrorEquals`` match exactly, except four names that cover several errors.
"""

import math
from collections.abc import Sequence

from unum_runtime.asl.expression_context import ExpressionContext
from unum_runtime.cold_start.records import NamedTuple
from unum_runtime.model.states import Catcher, Retrier

ALL = "States.ALL"
TASK_FAILED = "States.TaskFailed"
TIMEOUT = "States.Timeout"
HEARTBEAT_TIMEOUT = "States.HeartbeatTimeout"
RUNTIME = "States.Runtime"

BUDGETS = frozenset({"Unum.WidthBudgetExceeded", "Unum.InvocationBudgetExceeded"})
"""Errors of executions beyond a budget: another attempt would exceed it again."""

FATAL = BUDGETS | {RUNTIME}
"""Errors that no retrier or catcher matches."""

LONGEST_INTERVAL_S = 31_622_400
"""Longest retry delay, in seconds: maximum of ``MaxDelaySeconds``. Source: Step Functions Developer Guide, "Handling
errors"."""

UNKNOWN = "Lambda.Unknown"
KILLED = frozenset({"Sandbox.Timedout", "Runtime.ExitError", "Runtime.OutOfMemory", UNKNOWN})
"""Lambda's error names for a sandbox that ended without a response from the function."""


class NextRetry(NamedTuple):
    """A scheduled retry.

    Attributes:
        counts: retries per retrier, this retry included.
        delay_ms: delay before the retry, in milliseconds.
    """

    counts: tuple[int, ...]
    delay_ms: int


def matches(errors: Sequence[str], error: str | None) -> bool:
    """Return True if the ``ErrorEquals`` names in `errors` match `error`; None is an error without a name.

    Sources: Step Functions Developer Guide, "Handling errors"; specification, Appendix A.
    """
    if error in FATAL:
        return False  # even if ErrorEquals names it
    # Step Functions reports ``Lambda.Unknown`` for several errors that Lambda itself distinguishes. Source: Step
    # Functions Developer Guide, "Handle Lambda service exceptions".
    if error in errors or (error in KILLED and UNKNOWN in errors):
        return True
    # Recorded by AWS also for States.DataLimitExceeded; the Developer Guide says that States.ALL cannot catch it.
    if ALL in errors:
        return True
    # States.TaskFailed matches every error except States.Timeout, so also a heartbeat's timeout, which States.Timeout
    # includes. Source: Developer Guide, "Error names".
    return (TASK_FAILED in errors and error != TIMEOUT) or (TIMEOUT in errors and error == HEARTBEAT_TIMEOUT)


def next_retry(
    retriers: Sequence[Retrier], counts: Sequence[int], error: str | None, context: ExpressionContext
) -> NextRetry | None:
    """Return the retry after `error`, or None; the first matching retrier decides alone.

    Args:
        retriers: retriers of the state.
        counts: earlier retries per retrier; empty before the first retry.
        error: name of the error.
        context: context of the visit, for the jitter's random numbers.
    """
    position = next((index for index, rule in enumerate(retriers) if matches(rule.errors, error)), None)
    before = tuple(counts) or (0,) * len(retriers)
    # A used-up retrier ends the retries even if a later retrier matches too.
    if position is None or before[position] >= retriers[position].max_attempts:
        return None
    delay_ms = _delay_ms(retriers[position], before[position], context)
    return NextRetry((*before[:position], before[position] + 1, *before[position + 1 :]), delay_ms)


def longest_wait_ms(retriers: Sequence[Retrier]) -> int:
    """Return the maximum sum of all retry delays of a state, in milliseconds."""
    return sum(int(1000 * _longest_s(retrier)) for retrier in retriers)


def find_catcher(catchers: Sequence[Catcher], error: str | None) -> int | None:
    """Return the position of the first catcher that matches `error`, or None."""
    return next((position for position, rule in enumerate(catchers) if matches(rule.errors, error)), None)


def _delay_ms(retrier: Retrier, count: int, context: ExpressionContext) -> int:
    delay_s = min(retrier.interval_s * _power(retrier.backoff_rate, count), _limit_s(retrier))
    return int(1000 * (context.random.uniform(0, delay_s) if retrier.jitter else delay_s))


def _limit_s(retrier: Retrier) -> int:
    return LONGEST_INTERVAL_S if retrier.max_delay_s is None else retrier.max_delay_s


def _longest_s(retrier: Retrier) -> float:
    """Return an upper bound of the sum of all delays of `retrier`, in seconds; exact without ``MaxDelaySeconds``."""
    rate, attempts = retrier.backoff_rate, retrier.max_attempts
    growth = attempts if rate == 1 else (_power(rate, attempts) - 1) / (rate - 1)
    return min(retrier.interval_s * growth, attempts * _limit_s(retrier))


def _power(rate: float, count: int) -> float:
    try:
        return float(rate) ** count
    except OverflowError:  # the delay limit caps it anyway
        return math.inf
