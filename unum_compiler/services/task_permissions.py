"""IAM permissions of Tasks in the function that calls services."""

from collections.abc import Collection, Iterator
from dataclasses import replace
from fnmatch import fnmatchcase

from unum_compiler.services.dataset_permissions import dataset_statements
from unum_compiler.services.service_arns import ANY, functions, literals
from unum_compiler.services.service_permissions import INVOKE_FUNCTION, Statement, iam_statements, runtime_statements
from unum_compiler.services.started_workflows import started_machine, starts_itself
from unum_runtime.aws.services.nested_executions import is_start_alias
from unum_runtime.model.naming import describe_alias, run_alias
from unum_runtime.model.naming import start_alias as start_alias_name
from unum_runtime.model.states import ACTIVITY, DATA_SET_TASKS, SIGNAL, Json, Pattern, Task

OWN_ALIAS = "Unum::StartAlias"
"""Placeholder, as ``${Unum::StartAlias}``, for the ARN of the workflow's own start alias."""

RUN, DESCRIBE = "::Run", "::Describe"
"""Suffixes of a start alias's placeholder, for the ARNs of the run alias and the describe alias of its workflow."""


def task_statements(
    task: Task, arguments: Json, aliases: Collection[str] = (), declared: Collection[str] | None = None
) -> Iterator[Statement]:
    """Yield permissions for `task`; activities need none, being queues of this library, and signals call nothing.

    An assumed role has the permissions of the call itself, in its owner's account.

    Args:
        task: Task that calls a service.
        arguments: arguments of the Task, possibly with other names of the same resources.
        aliases: placeholders for start aliases of workflows.
        declared: IAM actions that the author of the Task has allowed, and nothing else; None if nobody did.
    """
    if declared is not None:
        yield from _undeclared(task, arguments, declared)
    elif task.resource in DATA_SET_TASKS:
        yield from dataset_statements(arguments)
    elif str(task.resource).startswith((ACTIVITY, SIGNAL)):
        return
    elif task.assumes_role:
        role = literals(arguments["Credentials"]).get("rolearn") or ANY
        yield Statement(("sts:AssumeRole",), (role,), is_wide=role == ANY)
    elif str(task.resource).startswith("arn:"):
        yield Statement(INVOKE_FUNCTION, tuple(functions(task.resource, {})))
    elif alias := _start_alias(task, aliases):
        asked = (RUN, DESCRIBE) if task.pattern is Pattern.SYNC else (RUN,)
        yield Statement(INVOKE_FUNCTION, tuple(_other_alias(alias, kind) for kind in asked))
    else:
        yield from iam_statements(str(task.resource), task.pattern, arguments)


def _undeclared(task: Task, arguments: Json, declared: Collection[str]) -> Iterator[Statement]:
    """Yield permissions that this library needs for `task`, and no `declared` action includes."""
    patterns = [each.lower() for each in declared]  # IAM's names of actions are in any case
    for statement in runtime_statements(str(task.resource), task.pattern, arguments):
        left = [each for each in statement.actions if not any(fnmatchcase(each.lower(), one) for one in patterns)]
        if left:
            yield replace(statement, actions=tuple(left))


def _other_alias(start_alias: str, kind: str) -> str:
    """Return the ARN, or the placeholder, of the run alias or the describe alias of a workflow."""
    if start_alias.startswith("${"):
        return f"{start_alias[:-1]}{kind}}}"
    function, _, name = start_alias.rpartition(":")
    workflow = name.removeprefix(start_alias_name(""))
    if kind == RUN:
        return f"{function}:{run_alias(workflow)}"
    # The answer to the start says which function describes; only one has an alias of this name.
    return f"{function.rpartition(':')[0]}:*:{describe_alias(workflow)}"


def _start_alias(task: Task, aliases: Collection[str]) -> str | None:
    """Return the start alias that `task` invokes to start executions, if any."""
    if starts_itself(task):
        return f"${{{OWN_ALIAS}}}"
    arn = started_machine(task)
    return arn if is_start_alias(arn) or arn in aliases else None
