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
from unum_runtime.functions.runtime_factory import links, runtime_here
from unum_runtime.model.naming import (
    control_alias_name,
    describe_alias,
    run_alias,
    start_alias,
)
from unum_runtime.model.states import Json
from unum_runtime.protocol.control import describe
from unum_runtime.protocol.control.control_aliases import (
    CALL,
    SIGNAL_EVENTS,
    SYNC,
    TAKEN,
    ControlAlias,
    alias_for,
    alias_named,
    call_alias,
)
from unum_runtime.protocol.control.operator_requests import ValidationException, is_request
from unum_runtime.protocol.requests.answers import refusal

# Requests at the describe alias of the control function: descriptions of executions of any version.


def is_asked(context: Any) -> bool:
    """Return True if this delivery came through a describe alias."""
    return context.invoked_function_arn.rpartition(":")[2] in map(describe_alias, services())


def answer(event: Json, context: Any) -> Json:
    """Answer the request in `event`; see `unum_runtime.protocol.control.describe.answer`."""
    ((workflow, service),) = services().items()
    return describe.answer(runtime_here(workflow, context, NO_DEFINITION), event, links(service))


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
    if is_asked(context):
        return answer(event, context)
    *_, qualifier = context.invoked_function_arn.split(":")
    if qualifier in _permanent_aliases():
        from unum_runtime.functions.operations import permanent_address  # noqa: PLC0415 - few workflows have one

        return permanent_address.send_on(event, context)
    if qualifier in [control_alias_name(SYNC, workflow) for workflow in services()]:
        from unum_runtime.functions.operations import sync_start  # noqa: PLC0415 - few workflows answer with results

        return sync_start.answer(event, context)
    if not qualifier.isdecimal() and qualifier == control_alias_name(SIGNAL_EVENTS, *services()):
        return _hear(event, context)
    refused = None if qualifier.isdecimal() else _refusal(event, qualifier)
    return control_requests.answer(event, context) if refused is None else refused


def _permanent_aliases() -> list[str]:
    """Return the names of the aliases that send on starts."""
    return [alias(workflow) for workflow in services() for alias in (start_alias, run_alias)]


def _hear(event: Json, context: Any) -> Json:
    """Send the signal of an event source, in which a number may be the key.

    Raises:
        SignalRefused: it is no signal, or is refused; after its retries Lambda sends the event to the failure queue.
        UnumError: the result is unknown; Lambda calls again.
    """
    if isinstance(event, dict) and type(event.get("key")) is int:
        event = {**event, "key": str(event["key"])}
    (workflow,) = services()
    found = _refusal(event, control_alias_name(ControlAlias.SIGNAL, workflow)) or control_requests.answer(
        event, context
    )
    if "error" in found:
        raise SignalRefused(f"{found['error']}: {found['message']}")
    return found


def _is_of_cloudformation(event: Json, context: Any) -> bool:
    """Return True for a request for the custom resource, which nobody can send through an alias or to a version."""
    is_request = isinstance(event, Mapping) and {"RequestType", "ResponseURL"} <= event.keys()
    return is_request and function_of(context.invoked_function_arn) == context.invoked_function_arn


def _refusal(event: Json, name: str) -> Json:
    """Return why the alias `name` does not take `event`; None if it does."""
    (workflow,) = services()
    if name == control_alias_name(ControlAlias.OPERATE, workflow):
        return None
    if is_request(event) and event["control"] == CALL:
        own = control_alias_name(call_alias(str(event.get("state"))), workflow)
        message = f"state: the alias {name!r} takes no calls of {event.get('state')!r}: invoke {own!r}"
        return None if name == own else refusal(ValidationException.__name__, message)
    alias = alias_named(name, workflow)
    if alias is None:
        return refusal(ValidationException.__name__, f"{name}: expected an alias of the control function")
    control = event["control"] if is_request(event) else None
    other = alias_for(control)
    # What is no request at all is refused by its parser, which names the fields.
    if control is None or control in TAKEN[alias] or other is None:
        return None
    takes = " and ".join(TAKEN[alias])
    return refusal(
        ValidationException.__name__,
        f"control: the alias {name!r} takes {takes}, got {control!r}: invoke {control_alias_name(other, workflow)!r}",
    )
