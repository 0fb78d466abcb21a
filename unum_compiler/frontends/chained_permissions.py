"""Permissions that the author of a chain has declared: those of its Tasks, as `StateMachine` gives them to its role.

What is declared is what the service function gets for a Task: `CallAwsService(iam_resources=...)` names the resources,
and nothing is derived from the parameters beside it. `runtime_statements` adds what this library does where Step
Functions has another way.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from aws_cdk import aws_iam as iam
from aws_cdk import aws_stepfunctions as sfn
from constructs import IConstruct

from unum_compiler.services.service_actions import PASSED_TO
from unum_runtime.model.states import Json

_RULES = frozenset(("events:PutTargets", "events:PutRule", "events:DescribeRule"))
"""For rules that report the end of a job to Step Functions; this library polls jobs."""

_DATA_SETS = frozenset(
    ("s3:AbortMultipartUpload", "s3:GetObject", "s3:ListBucket", "s3:ListMultipartUploadParts", "s3:PutObject")
)
"""Of item readers and result writers, on whole buckets; `dataset_statements` derives narrower ones."""

_ASSUME, _INVOKE, _PASS = ["sts:AssumeRole"], ["lambda:InvokeFunction"], ["iam:PassRole"]
_CALL = re.compile(r".*:states:::(?P<service>[a-z-]+):(?P<action>[A-Za-z]+)(?P<pattern>\..+)?")
_START = ("states", "startExecution")


class Permitted(NamedTuple):
    """Permissions of a chain.

    Attributes:
        statements: those that the service function needs.
        declared: IAM actions in the statements of a Task, by its name, for Tasks with such statements.
    """

    statements: tuple[iam.PolicyStatement, ...]
    declared: Mapping[str, tuple[str, ...]]


def read_permissions(
    machine: Json, root: IConstruct, statements: Iterable[iam.PolicyStatement], ours: Collection[str]
) -> Permitted:
    """Return the permissions among `statements`, those of a graph, that its Tasks need here.

    Args:
        machine: the graph in the Amazon States Language.
        root: the app, whose Tasks have statements.
        statements: all statements of the graph.
        ours: ARNs of functions of the definition, which other grants allow to invoke.
    """
    # The CDK's process has one object for each statement, and a new one in Python for each question.
    every = {_identity(each): each for each in statements}
    if not every:
        return Permitted((), MappingProxyType({}))
    states, declared = dict(_states(machine)), dict[str, tuple[str, ...]]()
    kept = {identity: each for identity, each in every.items() if not _DATA_SETS.issuperset(each.actions)}
    for name, own in _tasks(root, states, every):
        # Called by another role, or by an alias of a workflow: `task_statements` derives what that takes.
        is_derived = "Credentials" in states[name] or _call(states[name]) == _START
        needed = [] if is_derived else [each for each in own if not _is_needless(every[each], ours)]
        for identity in own:
            kept.pop(identity, None)
        kept |= {identity: _with_service(every[identity], states[name]) for identity in needed}
        if needed:
            declared[name] = tuple(action for each in needed for action in every[each].actions)
    statements = (each for each in kept.values() if not _is_needless(each, ours) and each.actions != _ASSUME)
    return Permitted(tuple(statements), MappingProxyType(declared))


def _identity(statement: iam.PolicyStatement) -> str:
    return str(statement.__jsii_ref__.ref)  # type: ignore[attr-defined]  # of each object of the CDK's process


def _tasks(
    root: IConstruct, states: Mapping[str, Any], every: Mapping[str, iam.PolicyStatement]
) -> Iterator[tuple[str, list[str]]]:
    """Yield the Tasks of the graph that have statements: their names, and the identities of the statements."""
    for construct in root.node.find_all():
        task: Any = construct
        if isinstance(task, sfn.TaskStateBase):
            own = [_identity(each) for each in task._task_policies or ()]  # noqa: SLF001 - what the CDK has for them
            # Tasks of other graphs may have the same name, never the same statements.
            if own and every.keys() >= {*own} and task.state_id in states:
                yield task.state_id, own


def _states(value: Json) -> Iterator[tuple[str, Any]]:
    """Yield all states inside `value`, by name."""
    if isinstance(value, list):
        for each in value:
            yield from _states(each)
    elif isinstance(value, dict):
        states = value.get("States")
        if isinstance(states, dict) and "StartAt" in value:
            yield from states.items()
        for each in value.values():
            yield from _states(each)


def _call(state: Any) -> tuple[str, str]:
    """Return service and action of the optimized integration that a Task calls; empty texts for others."""
    match = _CALL.fullmatch(str(state.get("Resource", "")))
    return ("", "") if match is None else (match["service"], match["action"])


def _with_service(statement: iam.PolicyStatement, state: Any) -> iam.PolicyStatement:
    """Return `statement`; a permission to pass roles is limited to the service that the Task calls."""
    services = PASSED_TO.get(_call(state)[0])
    if services is None or statement.actions != _PASS or statement.conditions:
        return statement
    return statement.copy(conditions={"StringEquals": {"iam:PassedToService": [*services]}})


def _is_needless(statement: iam.PolicyStatement, ours: Collection[str]) -> bool:
    """Return True if `statement` allows calls that never happen here, or, of functions `ours`, other grants allow."""
    actions = statement.actions
    return _RULES.issuperset(actions) or (actions == _INVOKE and {*ours}.issuperset(statement.resources))
