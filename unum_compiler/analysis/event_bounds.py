"""Upper bounds of events, derived from the definition: how long one waits, and how many wait at once for one Task."""

from math import prod

from unum_runtime.model.delays import LONGEST_IN_QUEUE_S, longest_delay_s
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Map, Task
from unum_runtime.protocol.planning.plan import DEFAULT_WIDTH_BUDGET


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


def most_queued(workflow: Workflow, task: Task) -> int:
    """Return the maximum number of simultaneous branches with `task`: the product of enclosing Map widths.

    A Map without a constant ``MaxConcurrency`` may have as many branches as the workflow's width budget allows; so may
    nested Maps together, because their sizes are hardly all at their limits.
    """
    budget = workflow.width_budget or DEFAULT_WIDTH_BUDGET
    return min(prod(_width(each, budget) for each in _maps_around(workflow, task)), budget)


def limiting_maps(workflow: Workflow, task: Task) -> list[str]:
    """Return the names of the Maps around `task`, innermost first."""
    return [each.name for each in _maps_around(workflow, task)]


def _maps_around(workflow: Workflow, task: Task) -> list[Map]:
    found, scope = list[Map](), task.scope
    while scope is not None:
        state = workflow.states[scope]
        if isinstance(state, Map):
            found.append(state)
        scope = state.scope
    return found


def _width(state: Map, budget: int) -> int:
    limit = state.data.get("MaxConcurrency") if state.has_limit else None
    # A path or an expression may give any number.
    return limit if isinstance(limit, int) and limit else budget
