"""Warning about fan-outs whose branches would wait for longer than Lambda keeps an event."""

from collections.abc import Iterable, Mapping
from typing import Any

from aws_cdk import Annotations, Token
from constructs import Construct

from unum_compiler.analysis.event_bounds import limiting_maps, most_queued
from unum_compiler.lambda_settings import DEFAULT_TIMEOUT_S
from unum_constructs.cdk.lookup import properties_of
from unum_constructs.errors import ConstructError
from unum_constructs.hosting.host import Host
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Task

CONTEXT = "unum:accountConcurrency"
"""Context value with the concurrent executions of the account in the stack's region."""

ACCOUNT = 1_000
"""Concurrent executions of an account without a raised limit. Source: AWS Lambda Developer Guide, "Lambda quotas"."""

KEPT_S = 21_600
"""Longest time that Lambda keeps an event. Source: AWS Lambda API Reference, PutFunctionEventInvokeConfig."""


def warn_of_long_queues(construct: Construct, workflow: Workflow, hosts: Mapping[str, Host]) -> None:
    """Warn of Tasks inside Maps whose events may outlast Lambda's queue.

    Raises:
        ConstructError: the context value is no number of concurrent executions.
    """
    account = _account_concurrency(construct)
    for task in _in_maps(workflow):
        host = hosts.get(task.function)
        if host is None:
            continue
        properties = properties_of(host.resource)
        duration_s = min(_number(properties.get("timeout"), DEFAULT_TIMEOUT_S), _time_limit_s(task))
        reserved = _number(properties.get("reservedConcurrentExecutions"), account)
        at_once, queued = min(reserved, account), most_queued(workflow, task)
        # Reserved concurrency of 0 pauses the function on purpose.
        if not at_once or queued * duration_s <= at_once * KEPT_S:
            continue
        most = max(1, at_once * KEPT_S // duration_s)
        Annotations.of(construct).add_warning_v2(
            f"unum:longQueue[{task.name}]",
            f"{task.name}: up to {queued:,} branches of {_named(workflow, task)} run {duration_s:,} s each, and "
            f"{at_once:,} run at once{_source(reserved, account)}: Lambda gives up events after {KEPT_S:,} s, and the "
            f"workflow sends them again. With a MaxConcurrency of at most {most:,} they wait in the workflow instead. "
            f"Say how many the account runs at once with the context value {CONTEXT!r}.",
        )


def _in_maps(workflow: Workflow) -> Iterable[Task]:
    return (task for task in workflow.tasks if limiting_maps(workflow, task))


def _account_concurrency(construct: Construct) -> int:
    """Return the context value, which ``--context`` gives as text."""
    given: Any = construct.node.try_get_context(CONTEXT)
    if given is None:
        return ACCOUNT
    text = str(given)
    if isinstance(given, bool) or not text.isascii() or not text.isdecimal() or not int(text):
        raise ConstructError(
            construct, f"context value {CONTEXT!r}: expected a number of concurrent executions, got {given!r}"
        )
    return int(text)


def _time_limit_s(task: Task) -> int:
    """Return the Task's own time limit, if constant; else Lambda's."""
    limit = task.data.get("TimeoutSeconds")
    return limit if isinstance(limit, int) else KEPT_S


def _number(value: Any, otherwise: int) -> int:
    """Return property `value`; `otherwise` for unset or unresolved properties."""
    return otherwise if value is None or Token.is_unresolved(value) else int(value)


def _named(workflow: Workflow, task: Task) -> str:
    return " in ".join(repr(each) for each in limiting_maps(workflow, task))


def _source(reserved: int, account: int) -> str:
    return ", as reserved" if reserved < account else " in the account"
