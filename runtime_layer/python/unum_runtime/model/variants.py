"""Variants of a definition: definitions that are derived from a deployed one, for executions of a special kind.

A variant has a digest of its own, which the events of its executions name, and is stored like any other definition. So
no event, no function and no step needs to know the kind of its execution.
"""

from functools import lru_cache

from unum_runtime.cold_start.records import replace
from unum_runtime.model.ir import Variant, Workflow
from unum_runtime.model.states import Form, Pattern, Task


@lru_cache(maxsize=16)
def forced(workflow: Workflow) -> Workflow:
    """Return the variant of `workflow` whose Tasks compute memoized results anew, and replace those that are stored."""
    return replace(workflow, variant=Variant.FORCED)


@lru_cache(maxsize=64)
def called(workflow: Workflow, state: str) -> Workflow:
    """Return the variant of `workflow` with the Task `state` alone, or without states if it has no such Task.

    Its input is the event of user code, and what user code returns is its output: all fields with expressions are left
    out, and so are catchers. Retriers, the time limit, guard, and the name of results stay.
    """
    task = workflow.states.get(state)
    states = {state: _alone(task)} if isinstance(task, Task) else {}
    alone = replace(workflow, start_at=state, states=states, variant=Variant.CALL, small_results=None)
    return replace(alone, keeps_input=None, counts_redrives=None, names_children=None, draws=None)


def _alone(task: Task) -> Task:
    limit = {name: value for name, value in task.data.items() if name == "TimeoutSeconds"}
    apart = replace(task, scope=None, next=None, catch=(), committed_by=None, meets_previous=False, after_previous=None)
    apart = replace(apart, left_out=None)
    return replace(apart, data=limit, form=Form.DIRECT)


def callable_tasks(workflow: Workflow) -> list[str]:
    """Return the names of the Tasks of `workflow` that callers can call."""
    return [task.name for task in workflow.tasks if why_not_called(workflow, task.name) is None]


def why_not_called(workflow: Workflow, state: object) -> str | None:
    """Return the reason against calls of the Task `state`; None if callable."""
    task = workflow.states.get(state) if isinstance(state, str) else None
    if not isinstance(task, Task):
        return f"state: expected a Task, one of {sorted(each.name for each in workflow.tasks)}, got {state!r}"
    if task.resource is not None or task.pattern is not Pattern.RESPONSE:
        return f"state {task.name!r}: expected a Task that runs a function of the workflow and ends with its response"
    if not task.memoize:
        return (
            f"state {task.name!r}: expected a Task with memoize, which says what identifies a result and for how long"
        )
    limit = task.data.get("TimeoutSeconds", 0)
    if "TimeoutSecondsPath" in task.data or not isinstance(limit, int):
        return f"state {task.name!r}: expected a time limit in seconds or none, got an expression"
    return None


def variant_like(other: Workflow, workflow: Workflow) -> Workflow:
    """Return the variant of `workflow` of the same kind as `other`."""
    if other.variant == Variant.CALL:
        return called(workflow, other.start_at)
    return forced(workflow) if other.variant == Variant.FORCED else workflow
