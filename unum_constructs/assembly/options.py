"""Options of a workflow, checked."""

import re
from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import TypeVar

from aws_cdk import Duration, Names, Token
from constructs import Construct

from unum_compiler.definition import Definition
from unum_compiler.options import FunctionOptions
from unum_compiler.parsing.task_resources import SERVICES
from unum_compiler.payload import Payload
from unum_constructs.cdk.argument_checks import check_kinds, whole_seconds
from unum_constructs.errors import ConstructError
from unum_constructs.function import UnumFunction
from unum_runtime.model.ir import Collection, Guard, Workflow
from unum_runtime.protocol.fanout.packing import packed_tasks
from unum_runtime.protocol.planning.plan import MAX_OUTCOME_BYTES
from unum_runtime.protocol.runtime import DEFAULT_RETENTION_S, EVENT_LIFE_S

MAX_NAME = 80

EVENT_AGE_S = range(60, 6 * 3600 + 1)
"""Source: AWS Lambda API Reference, PutFunctionEventInvokeConfig, MaximumEventAgeInSeconds."""

ATTEMPTS = range(3)
"""Source: AWS Lambda API Reference, PutFunctionEventInvokeConfig, MaximumRetryAttempts."""

TIMEOUT_S = range(1, 99_999_999 + 1)
"""Source: AWS Step Functions Developer Guide, "State machine structure", TimeoutSeconds."""

LEASE_EVENT_AGE_S = 300
"""How long an event must be delivered that may find a lease held: three times within 3 minutes, and some more."""

_Choice = TypeVar("_Choice", bound=StrEnum)

_NAME = re.compile(rf"[A-Za-z0-9_-]{{1,{MAX_NAME}}}")


def checked_name(workflow: Construct, name: str | None) -> str:
    """`name`, or one that is made from the construct's path.

    Raises:
        ConstructError: it has other characters than names may have, or is a token.
    """
    if name is None:
        return Names.unique_resource_name(workflow, max_length=MAX_NAME, separator="-")
    if Token.is_unresolved(name):
        raise ConstructError(
            workflow, f"workflow_name: expected text, got the token {name}; it is part of every key in the table"
        )
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ConstructError(
            workflow, f"workflow_name: expected 1 to {MAX_NAME} characters from A-Z a-z 0-9 - _, got {name!r}"
        )
    return name


def checked_choice(workflow: Construct, option: str, value: str, choices: type[_Choice]) -> _Choice:
    """`value`, as the one of `choices` that it is; its text will do.

    Raises:
        ConstructError: it is none.
    """
    try:
        return choices(value)
    except ValueError as error:
        raise ConstructError(
            workflow, f"{option}: expected one of {[str(each) for each in choices]}, got {value!r}"
        ) from error


def checked_definition(workflow: Construct, definition: object) -> Definition:
    """`definition`.

    Raises:
        ConstructError: it is something else.
    """
    if isinstance(definition, Definition):
        return definition
    raise ConstructError(workflow, f"definition: expected one of Definition.from_..., got {definition!r}")


def checked_retention_s(workflow: Construct, retention: Duration | None) -> int:
    """`retention` in seconds.

    Raises:
        ConstructError: an event could outlive what it refers to.
    """
    return DEFAULT_RETENTION_S if retention is None else _outliving_events_s(workflow, "retention", retention)


def checked_history_retention_s(workflow: Construct, history_retention: Duration | None, retention_s: int) -> int:
    """`history_retention` in seconds, or `retention_s`, which is for how long results are kept.

    Raises:
        ConstructError: an event could outlive what it refers to, or what is needed for a result would outlive it.
    """
    if history_retention is None:
        return retention_s
    seconds = _outliving_events_s(workflow, "history_retention", history_retention)
    if seconds > retention_s:
        raise ConstructError(
            workflow, f"history_retention: expected at most `retention`, {retention_s} s, got {seconds} s"
        )
    return seconds


def checked_fusion(workflow: Construct, collection: Collection, *, fusion: bool | None) -> bool:
    """Whether functions go on with Tasks of their own without an invocation.

    Raises:
        ConstructError: they cannot, because an outcome is collected as soon as what follows from it is sent.
    """
    if fusion and collection is Collection.EAGER:
        raise ConstructError(
            workflow,
            "fusion: expected None or False with collection=Collection.EAGER, got True: what is collected has to be "
            "followed by an event; remove one of both",
        )
    return collection is Collection.TTL if fusion is None else fusion


def checked_hop_budget(workflow: Construct, hop_budget: int) -> int:
    """`hop_budget`.

    Raises:
        ConstructError: it leaves no step.
    """
    if type(hop_budget) is not int or hop_budget < 1:
        raise ConstructError(workflow, f"hop_budget: expected at least 1 step, got {hop_budget!r}")
    return hop_budget


