"""Functions with several handlers: the keys that Tasks name, and the handler of each Task."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias

from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from unum_constructs.cdk.lookup import arn_of, path_of
from unum_constructs.errors import ConstructError
from unum_constructs.function import UnumFunction
from unum_constructs.hosting.host import Host
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Task

Functions: TypeAlias = Mapping[str, lambda_.IFunction]


def functions_by_key(workflow: Construct, functions: Functions | UnumFunction | None) -> Functions:
    """Return `functions` by key; a function with several handlers has all their keys.

    Raises:
        ConstructError: a function without `handlers` is given without a key.
    """
    if not isinstance(functions, UnumFunction):
        return {} if functions is None else functions
    if not functions.handlers:
        raise ConstructError(
            workflow,
            f'functions: expected functions by key, as {{"Key": function}}, or one UnumFunction with `handlers`; got '
            f"{path_of(functions)}, which has one handler",
        )
    return functions.by_key


def check_keys(workflow: Construct, functions: Functions, called: Mapping[str, str]) -> None:
    """Raise if a function lacks a handler for its key, or is only callable.

    Args:
        workflow: the workflow.
        functions: functions by key.
        called: why Tasks have to invoke a function, by key.

    Raises:
        ConstructError: names the key and the function's handlers.
    """
    for key, function in functions.items():
        if not isinstance(function, UnumFunction) or not function.handlers:
            continue
        if key in called:
            expected = (
                "expected Python 3.11 or newer in the workflow's account, because the runtime selects the handler"
            )
            raise ConstructError(workflow, f"functions[{key!r}]: {path_of(function)}: {expected}; got {called[key]}")
        if key not in function.handlers:
            raise ConstructError(
                workflow,
                f"functions[{key!r}]: {path_of(function)} has the handlers {[*function.handlers]}; let the Task name "
                "one of them as its `Resource`, not the function",
            )


def keys_by_arn(functions: Functions) -> dict[str, str]:
    """Return the key of each function by its ARN; in place of a key, the path of a function that has several.

    No function has such a key, so a Task that names the function by its ARN does not compile.
    """
    return {arn_of(function): path_of(function) if _handlers(function) else key for key, function in functions.items()}


def with_handlers(workflow: Construct, compiled: Workflow, hosts: Mapping[str, Host]) -> Workflow:
    """Name the handler in each Task of a function that has several.

    Raises:
        ConstructError: a Task of IR names a handler that its function does not have.
    """
    states = {
        name: _with_handler(workflow, state, hosts[state.function])
        if isinstance(state, Task) and state.function in hosts
        else state
        for name, state in compiled.states.items()
    }
    return replace(compiled, states=states)


def _with_handler(workflow: Construct, task: Task, host: Host) -> Task:
    if task.handler is not None and task.handler not in host.handlers:
        raise ConstructError(
            workflow,
            f"states[{task.name!r}].handler: expected one of {[*host.handlers]}, the handlers of "
            f"{path_of(host.function)}; got {task.handler!r}",
        )
    return replace(task, handler=task.handler or task.function) if host.handlers else task


def _handlers(function: lambda_.IFunction) -> Mapping[str, str]:
    return function.handlers if isinstance(function, UnumFunction) else {}
