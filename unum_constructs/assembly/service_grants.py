"""Permissions of the service function: exactly the calls in the definition."""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import TypeAlias

from aws_cdk import Annotations, Aws, Fn
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from unum_compiler.services.service_permissions import Condition, Statement
from unum_compiler.services.started_workflows import arguments_of
from unum_compiler.services.task_permissions import DESCRIBE, OWN_ALIAS, RUN, task_statements
from unum_constructs.assembly.invoked_functions import arn_in_statement
from unum_constructs.assembly.other_workflows import OtherWorkflow
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Form, Json, Task

_PLACEHOLDER = re.compile(r"\$\{(?P<name>[^{}#@]+)(?:(?P<kind>[#@])(?P<part>\d))?\}")
_SEPARATORS = {"#": "/", "@": ":"}
_DEPLOYMENT = {"AWS::Partition": Aws.PARTITION, "AWS::Region": Aws.REGION, "AWS::AccountId": Aws.ACCOUNT_ID}

Declared: TypeAlias = Mapping[str, Collection[str]]
"""IAM actions that the author of a Task has allowed, by its name."""

_NONE: Declared = {}

_WHOLE = re.compile(r"\$\{([^{}]+)\}")
_IN_PARTS = {
    "QueueUrl": r"https://sqs/${\1#3}/${\1#4}",
    "StateMachineArn": r"arn:${AWS::Partition}:states:${AWS::Region}:${AWS::AccountId}:stateMachine:${\1@6}",
}
"""Parameters whose parts make an ARN. Placeholders name parts of a value that only the deployment knows:
``${Value1#3}`` is part 3 between slashes, ``${Value1@6}`` is part 6 between colons."""


def call_statements(
    workflow: Workflow,
    values: Mapping[str, str],
    *,
    own: Mapping[str, str],
    started: Mapping[str, OtherWorkflow],
    called: Mapping[str, lambda_.IFunction],
    declared: Declared = _NONE,
) -> Iterator[iam.PolicyStatement]:
    """Yield permissions for the calls of all service Tasks.

    Args:
        workflow: compiled workflow.
        values: CDK tokens by the name of their placeholder in the IR.
        own: ARNs of the workflow's run alias and describe alias, by `RUN` and `DESCRIBE`.
        started: other workflows by the placeholder of their start alias.
        called: invoked functions by key.
        declared: IAM actions that the author of a Task has allowed, by its name.
    """
    # Pseudo parameters resolve at deployment, so that one template fits every account and region.
    known = {**values, **_DEPLOYMENT, **{OWN_ALIAS + kind: arn for kind, arn in own.items()}}
    for text, other in started.items():
        known |= {text[2:-1] + RUN: other.run_alias, text[2:-1] + DESCRIBE: other.describe_alias}
    for (actions, condition), resources in _merged(workflow, started, declared).items():
        named = (arn_in_statement(arn, called) for arn in resources)
        conditions = None if condition is None else _conditions(condition, known)
        arns = [_with_values(arn, known) for arn in named]
        yield iam.PolicyStatement(actions=[*actions], resources=arns, conditions=conditions)


def _conditions(condition: Condition, known: Mapping[str, str]) -> dict[str, dict[str, list[str]]]:
    return {condition.operator: {condition.key: [_with_values(each, known) for each in condition.values]}}


def _with_values(text: str, known: Mapping[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda match: _value(match, known), text)


def warn_of_wide_permissions(
    workflow: Construct, compiled: Workflow, aliases: Collection[str], declared: Declared = _NONE
) -> None:
    """Warn of Tasks with permissions beyond their own resources; users acknowledge each Task separately."""
    wide: dict[str, list[str]] = {}
    for task, statement in _statements(compiled, aliases, declared):
        if statement.is_wide:
            wide.setdefault(task.name, []).append(f"{', '.join(statement.actions)} on {', '.join(statement.resources)}")
    for name, allowed in wide.items():
        Annotations.of(workflow).add_warning_v2(
            f"unum:widePermission[{name}]",
            f"Task {name!r} needs permission for {'; '.join(allowed)}: its target is known only at run time; "
            "name the resource in the definition if you can",
        )


def _value(match: re.Match[str], known: Mapping[str, str]) -> str:
    if match["name"] not in known:
        return match[0]
    value = known[match["name"]]
    return (
        value if match["part"] is None else Fn.select(int(match["part"]), Fn.split(_SEPARATORS[match["kind"]], value))
    )


def _merged(
    workflow: Workflow, aliases: Collection[str], declared: Declared
) -> Mapping[tuple[tuple[str, ...], Condition | None], list[str]]:
    """Group resources by actions and condition; a wildcard replaces other resources of equal ones."""
    resources: dict[tuple[tuple[str, ...], Condition | None], dict[str, None]] = {}
    for _, statement in _statements(workflow, aliases, declared):
        found = resources.setdefault((statement.actions, statement.condition), {})
        found.update(dict.fromkeys(statement.resources))
    return {allowed: ["*"] if "*" in arns else [*arns] for allowed, arns in resources.items()}


def _statements(workflow: Workflow, aliases: Collection[str], declared: Declared) -> Iterator[tuple[Task, Statement]]:
    for task in workflow.tasks:
        if task.form is Form.SERVICE:
            found = task_statements(task, _parameters(task), aliases, declared.get(task.name))
            yield from ((task, statement) for statement in found)


def _parameters(task: Task) -> Json:
    given = arguments_of(task)
    if not isinstance(given, Mapping):
        return given
    return {name: _in_parts(name, value) for name, value in given.items()}


def _in_parts(name: str, value: Json) -> Json:
    whole = _WHOLE.fullmatch(value) if name in _IN_PARTS and isinstance(value, str) else None
    return whole.expand(_IN_PARTS[name]) if whole else value
