"""Delays of events, derived from the definition: after a Wait, before a retry, to poll a job, to look at a lease."""

import math
from collections.abc import Iterator

from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Guard, Pattern, Retrier, State, Task, Wait, Work

MAX_DELAY_S = 900
"""Maximum delay of a message in the timer queue. Source: Amazon SQS API Reference, SendMessage, DelaySeconds."""

LONG_S = 1_800
"""Shortest remaining wait, in seconds, at which a schedule is cheaper than the queue.

One turn in the queue lasts 15 minutes and costs $1.61 per million events: three SQS requests, one Lambda request, and
the forwarder's run time. A schedule costs $1.00 plus two turns, because its event arrives early and waits again: $4.23,
more than two turns and less than three.
"""

LONGEST_IN_QUEUE_S = MAX_DELAY_S + LONG_S
"""Longest wait, in seconds from the send, that the queue covers alone: one turn precedes any schedule."""

EARLY_S = 300
"""Seconds between a schedule's time and the event's due time: Scheduler's precision of one minute, plus its retries.
A turn in the queue costs the same for any delay up to 15 minutes."""


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
