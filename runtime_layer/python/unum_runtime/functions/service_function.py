"""User code of the function that a workflow has for its Tasks that call services.

A job that a Task waits for is begun by the first delivery of its event; each later one looks at it once.
"""

import hashlib
from contextlib import suppress
from functools import cache
from math import inf

from unum_runtime.asl.states_errors import excerpt
from unum_runtime.aws import items, services
from unum_runtime.clock import Clock
from unum_runtime.errors import StatesError
from unum_runtime.model import ir
from unum_runtime.model.ir import Json, Pattern
from unum_runtime.protocol.runtime import Call, CallbackPending, JobPending

_INVOKE = "lambda:invoke"


def handle(call: Call, parameters: Json, clock: Clock) -> Json | JobPending | CallbackPending:
    """What the service answers; or what has to be done until it does.

    Args:
        call: the invocation, with the resource that it is for.
        parameters: a JSON object; where the call is made with another role, one of ``Credentials`` and ``Parameters``.
        clock: tells how long a job has run.

    Raises:
        StatesError: the call failed, or the job did, or it took too long.
    """
    match call.resource:
        case ir.READ_ITEMS:
            return items.read(parameters, client=_clients().client("s3"))
        case ir.WRITE_RESULTS:
            return items.write(parameters, client=_clients().client("s3"), key=call.idempotency_key)
    given, clients = _with_role(call, parameters, clock)
    if str(call.resource).startswith("arn:"):
        return services.call(_INVOKE, {"FunctionName": call.resource, "Payload": given}, clients=clients)["Payload"]
    given = services.with_start_alias(str(call.resource), given, call.start_aliases)
    if call.pattern is Pattern.SYNC:
        return _poll(call, clients, clock) if call.job else _begin(call, given, clients, clock)
    response = services.call(str(call.resource), given, clients=clients, token=_token(call))
    return CallbackPending() if call.pattern is Pattern.CALLBACK else response


def _with_role(call: Call, parameters: Json, clock: Clock) -> tuple[Json, services.Clients]:
    """What the service gets, and clients with the role that it is called with.

    No API has two parameters called ``Credentials`` and ``Parameters``.
    """
    match parameters:
        case {"Credentials": {"RoleArn": str(role_arn)}, "Parameters": given}:
            return given, _roles().clients(role_arn, call.execution, clock.now_ms())
        case {"Credentials": credentials, "Parameters": _}:
            raise StatesError("States.Runtime", f"Credentials: expected the ARN of a role, got {excerpt(credentials)}")
    return parameters, _clients()


def _begin(call: Call, parameters: Json, clients: services.Clients, clock: Clock) -> JobPending:
    begun_ms = clock.now_ms()
    handle = services.begin(str(call.resource), parameters, clients=clients, token=_token(call))
    return _later(call, {"handle": handle, "polls": 0, "begun_ms": begun_ms}, clock)


def _poll(call: Call, clients: services.Clients, clock: Clock) -> Json | JobPending:
    job = call.job
    found = services.poll(str(call.resource), job["handle"], clients=clients)
    if not isinstance(found, services.Running):
        return found
    if _left_ms(call, job, clock) <= 0:
        with suppress(StatesError):  # it may have ended meanwhile; too late it is all the same
            services.stop(str(call.resource), job["handle"], clients=clients)
        raise StatesError("States.Timeout", f"state {call.state!r}: its job was not over after {call.timeout_s:g} s")
    return _later(call, {**job, "polls": job["polls"] + 1}, clock)


def _later(call: Call, job: Json, clock: Clock) -> JobPending:
    delay_ms = services.delay_ms(str(call.resource), job["polls"])
    return JobPending(job, round(min(delay_ms, max(0, _left_ms(call, job, clock)))))


def _left_ms(call: Call, job: Json, clock: Clock) -> float:
    """How much time is left to the job, in milliseconds."""
    if call.timeout_s is None:
        return inf
    return float(job["begun_ms"] + call.timeout_s * 1000 - clock.now_ms())


def _token(call: Call) -> str:
    """The same for all deliveries of one try, so that they have one effect."""
    return hashlib.sha256(f"{call.idempotency_key}/{call.attempt}".encode()).hexdigest()


@cache
def _clients() -> services.Clients:
    return services.Clients()


@cache
def _roles() -> services.Roles:
    return services.Roles(_clients())
