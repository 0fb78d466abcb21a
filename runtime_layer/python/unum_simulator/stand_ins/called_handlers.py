"""Local calls of invoked functions: handlers answer in place of Lambda."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from unum_runtime.coroutines import awaiting
from unum_runtime.model.called_functions import INVOKE, called_key
from unum_runtime.model.states import Json, Pattern, Task


def handler_names(task: Task) -> tuple[str, ...]:
    """Return names for a handler of `task`: state name and handler key."""
    key = called_key(task)
    return (task.name, task.handler or task.function) if key is None else (task.name, key, task.function)


def run_handler(task: Task, functions: Mapping[str, Callable[[Json, Any], Any]], value: Json, context: Any) -> Any:
    """Return the result of `task` with the arguments `value`, by its handler in `functions`.

    Raises:
        KeyError: `functions` has none of its `handler_names`.
    """
    name = next((name for name in handler_names(task) if name in functions), task.handler or task.function)
    handler = awaiting(functions[name])
    return (
        _invoke(task, lambda event: handler(event, context), value)
        if name == called_key(task)
        else handler(value, context)
    )


def _invoke(task: Task, function: Callable[[Json], Any], value: Json) -> Any:
    """Return the result of `task`, which calls `function`. Source: AWS Lambda API Reference, "Invoke"."""
    parameters = value["Parameters"] if task.assumes_role else value
    if task.resource != INVOKE or task.pattern is Pattern.CALLBACK:  # the handler's result is also the responder's
        return function(parameters.get("Payload", {}) if task.resource == INVOKE else parameters)
    return _response(function, parameters)


def _response(function: Callable[[Json], Any], parameters: Mapping[str, Json]) -> Json:
    version, event = parameters.get("Qualifier", "$LATEST"), parameters.get("Payload", {})
    match parameters.get("InvocationType"):
        case "DryRun":
            return {"ExecutedVersion": version, "Payload": "", "StatusCode": 204}
        case "Event":
            with suppress(Exception):  # Lambda reports failures of asynchronous invocations to nobody who waits
                function(event)
            return {"Payload": "", "StatusCode": 202}
    log = {"LogResult": ""} if parameters.get("LogType") == "Tail" else {}
    return {"ExecutedVersion": version, "Payload": function(event), "StatusCode": 200, **log}
