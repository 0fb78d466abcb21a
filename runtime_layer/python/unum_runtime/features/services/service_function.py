"""Service function: calls AWS services for a workflow's service Tasks.

The first delivery of a ``.sync`` Task's event begins its service job; each later delivery polls the job once.
"""

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from math import inf
from typing import Any

from unum_runtime.asl.states_errors import excerpt
from unum_runtime.clock import Clock
from unum_runtime.errors import StatesError
from unum_runtime.features import services
from unum_runtime.model import states
from unum_runtime.model.called_functions import INVOKE, with_arn
from unum_runtime.model.states import Json, Pattern
from unum_runtime.protocol.runtime import Call, CallbackPending, JobPending

_NO_FUNCTIONS: Mapping[str, str] = {}


def handle(
    call: Call,
    parameters: Json,
    clock: Clock,
    functions: Mapping[str, str] = _NO_FUNCTIONS,
    own: services.Clients | None = None,
) -> Json | JobPending | CallbackPending:
    """Call the service of a Task, and return its response or the reason to wait.

    Args:
        call: the invocation, with its resource.
        parameters: JSON object; for a call with another role, an object of ``Credentials`` and ``Parameters``.
        clock: clock for the run time of a job.
        functions: ARNs of invoked functions by key.
        own: clients of AWS services; None for those of the function's role.

    Raises:
        StatesError: the call or the job failed or took too long.
    """
    own = own or _clients()
    match call.resource:
        case states.READ_ITEMS | states.WRITE_RESULTS:
            return _read_or_write(call, parameters, own.client("s3"))
    sent, clients = _parameters_and_clients(call, parameters, clock, own)
    if str(call.resource).startswith("arn:"):
        invoked = with_arn({"FunctionName": call.resource, "Payload": sent}, functions)
        return services.call(INVOKE, invoked, clients=clients)["Payload"]
    if call.resource == INVOKE:
        sent = with_arn(sent, functions)
    sent = services.with_start_alias(str(call.resource), sent, call.start_aliases)
    if call.pattern is Pattern.SYNC:
        return _poll(call, clients, clock) if call.job else _begin(call, sent, clients, clock)
    response = services.call(str(call.resource), sent, clients=clients, token=_token(call))
    return CallbackPending() if call.pattern is Pattern.CALLBACK else response


def _read_or_write(call: Call, parameters: Json, client: Any) -> Json:
    """Read the items of a Map, or write its results."""
    from unum_runtime.features import data_sets as items  # noqa: PLC0415 - layers of workflows without data sets leave it out

    if call.resource == states.READ_ITEMS:
        return items.read(parameters, client=client)
    return items.write(parameters, client=client, key=call.idempotency_key)


def _parameters_and_clients(
    call: Call, parameters: Json, clock: Clock, own: services.Clients
) -> tuple[Json, services.Clients]:
    """Return call parameters, and clients with the call's role."""
    # The shape is unambiguous: no API has parameters called ``Credentials`` and ``Parameters``.
    match parameters:
        case {"Credentials": {"RoleArn": str(role_arn)}, "Parameters": sent}:
            return sent, _roles(own).clients(role_arn, call.execution, clock.now_ms())
        case {"Credentials": credentials, "Parameters": _}:
            raise StatesError("States.Runtime", f"Credentials: expected the ARN of a role, got {excerpt(credentials)}")
    return parameters, own


def _begin(call: Call, parameters: Json, clients: services.Clients, clock: Clock) -> JobPending:
    begun_ms = clock.now_ms()
    handle = services.begin(str(call.resource), parameters, clients=clients, token=_token(call))
    return _poll_later(call, {"handle": handle, "polls": 0, "begun_ms": begun_ms}, clock)


def _poll(call: Call, clients: services.Clients, clock: Clock) -> Json | JobPending:
    job = call.job
    found = services.poll(str(call.resource), job["handle"], clients=clients)
    if not isinstance(found, services.Running):
        return found
    if _left_ms(call, job, clock) <= 0:
        with suppress(StatesError):  # a job that ended meanwhile cannot be stopped, and is too late as well
            services.stop(str(call.resource), job["handle"], clients=clients)
        raise StatesError("States.Timeout", f"state {call.state!r}: its job was not over after {call.timeout_s:g} s")
    return _poll_later(call, {**job, "polls": job["polls"] + 1}, clock)


def _poll_later(call: Call, job: Json, clock: Clock) -> JobPending:
    delay_ms = services.delay_ms(str(call.resource), job["polls"])
    return JobPending(job, round(min(delay_ms, max(0, _left_ms(call, job, clock)))))


def _left_ms(call: Call, job: Json, clock: Clock) -> float:
    """Return the job's remaining time in milliseconds."""
    if call.timeout_s is None:
        return inf
    return float(job["begun_ms"] + call.timeout_s * 1000 - clock.now_ms())


def _token(call: Call) -> str:
    """Return an attempt's client token, equal on all deliveries, so the service runs one job."""
    return hashlib.sha256(f"{call.idempotency_key}/{call.attempt}".encode()).hexdigest()


@cache
def _clients() -> services.Clients:
    return services.Clients()


@cache
def _roles(own: services.Clients) -> services.Roles:
    return services.Roles(own)
