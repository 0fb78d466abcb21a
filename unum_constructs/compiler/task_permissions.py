"""The IAM permissions of a Task in the function that calls services, whatever it does there."""

from collections.abc import Iterator

from unum_constructs.compiler.dataset_permissions import dataset_statements
from unum_constructs.compiler.service_arns import ANY, literals
from unum_constructs.compiler.service_permissions import Statement, iam_statements
from unum_runtime.model.ir import DATA_SET_TASKS, Json, Language, Task


def arguments_of(task: Task) -> Json:
    """``Parameters`` or ``Arguments`` of `task`; None if it has none."""
    return task.data.get("Arguments" if task.language is Language.JSONATA else "Parameters")


def task_statements(task: Task, arguments: Json) -> Iterator[Statement]:
    """What the function must be allowed for `task`.

    A role that is assumed has the permissions for the call itself; whose they are, only its owner knows.

    Args:
        task: one that calls a service.
        arguments: its own, or those with other ways to name the same resources.
    """
    if task.resource in DATA_SET_TASKS:
        yield from dataset_statements(arguments)
    elif task.assumes_role:
        role = literals(arguments["Credentials"]).get("rolearn") or ANY
        yield Statement(("sts:AssumeRole",), (role,), is_wide=role == ANY)
    else:
        yield from iam_statements(str(task.resource), task.pattern, arguments)
