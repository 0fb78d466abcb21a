"""Delays of events, derived from the definition: after a Wait, before a retry, to poll a job, to look at a lease."""

import math
from collections.abc import Iterator

from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Guard, Pattern, Retrier, State, Task, Wait, Work


def delays_events(workflow: Workflow, state: State) -> bool:
    """Return True if events of `state` may have to wait."""
    if isinstance(state, Task) and (takes_leases(state) or can_time_out(workflow, state)):
        return True
    is_polled = isinstance(state, Task) and state.pattern is Pattern.SYNC
    return is_polled or isinstance(state, Wait) or (isinstance(state, Work) and bool(state.retry))


def longest_delay_s(workflow: Workflow, state: State) -> float:
    """Return the longest delay of an event of `state` in seconds; infinite if execution data decide.

    Jobs and leases are not counted: events for them wait for a minute at most.
    """
    return max(_delays(workflow, state), default=0)


def can_time_out(workflow: Workflow, task: Task) -> bool:
    """Return True if `task` waits for a callback with a time limit."""
    limited = any(name.startswith(("TimeoutSeconds", "HeartbeatSeconds")) for name in task.data)
    return task.pattern is Pattern.CALLBACK and (limited or workflow.timeout_s is not None)


def takes_leases(task: Task) -> bool:
    """Return True if deliveries of `task` may find a lease held."""
    return task.guard is Guard.LEASE or task.memoize


def _delays(workflow: Workflow, state: State) -> Iterator[float]:
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
    """Return a retrier's last interval, its longest; infinite if only the deployment knows its numbers."""
    numbers = (retrier.interval_s, retrier.max_attempts, retrier.backoff_rate, retrier.max_delay_s)
    if any(isinstance(each, str) for each in numbers):
        return math.inf
    if not retrier.max_attempts:
        return 0
    limit = math.inf if retrier.max_delay_s is None else retrier.max_delay_s
    try:
        return min(limit, retrier.interval_s * float(retrier.backoff_rate) ** (retrier.max_attempts - 1))
    except OverflowError:  # MaxAttempts may be 99,999,999
        return limit
