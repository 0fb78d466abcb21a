"""Intake: the version of the failure handler that continues invocations in place of functions whose role may not.

A function finds it as the on-failure destination of its own version: so the intake has the execution's definition, and
the function's role may invoke it anyway.
"""

from functools import cache
from typing import Any

from unum_runtime.aws.invoker import LambdaInvoker
from unum_runtime.cold_start.records import replace
from unum_runtime.errors import NotOurEvent, RouteGone
from unum_runtime.functions.configuration import services
from unum_runtime.functions.function_versions import (
    addresses,
    begun_at,
    configured,
    function_of,
    lambda_client,
    on_failure,
    start_alias,
)
from unum_runtime.functions.runtime_factory import runtime_of
from unum_runtime.model.checkpoint import Checkpoint, Failure, to_text
from unum_runtime.model.naming import START_STEP, Execution, Name, checkpoint_key, control_alias
from unum_runtime.model.take_over import TakeOver
from unum_runtime.protocol.control.take_over import take_over
from unum_runtime.protocol.runtime import Runtime

FUNCTION_GONE = "Unum.FunctionGone"
"""Error of an invocation whose function has left the workflow."""

TIMER_GONE = "Unum.TimerGone"
"""Error of an invocation that waits for a time, after the timer queue has left the workflow."""

_REMEDY = "a later deployment removed what this execution needs; restore it and redrive the execution"

_destination = cache(on_failure)
"""`on_failure` with a cache: a version's destination never changes."""


def send(own_arn: str, request: TakeOver) -> None:
    """Send `request` to the intake of the function version `own_arn`.

    Raises:
        InvokeError: the version has no intake, or it was not reached.
    """
    intake = _destination(own_arn)
    if intake is None:
        raise NotOurEvent(f"{own_arn}: expected a version with an on-failure destination, found none")
    LambdaInvoker(lambda_client()).invoke([(intake, to_text(request.to_json()).encode())])


def answer(request: TakeOver, context: Any) -> None:
    """Continue the requested invocation, or forward the request to the intake of its version.

    Raises:
        NotOurEvent: the request belongs to another workflow, or to no execution of it.
        UnumError: a service did not answer; Lambda calls again.
    """
    if request.workflow not in services():
        raise NotOurEvent(f"take_over.workflow: expected one of {sorted(services())}, got {request.workflow!r}")
    rt = _runtime(request, context)
    if request.digest == rt.workflow.digest:
        take_over(rt, request, _routes(rt, request.name.execution))
    elif request.handed_on:  # once: two intakes that each take the other for the right one would never end
        raise NotOurEvent(f"{request.name}: expected IR {rt.workflow.digest}, got {request.digest}")
    else:
        send(request.address, replace(request, handed_on=True))


def _runtime(request: TakeOver, context: Any) -> Runtime:
    """Return a runtime without user code, with the routes of the request's function version."""
    qualifier = request.address.rpartition(":")[2]
    if not qualifier.isdecimal():
        raise NotOurEvent(f"take_over.address: expected a version, got {request.address!r}")
    address, table = configured(request.address)
    if request.workflow not in table:
        raise NotOurEvent(f"{address}: expected that it serves workflow {request.workflow!r}, but only {sorted(table)}")
    return replace(runtime_of(request.workflow, table[request.workflow], address, context), hosts=frozenset())


def _routes(rt: Runtime, execution: Execution) -> dict[str, str]:
    """Return the addresses that travel with `execution`, from its first commit or its first function."""
    key = checkpoint_key(rt.workflow.name, Name(execution, (), START_STEP + 1))
    item = rt.store.read([key]).get(key)
    began = None if item is None else Checkpoint.from_item(Name(execution, (), START_STEP + 1), item).began
    return {key: rt.routes[key] for key in rt.carried} if began is None else {**began.routes}


def gone_failure(workflow: str, handler_arn: str, denied: RouteGone) -> Failure | None:
    """Return the failure of an invocation that AWS refused the failure handler; None if the refusal may pass.

    Permissions take a while to reach all of IAM after a deployment. A refusal is final if nothing exists at the place,
    or if the place is no part of the deployed workflow.
    """
    is_function = denied.place.startswith("arn:")
    place = function_of(denied.place) if is_function else denied.place
    if not denied.is_deleted and place in _deployed_places(workflow, handler_arn):
        return None
    return Failure(FUNCTION_GONE if is_function else TIMER_GONE, f"{denied}; {_REMEDY}")


def _deployed_places(workflow: str, handler_arn: str) -> set[str]:
    """Return the functions of the newest version, without qualifiers, and its timer queues."""
    newest = begun_at(workflow, start_alias(f"{function_of(handler_arn)}:{control_alias(workflow)}"))
    found = {newest.address, *addresses(workflow, newest).values()}
    timers = {configured(each)[1][workflow].timer for each in found}
    return {timer for timer in timers if timer is not None} | {function_of(each) for each in found}
