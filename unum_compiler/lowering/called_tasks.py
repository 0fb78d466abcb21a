"""Tasks of invoked functions: those that cannot have the runtime, or that a Task calls with options."""

from collections.abc import Collection
from dataclasses import replace

from unum_compiler.parsing.task_resources import SERVICES
from unum_runtime.model.called_functions import CALLED, INVOKE, arguments_field, called_key
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Form, State, Task


def with_calls(workflow: Workflow, called: Collection[str]) -> Workflow:
    """Return `workflow` with calls in place of Tasks that the functions `called` would host.

    A function that one Task calls with options, such as a qualifier, is called by all Tasks: a host's environment could
    refer to the service function, whose environment refers to the functions that it calls.
    """
    keys = {*called, *called_keys(workflow)}
    return replace(workflow, states={name: _with_call(state, keys) for name, state in workflow.states.items()})


def called_keys(workflow: Workflow) -> frozenset[str]:
    """Return the keys of the functions that Tasks of `workflow` call."""
    return frozenset(key for task in workflow.tasks if (key := called_key(task)) is not None)


def _with_call(state: State, keys: Collection[str]) -> State:
    if not isinstance(state, Task) or state.form is Form.SERVICE or state.function not in keys:
        return state
    name = CALLED + state.function
    call = replace(state, function=SERVICES, form=Form.SERVICE, resource=name)
    if state.form is Form.DIRECT:
        return call
    field = arguments_field(state)
    return replace(call, resource=INVOKE, data={**state.data, field: {"FunctionName": name, **state.data[field]}})
