"""Nodes that call services, wait for jobs, task tokens and signals, start other workflows, or use an activity."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from unum_compiler.frontends.graph.graph_expressions import Expression, Reference, payload
from unum_compiler.frontends.graph.nodes import Task, Work, check_text, input_fields, number_field, shown
from unum_compiler.parsing.task_resources import PREFIX
from unum_compiler.services.service_tasks import refusal_reason
from unum_runtime.features.signals.mailbox import KEY_RULE, is_key, is_signal_name
from unum_runtime.model.naming import NAME_RULE
from unum_runtime.model.states import Json, Pattern

_SUFFIXES = {"response": "", "job": ".sync", "token": ".waitForTaskToken"}
_PATTERNS = {"response": Pattern.RESPONSE, "job": Pattern.SYNC, "token": Pattern.CALLBACK}

token = Reference("$$.Task.Token")
"""The task token, in the parameters of a node that waits for one."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Call(Work):
    """A call of a service, or Tasks for the workers of an activity."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Ask(Task):
    """A function that hands the task token to a responder; the responder's answer is the result."""


def service(  # noqa: PLR0913 - all but three have defaults
    name: str,
    action: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    wait_for: str = "response",
    role: str | Reference | None = None,
    timeout_s: int | Reference | None = None,
    heartbeat_s: int | Reference | None = None,
) -> Call:
    """Return a node that calls an API of a service.

    Args:
        name: name of the node.
        action: service and action, such as ``"sqs:sendMessage"`` or ``"aws-sdk:s3:getObject"``.
        parameters: parameters of the API, with expressions.
        wait_for: ``"response"``; ``"job"``, to wait until the job is over that the call starts (``.sync``); or
            ``"token"``, to wait for an answer with `token`, which the parameters contain (``.waitForTaskToken``).
        role: ARN of the role to call with.
        timeout_s: time limit, in seconds.
        heartbeat_s: time limit between heartbeats, in seconds.

    Raises:
        TypeError: an argument has another kind.
        ValueError: unknown action, or one that cannot wait for that.
    """
    check_text(name, "action", action)
    if wait_for not in _SUFFIXES:
        raise ValueError(f"{name!r}: wait_for: expected one of {', '.join(_SUFFIXES)}, got {shown(wait_for)}")
    reason = refusal_reason(action, _PATTERNS[wait_for])
    if reason is not None:
        raise ValueError(f"{name!r}: action: {reason}")
    fields = {
        "Resource": f"arn:aws:states:::{action.removesuffix(':2')}{_SUFFIXES[wait_for]}{':2' * action.endswith(':2')}",
        "Parameters": _parameters(name, parameters),
        **_credentials(name, role),
        **number_field(name, "timeout_s", "TimeoutSeconds", timeout_s, 1),
        **number_field(name, "heartbeat_s", "HeartbeatSeconds", heartbeat_s, 1),
    }
    if wait_for == "token" and not _has_token(parameters):
        raise ValueError(f"{name!r}: parameters: expected token in one of them, with which a responder answers")
    return Call(name=name, fields=fields)


def nested(
    name: str,
    workflow: str | Reference,
    input: Any = None,  # noqa: A002 - the word for it
    *,
    wait_for: str = "job",
    execution: str | Expression | None = None,
    timeout_s: int | Reference | None = None,
) -> Call:
    """Return a node that starts another workflow, or a state machine.

    Args:
        name: name of the node.
        workflow: ARN of the workflow's start alias, ``other.start_alias.function_arn``, or of a state machine.
        input: input of the execution: a place, or an object with expressions; by default the node's input.
        wait_for: ``"job"``, to wait for the end; the result has the output as ``Output``. ``"response"``, to continue
            after the start.
        execution: name of the execution.
        timeout_s: time limit, in seconds.

    Raises:
        TypeError: an argument has another kind.
        ValueError: `wait_for` has another value.
    """
    check_text(name, "workflow", workflow, may_be_place=True)
    if wait_for not in ("job", "response"):
        raise ValueError(f"{name!r}: wait_for: expected job or response, got {shown(wait_for)}")
    named = {} if execution is None else {"Name": execution}
    value = Reference("$") if input is None else input
    parameters = {"StateMachineArn": workflow, "Input": value, **named}
    action = "states:startExecution:2" if wait_for == "job" else "states:startExecution"
    return service(name, action, parameters, wait_for=wait_for, timeout_s=timeout_s)


