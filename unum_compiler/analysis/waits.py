"""Upper bounds of event delays, derived from the definition."""

import math
from collections.abc import Iterator

from unum_compiler.analysis.edges import can_time_out
from unum_runtime.aws.schedules import LONGEST_IN_QUEUE_S
from unum_runtime.model.ir import Retrier, State, Task, Wait, Work, Workflow


def waits_long(workflow: Workflow) -> bool:
    """Return True if some event may wait long enough to make a schedule cheaper than the queue."""
    return longest_wait_s(workflow) > LONGEST_IN_QUEUE_S


def longest_wait_s(workflow: Workflow) -> float:
    """Return the longest event delay of `workflow`, in seconds; infinite if execution data decide.

    Waiting ends with the execution. Jobs are not counted: they are polled once a minute.
    """
    longest = max((wait_s for state in workflow.states.values() for wait_s in _waits(workflow, state)), default=0)
    return longest if workflow.timeout_s is None else min(longest, workflow.timeout_s)


def _waits(workflow: Workflow, state: State) -> Iterator[float]:
    """Yield delays of `state`, one per kind of event."""
    if isinstance(state, Wait):
        yield _seconds_in(state, "Seconds")
    if isinstance(state, Work):
        yield from map(_longest_interval_s, state.retry)
    if isinstance(state, Task) and can_time_out(workflow, state):
        yield min(_seconds_in(state, "TimeoutSeconds"), _seconds_in(state, "HeartbeatSeconds"))


def _seconds_in(state: State, field: str) -> float:
    """Return the seconds in `field`; infinite for a path, an expression, a timestamp or a missing field."""
    seconds = state.data.get(field)
    return seconds if isinstance(seconds, int | float) else math.inf


def _longest_interval_s(retrier: Retrier) -> float:
    """Return a retrier's last interval, its longest."""
    if not retrier.max_attempts:
        return 0
    limit = math.inf if retrier.max_delay_s is None else retrier.max_delay_s
    try:
        return min(limit, retrier.interval_s * float(retrier.backoff_rate) ** (retrier.max_attempts - 1))
    except OverflowError:  # MaxAttempts may be 99,999,999
        return limit
