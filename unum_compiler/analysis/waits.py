"""Upper bounds of event delays, derived from the definition."""

from unum_runtime.aws.schedules import LONGEST_IN_QUEUE_S
from unum_runtime.model.delays import longest_delay_s
from unum_runtime.model.ir import Workflow


def waits_long(workflow: Workflow) -> bool:
    """Return True if some event may wait long enough to make a schedule cheaper than the queue."""
    return longest_wait_s(workflow) > LONGEST_IN_QUEUE_S


def longest_wait_s(workflow: Workflow) -> float:
    """Return the longest event delay of `workflow`, in seconds; infinite if execution data decide.

    Waiting ends with the execution. Jobs are not counted: they are polled once a minute.
    """
    longest = max((longest_delay_s(workflow, state) for state in workflow.states.values()), default=0)
    limit: object = workflow.timeout_s  # a placeholder, if only the deployment knows it
    return min(longest, limit) if isinstance(limit, int) else longest