def checked_payload_limit(workflow: Construct, payload_limit: int | None, payload: str) -> int | None:
    """`payload_limit`.

    Raises:
        ConstructError: nothing could be passed on, or it is more than what is stored.
    """
    if payload_limit is not None and (type(payload_limit) is not int or payload_limit < 1):
        raise ConstructError(workflow, f"payload_limit: expected at least 1 byte, got {payload_limit!r}")
    if payload == Payload.INLINE and payload_limit is not None and payload_limit > MAX_OUTCOME_BYTES:
        expected = f'expected 1 to {MAX_OUTCOME_BYTES} bytes, which is what is stored with payload="inline"'
        raise ConstructError(workflow, f"payload_limit: {expected}; got {payload_limit}")
    return payload_limit


def checked_small_results(workflow: Construct, compiled: Workflow, *, small_results: bool) -> bool | None:
    """`small_results`; None where it says nothing.

    Raises:
        ConstructError: there is no branch whose result it could be about.
    """
    if small_results and not packed_tasks(replace(compiled, small_results=True)):
        raise ConstructError(
            workflow,
            "small_results: expected a Map or Parallel without a quorum, of which a branch ends with a Task whatever "
            "that comes to, and with one that gives out no token and joins nothing; found none, so leave it out",
        )
    return small_results or None


def checked_event_age_s(workflow: Construct, max_event_age: Duration | None) -> int | None:
    """`max_event_age` in seconds.

    Raises:
        ConstructError: Lambda does not allow it.
    """
    seconds = None if max_event_age is None else whole_seconds(workflow, "max_event_age", max_event_age)
    return _within(workflow, "max_event_age", seconds, EVENT_AGE_S, " s")


def checked_attempts(workflow: Construct, retry_attempts: int | None) -> int | None:
    """`retry_attempts`.

    Raises:
        ConstructError: Lambda does not allow it.
    """
    return _within(workflow, "retry_attempts", retry_attempts, ATTEMPTS)


def checked_timeout_s(workflow: Construct, timeout: Duration | None, defined_s: int | None) -> int | None:
    """`timeout` in seconds, or what the definition says.

    Raises:
        ConstructError: both say something, or Step Functions would not allow it.
    """
    if timeout is None:
        return defined_s
    seconds = whole_seconds(workflow, "timeout", timeout)
    if defined_s is not None:
        raise ConstructError(
            workflow,
            f"timeout: the definition has TimeoutSeconds {defined_s} already, got {seconds} s; remove one of both",
        )
    return _within(workflow, "timeout", seconds, TIMEOUT_S, " s")


def options_of(
    workflow: Construct,
    functions: Mapping[str, object],
    given: Mapping[str, FunctionOptions],
    guard: Guard | None,
) -> dict[str, FunctionOptions]:
    """The options of `functions` by key, and of the function that calls services.

    They are those in `given`, else a function's own, if it has any; `guard` is the guard of all that have none.

    Raises:
        ConstructError: `given` has a key that is no function's, or something else than options.
    """
    for key in given.keys() - functions.keys():
        raise ConstructError(workflow, f"function_options[{key!r}]: expected a key of `functions`, {sorted(functions)}")
    check_kinds(workflow, FunctionOptions, {f"function_options[{key!r}]": each for key, each in given.items()})
    own = {key: each.function_options for key, each in functions.items() if isinstance(each, UnumFunction)}
    options = dict.fromkeys((*functions, SERVICES), FunctionOptions()) | own | dict(given)
    return {key: _guarded(each, guard) for key, each in options.items()}


def _guarded(options: FunctionOptions, guard: Guard | None) -> FunctionOptions:
    return replace(options, guard=guard) if options.guard is None and options.checkpoint else options


def check_leases(
    construct: Construct, workflow: Workflow, *, max_event_age_s: int | None, retry_attempts: int | None
) -> None:
    """Stop if `workflow` has leases, and events that find one held would not be delivered often enough.

    Raises:
        ConstructError: they could end among the failures while their work is being done.
    """
    leasing = sorted(task.function for task in workflow.tasks if task.guard is Guard.LEASE or task.memoize)
    if not leasing:
        return
    reason = (
        f"an event for {leasing[0]!r} that finds a lease held (guard=Guard.LEASE or memoize=True) has to come again"
    )
    if retry_attempts not in (None, ATTEMPTS[-1]):
        raise ConstructError(construct, f"retry_attempts: expected {ATTEMPTS[-1]}, got {retry_attempts}: {reason}")
    if max_event_age_s is not None and max_event_age_s < LEASE_EVENT_AGE_S:
        raise ConstructError(
            construct, f"max_event_age: expected at least {LEASE_EVENT_AGE_S} s, got {max_event_age_s} s: {reason}"
        )


def _outliving_events_s(workflow: Construct, option: str, given: Duration) -> int:
    seconds = whole_seconds(workflow, option, given)
    if seconds <= EVENT_LIFE_S:
        reason = "which is how long an event may live; state must outlive every event that refers to it"
        raise ConstructError(workflow, f"{option}: expected more than {EVENT_LIFE_S} s, {reason}; got {seconds} s")
    return seconds


def _within(workflow: Construct, option: str, value: int | None, allowed: range, unit: str = "") -> int | None:
    if value is not None and (type(value) is not int or value not in allowed):
        raise ConstructError(workflow, f"{option}: expected {allowed[0]} to {allowed[-1]}{unit}, got {value!r}{unit}")
    return value
