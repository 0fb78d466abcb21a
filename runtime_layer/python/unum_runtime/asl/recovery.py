"""Whether an error is retried or caught, and when (specification, Errors).

Names in ``ErrorEquals`` are compared as they are, but for four that stand for several.
"""

import math
from collections.abc import Sequence

from unum_runtime.asl.expression_context import ExpressionContext
from unum_runtime.cold_start.records import NamedTuple
from unum_runtime.model.ir import Catcher, Retrier

ALL = "States.ALL"
TASK_FAILED = "States.TaskFailed"
TIMEOUT = "States.Timeout"
HEARTBEAT_TIMEOUT = "States.HeartbeatTimeout"
RUNTIME = "States.Runtime"
DATA_LIMIT_EXCEEDED = "States.DataLimitExceeded"

LONGEST_INTERVAL_S = 31_622_400
"""The longest interval, in seconds: the limit of ``MaxDelaySeconds`` (developer guide, Handling errors)."""

UNKNOWN = "Lambda.Unknown"
KILLED = frozenset({"Sandbox.Timedout", "Runtime.ExitError", "Runtime.OutOfMemory", UNKNOWN})
"""How Lambda calls the ends of a sandbox in which it got no answer from the function."""

_TIMEOUTS = frozenset({TIMEOUT, HEARTBEAT_TIMEOUT})


class NextRetry(NamedTuple):
    """A retry.

    Attributes:
        counts: how often each retrier has retried, this time included.
        delay_ms: milliseconds to wait before it.
    """

    counts: tuple[int, ...]
    delay_ms: int


def matches(errors: Sequence[str], error: str | None) -> bool:
    """Whether `errors`, names in ``ErrorEquals``, are for `error`; None is an error without a name.

    Nothing is for ``States.Runtime``, which always fails the execution. The wildcards are not for
    ``States.DataLimitExceeded`` either, nor ``States.TaskFailed`` for timeouts; and ``States.Timeout`` is for the
    heartbeat's too (developer guide, Handling errors; specification, Appendix A). ``Lambda.Unknown``, as Step Functions
    calls functions that timed out or ran out of memory, is for all that Lambda tells apart there now (developer guide,
    Handle Lambda service exceptions).
    """
    if error == RUNTIME:
        return False
    if error in errors or (error in KILLED and UNKNOWN in errors):
        return True
    if error == DATA_LIMIT_EXCEEDED:
        return False
    if error in _TIMEOUTS:
        return ALL in errors or TIMEOUT in errors
    return ALL in errors or TASK_FAILED in errors


def next_retry(
    retriers: Sequence[Retrier], counts: Sequence[int], error: str | None, context: ExpressionContext
) -> NextRetry | None:
    """The retry after `error`, if there is one: the first retrier that is for the error decides alone.

    Args:
        retriers: of the state.
        counts: how often each has retried already; empty if none has.
        error: name of the error.
        context: surroundings of the visit, for the jitter's random numbers.
    """
    for position, retrier in enumerate(retriers):
        if matches(retrier.errors, error):
            before = tuple(counts) or (0,) * len(retriers)
            count = before[position]
            if count >= retrier.max_attempts:
                return None
            delay_ms = _delay_ms(retrier, count, context)
            return NextRetry((*before[:position], count + 1, *before[position + 1 :]), delay_ms)
    return None


def longest_wait_ms(retriers: Sequence[Retrier]) -> int:
    """For how long a state with `retriers` waits between its tries, all of them together and at most; milliseconds."""
    return sum(int(1000 * _longest_s(retrier)) for retrier in retriers)


def find_catcher(catchers: Sequence[Catcher], error: str | None) -> int | None:
    """Position of the first catcher that is for `error`."""
    return next((position for position, rule in enumerate(catchers) if matches(rule.errors, error)), None)


def _delay_ms(retrier: Retrier, count: int, context: ExpressionContext) -> int:
    delay_s = min(retrier.interval_s * _power(retrier.backoff_rate, count), _limit_s(retrier))
    return int(1000 * (context.random.uniform(0, delay_s) if retrier.jitter else delay_s))


def _limit_s(retrier: Retrier) -> int:
    return LONGEST_INTERVAL_S if retrier.max_delay_s is None else retrier.max_delay_s


def _longest_s(retrier: Retrier) -> float:
    """The sum of all intervals of `retrier`, or more where some of them are limited."""
    rate, attempts = retrier.backoff_rate, retrier.max_attempts
    growth = attempts if rate == 1 else (_power(rate, attempts) - 1) / (rate - 1)
    return min(retrier.interval_s * growth, attempts * _limit_s(retrier))


def _power(rate: float, count: int) -> float:
    try:
        return float(rate) ** count
    except OverflowError:
        return math.inf
