"""Control function: the Lambda handler for what operators ask of executions.

Requests arrive at aliases, see `unum_runtime.protocol.control.control_aliases`. A version takes requests of every kind,
but IAM lets nobody invoke it except the function itself, which continues long work there. Deployments alone invoke the
function without a qualifier, see `unum_runtime.functions.operations.deployment_answers`.
"""

from collections.abc import Mapping
from typing import Any

from unum_runtime.errors import SignalRefused
from unum_runtime.functions.configuration import services
from unum_runtime.functions.definitions import NO_DEFINITION
from unum_runtime.functions.operations import control_requests
from unum_runtime.functions.operations.function_versions import function_of
from unum_runtime.functions.operations.served_workflow import WorkflowContext, workflow_of
from unum_runtime.functions.runtime_factory import links, runtime_here
from unum_runtime.model.naming import DESCRIBE, PERMANENT, control_alias_name
from unum_runtime.model.states import Json
from unum_runtime.protocol.control import describe
from unum_runtime.protocol.control.control_aliases import (
    CALL,
    SIGNAL_EVENTS,
    SYNC,
    TAKEN,
    WORKFLOW,
    ControlAlias,
    alias_for,
    call_alias,
    find_alias,
)
from unum_runtime.protocol.control.operator_requests import ValidationException, is_request
from unum_runtime.protocol.requests.answers import refusal


def handle(event: Json, context: Any) -> Json:
    """Carry out a control request, describe an execution, or answer CloudFormation.

    Args:
        event: a request of an operator, or of CloudFormation for the deployment guard.
        context: Lambda's context object.

    Returns:
        The answer; or ``error``, with boto3's name for it, and ``message``.

    Raises:
        UnumError: the result is unknown; the caller must repeat the request.
    """
    if _is_of_cloudformation(event, context):
        from unum_runtime.functions.operations import deployment_answers  # noqa: PLC0415 - at deployments that change parts

        deployment_answers.answer(event, context)
        return None
    *_, qualifier = context.invoked_function_arn.split(":")
    if qualifier.isdecimal():
        return at_version(event, context)
    found = find_alias(qualifier, services())
    if found is None:
        return refusal(ValidationException.__name__, f"{qualifier}: expected an alias of the control function")
    kind, workflow = found
    return _at_alias(kind, event, WorkflowContext(context, workflow))


def _at_alias(kind: str, event: Json, context: Any) -> Json:
    """Answer `event` at a workflow's alias of this `kind`."""
    if kind in PERMANENT:
        from unum_runtime.functions.operations import permanent_address  # noqa: PLC0415 - few workflows have one

        return permanent_address.send_on(event, context)
    if kind == SYNC:
        from unum_runtime.functions.operations import sync_start  # noqa: PLC0415 - few workflows answer with results

        return sync_start.answer(event, context)
    if kind == DESCRIBE:
        return _describe(event, context)
    if kind == SIGNAL_EVENTS:
        return _hear(event, context)
    return _refusal(event, kind, context) or control_requests.answer(event, context)


def at_version(event: Json, context: Any) -> Json:
    """Go on with `event`, which this function has sent."""
    if isinstance(event, Mapping) and WORKFLOW in event:
        context = WorkflowContext(context, str(event[WORKFLOW]))
        event = {name: value for name, value in event.items() if name != WORKFLOW}
    return control_requests.answer(event, context)


def _describe(event: Json, context: Any) -> Json:
    """Answer the request in `event`; see `unum_runtime.protocol.control.describe.answer`."""
    workflow = workflow_of(context)
    return describe.answer(runtime_here(workflow, context, NO_DEFINITION), event, links(services()[workflow]))


def _hear(event: Json, context: Any) -> Json:
    """Send the signal of an event source, in which a number may be the key.

    Raises:
        SignalRefused: it is no signal, or is refused; after its retries Lambda sends the event to the failure queue.
        UnumError: the result is unknown; Lambda calls again.
    """
    if isinstance(event, dict) and type(event.get("key")) is int:
        event = {**event, "key": str(event["key"])}
    found = _refusal(event, ControlAlias.SIGNAL, context) or control_requests.answer(event, context)
    if "error" in found:
        raise SignalRefused(f"{found['error']}: {found['message']}")
    return found


def _is_of_cloudformation(event: Json, context: Any) -> bool:
    """Return True for a request for the custom resource, which nobody can send through an alias or to a version."""
    is_request = isinstance(event, Mapping) and {"RequestType", "ResponseURL"} <= event.keys()
    return is_request and function_of(context.invoked_function_arn) == context.invoked_function_arn


def _refusal(event: Json, kind: str, context: Any) -> Json:
    """Refuse `event` at an alias of another `kind`; return None at one that takes it."""
    if kind == ControlAlias.OPERATE:
        return None
    if is_request(event) and event["control"] == CALL:
        own = call_alias(str(event.get("state")))
        message = f"state: the alias {_named(kind, context)} takes no calls of {event.get('state')!r}: invoke "
        return None if kind == own else refusal(ValidationException.__name__, message + _named(own, context))
    if kind not in TAKEN:
        expected = f"{_named(kind, context)}: expected a call of the Task, got another request"
        return refusal(ValidationException.__name__, expected)
    control = event["control"] if is_request(event) else None
    other = alias_for(control)
    # What is no request at all is refused by its parser, which names the fields.
    if control is None or control in TAKEN[ControlAlias(kind)] or other is None:
        return None
    takes = " and ".join(TAKEN[ControlAlias(kind)])
    return refusal(
        ValidationException.__name__,
        f"control: the alias {_named(kind, context)} takes {takes}, got {control!r}: invoke {_named(other, context)}",
    )


def _named(kind: str, context: Any) -> str:
    """Return the name of the alias of this `kind`, quoted."""
    return repr(control_alias_name(kind, workflow_of(context)))
