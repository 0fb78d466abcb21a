"""IAM permissions of Tasks in the service function.

Source: AWS Step Functions Developer Guide, "IAM policies for using Distributed Map states".
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase

from unum_compiler.services.service_arns import ANY, functions, literals, resources
from unum_compiler.services.service_permissions import (
    INVOKE_FUNCTION,
    Condition,
    Statement,
    iam_statements,
    runtime_statements,
)
from unum_compiler.services.started_workflows import started_machine, starts_itself
from unum_runtime.features.data_sets import config
from unum_runtime.features.services.nested_executions import is_start_alias
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
        task: Task that requests a service.
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


_GET, _VERSION, _LIST, _PUT = "s3:GetObject", "s3:GetObjectVersion", "s3:ListBucket", "s3:PutObject"


def dataset_statements(arguments: Mapping[str, Json]) -> Iterator[Statement]:
    """Yield IAM permissions for a data set Task.

    Values that are known only at run time make a statement wide. So does a manifest of Athena, whose files may be in
    any bucket. Files of an inventory are in the bucket of the manifest.

    Args:
        arguments: ``Parameters`` or ``Arguments`` of the Task in the IR.
    """
    action = str(arguments.get("Resource", "")).rpartition(":")[2]
    parameters, settings = arguments.get("Parameters"), arguments.get("ReaderConfig", {})
    match action:
        case "getObject":
            read = (_GET, _VERSION) if "versionid" in literals(parameters) else (_GET,)
            yield _statement(read, *resources("s3", "GetObject", parameters))
            yield from _listed_in_manifest(parameters, settings)
        case "listObjectsV2":
            # s3:ListBucket is an action on the bucket, not on its objects.
            prefix, bucket = literals(parameters).get("prefix"), _bucket(parameters)
            condition = Condition("StringEquals", "s3:prefix", (prefix,)) if prefix else None
            yield Statement((_LIST,), (bucket,), is_wide=bucket == ANY, condition=condition)
            if settings.get("Transformation") == config.LOAD:
                yield _statement((_GET,), _within(parameters, separator=""))
        case "putObject":
            yield _statement((_PUT,), _within(parameters, separator="/"))


def _listed_in_manifest(parameters: Json, settings: Mapping[str, Json]) -> Iterator[Statement]:
    if settings.get("ManifestType") == config.ATHENA:
        yield _statement((_GET,), ANY)
    elif settings.get("ManifestType") == config.INVENTORY or settings.get("InputType") == config.MANIFEST:
        yield _statement((_GET,), _below(_bucket(parameters), ""))


def _within(parameters: Json, *, separator: str) -> str:
    """Return the ARN of all objects below the known part of the prefix."""
    prefix = literals(parameters).get("prefix") or ""
    if prefix and not prefix.endswith("/"):
        prefix += separator
    return _below(_bucket(parameters), prefix)


def _below(bucket: str, prefix: str) -> str:
    return ANY if bucket == ANY else f"{bucket}/{prefix}*"


def _bucket(parameters: Json) -> str:
    fields = parameters if isinstance(parameters, dict) else {}
    bucket = {name: value for name, value in fields.items() if name.removesuffix(".$") == "Bucket"}
    return resources("s3", "ListObjectsV2", bucket)[0]


def _statement(actions: tuple[str, ...], *found: str) -> Statement:
    return Statement(actions, found, is_wide=ANY in found)
