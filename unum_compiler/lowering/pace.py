"""Default number of a Map's branches that run at once: wide fan-outs are paced, so that they fit into an account.

An account has 1,000 concurrent executions of all its functions, unless AWS raised that. Branches beyond them would wait
in Lambda's queue, which tries them again and again and gives each up after six hours. In lanes, they wait in the
workflow, and take no request until their turn.
Source: AWS Lambda Developer Guide, "Understanding Lambda function scaling".
"""

from dataclasses import replace

from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import AT_ONCE, Map, State


def with_pace(workflow: Workflow) -> Workflow:
    """Return `workflow` with a concurrency limit for every unlimited Map.

    ``"MaxConcurrency": 0`` says that there is none. A Map whose branches wait for each other runs them all at once.
    """
    neighbours = {task.scope for task in workflow.tasks if task.meets_previous or task.after_previous is not None}
    states = {
        name: _paced(state) if isinstance(state, Map) and name not in neighbours and _is_open(state) else state
        for name, state in workflow.states.items()
    }
    return replace(workflow, states=states) if states != workflow.states else workflow


def _is_open(state: Map) -> bool:
    """Return True if `state` runs Tasks and its definition leaves concurrency open."""
    return not state.pure and state.data.keys().isdisjoint(("MaxConcurrency", "MaxConcurrencyPath"))


def _paced(state: Map) -> State:
    return replace(state, has_limit=True, data={**state.data, "MaxConcurrency": AT_ONCE})
