"""Invoked functions: Lambda functions without the runtime, which the service function invokes for their Tasks."""

from collections.abc import Mapping

from unum_runtime.model.states import Form, Json, Language, Task

INVOKE = "lambda:invoke"

CALLED = "arn:aws:lambda:::function:"
"""Prefix of an invoked function's key, in `Task.resource` and in ``FunctionName``; each deployment has the ARN."""


def calls_function(task: Task) -> bool:
    """Return True if the service function invokes a Lambda function for `task`."""
    return task.form is Form.SERVICE and (task.resource == INVOKE or str(task.resource).startswith("arn:"))


def called_key(task: Task) -> str | None:
    """Return the key of the function that `task` calls; None for ARNs, expressions and other Tasks."""
    named = named_function(task) if calls_function(task) else None
    return named.removeprefix(CALLED) if named is not None and named.startswith(CALLED) else None


def named_function(task: Task) -> str | None:
    """Return the name or ARN of the function that `task` calls; None for expressions."""
    named = task.resource if task.resource != INVOKE else _arguments(task).get("FunctionName")
    return named if isinstance(named, str) else None


def with_arn(parameters: Json, functions: Mapping[str, str]) -> Json:
    """Return `parameters` of ``lambda:invoke`` with the ARN of an invoked function from `functions`, by key."""
    named = parameters.get("FunctionName") if isinstance(parameters, dict) else None
    if not isinstance(named, str) or not named.startswith(CALLED):
        return parameters
    return {**parameters, "FunctionName": functions.get(named.removeprefix(CALLED), named)}


def arguments_field(task: Task) -> str:
    """Return the name of the field with the arguments of `task`."""
    return "Arguments" if task.language is Language.JSONATA else "Parameters"


def _arguments(task: Task) -> Mapping[str, Json]:
    arguments = task.data.get(arguments_field(task))
    inner = arguments.get("Parameters") if task.assumes_role and isinstance(arguments, dict) else arguments
    return inner if isinstance(inner, dict) else {}