def ask(
    name: str,
    function: Any = None,
    *,
    input: Mapping[str, Any],  # noqa: A002 - the word for it
    timeout_s: int | Reference | None = None,
    heartbeat_s: int | Reference | None = None,
) -> Ask:
    """Return a node that runs a function with a task token, and waits for the answer with it.

    Args:
        name: name of the node.
        function: construct or key; by default the node's name is the key.
        input: input of the function, with `token` in a field.
        timeout_s: time limit for the answer, in seconds.
        heartbeat_s: time limit between heartbeats, in seconds.

    Raises:
        TypeError: an argument has another kind.
        ValueError: `input` lacks `token`.
    """
    check_function(name, function)
    if not isinstance(input, Mapping):
        raise TypeError(f"{name!r}: input: expected an object with token in a field, got {shown(input)}")
    if not _has_token(input):
        raise ValueError(f"{name!r}: input: expected token in a field, with which a responder answers")
    fields = {
        "Parameters": {"Payload": payload(dict(input))},
        **number_field(name, "timeout_s", "TimeoutSeconds", timeout_s, 1),
        **number_field(name, "heartbeat_s", "HeartbeatSeconds", heartbeat_s, 1),
    }
    return Ask(name=name, fields=fields, function=name if function is None else function)


def activity(
    name: str,
    worked_by: Any,
    *,
    input: Any = None,  # noqa: A002 - the word for it
    timeout_s: int | Reference | None = None,
    heartbeat_s: int | Reference | None = None,
) -> Call:
    """Return a node whose work the workers of an activity poll for.

    Args:
        name: name of the node.
        worked_by: ARN of the activity, or an `Activity` of the CDK.
        input: input of the workers: a place in the node's input, or an object with expressions.
        timeout_s: time limit, in seconds.
        heartbeat_s: time limit between heartbeats, in seconds.

    Raises:
        TypeError: an argument has another kind.
    """
    arn = getattr(worked_by, "activity_arn", worked_by)
    check_text(name, "worked_by", arn)
    fields = {
        "Resource": arn,
        **input_fields(input),
        **number_field(name, "timeout_s", "TimeoutSeconds", timeout_s, 1),
        **number_field(name, "heartbeat_s", "HeartbeatSeconds", heartbeat_s, 1),
    }
    return Call(name=name, fields=fields)


def check_function(name: str, function: Any) -> None:
    """Refuse what names no function.

    Raises:
        TypeError: `function` is neither construct nor key.
        ValueError: it is the resource of a service, an activity or a nested workflow.
    """
    if not (function is None or isinstance(function, str) or hasattr(function, "node")):
        raise TypeError(f"{name!r}: expected a function of the CDK, or the key of one, got {function!r}")
    if isinstance(function, str) and function.startswith("arn:") and ":states:" in function:
        raise ValueError(f"{name!r}: {function!r} names no function; use service, ask, nested or activity")


def _parameters(name: str, parameters: Mapping[str, Any] | None) -> Json:
    if parameters is not None and not isinstance(parameters, Mapping):
        raise TypeError(f"{name!r}: parameters: expected an object with expressions, got {shown(parameters)}")
    return payload(dict(parameters or {}))


def _credentials(name: str, role: str | Reference | None) -> dict[str, Json]:
    if role is None:
        return {}
    check_text(name, "role", role, may_be_place=True)
    return {"Credentials": payload({"RoleArn": role})}


def _has_token(value: Any) -> bool:
    match value:
        case Mapping():
            return any(map(_has_token, value.values()))
        case list() | tuple():
            return any(map(_has_token, value))
    return isinstance(value, Expression) and token.text in value.text


def wait_for(
    signal: str,
    *,
    key: str | Expression | None = None,
    name: str | None = None,
    timeout_s: int | Reference | None = None,
) -> Call:
    """Return a node that waits for a signal, whose value is the result.

    Args:
        signal: name of the signal, which senders say (`Client.signal`).
        key: text that tells several waits for one signal apart, such as those in the branches of a Map: senders say the
            same one. By default the signals have no key.
        name: name of the node; by default that of the signal.
        timeout_s: time limit, in seconds; then the node fails with ``States.Timeout``.

    Raises:
        TypeError: an argument has another kind.
        ValueError: no signal or key can be so called.
    """
    node = signal if name is None else name
    check_text(node, "signal", signal)
    if not is_signal_name(signal):
        raise ValueError(f"{node!r}: signal: expected {NAME_RULE}, got {signal!r}")
    if not isinstance(key, Expression) and key is not None and not is_key(key):
        raise ValueError(f"{node!r}: key: expected {KEY_RULE}, or a place, got {key!r}")
    keyed = {} if key is None else {"Parameters": payload({"Key": key})}
    limit = number_field(node, "timeout_s", "TimeoutSeconds", timeout_s, 1)
    return Call(name=node, fields={"Resource": f"{PREFIX}{signal}", **keyed, **limit})
