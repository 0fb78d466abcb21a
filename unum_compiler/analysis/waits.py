"""For how long events of a workflow may have to wait, as far as the definition tells."""

import math
from collections.abc import Iterator

from unum_compiler.analysis.edges import is_looked_at
from unum_runtime.aws.schedules import LONGEST_IN_QUEUE_S
from unum_runtime.model.ir import Retrier, State, Task, Wait, Work, Workflow


def waits_long(workflow: Workflow) -> bool:
    """Whether some event of `workflow` may have to wait for so long that a schedule is worth it."""
    return longest_wait_s(workflow) > LONGEST_IN_QUEUE_S


def longest_wait_s(workflow: Workflow) -> float:
    """For how long an event of `workflow` may have to wait, in seconds; infinite where only an execution's data tell.

    All waiting ends with the execution. Jobs are not counted, for they are looked at once a minute.
    """
    longest = max((wait_s for state in workflow.states.values() for wait_s in _waits(workflow, state)), default=0)
    return longest if workflow.timeout_s is None else min(longest, workflow.timeout_s)


def _waits(workflow: Workflow, state: State) -> Iterator[float]:
    """How long each kind of event of `state` may have to wait."""
    if isinstance(state, Wait):
        yield _told(state, "Seconds")
    if isinstance(state, Work):
        yield from map(_longest_interval_s, state.retry)
    if isinstance(state, Task) and is_looked_at(workflow, state):
        yield min(_told(state, "TimeoutSeconds"), _told(state, "HeartbeatSeconds"))


def _told(state: State, field: str) -> float:
    """How many seconds a field says; infinite where a path does, an expression, a timestamp, or nothing."""
    seconds = state.data.get(field)
    return seconds if isinstance(seconds, int | float) else math.inf


def _longest_interval_s(retrier: Retrier) -> float:
    """The last interval of a retrier, which is the longest."""
    if not retrier.max_attempts:
        return 0
    limit = math.inf if retrier.max_delay_s is None else retrier.max_delay_s
    try:
        return min(limit, retrier.interval_s * float(retrier.backoff_rate) ** (retrier.max_attempts - 1))
    except OverflowError:
        return limit
