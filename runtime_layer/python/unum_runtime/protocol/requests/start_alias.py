"""The start alias as the door for whoever has a task token, or names an execution: requests and answers as JSON.

Through it a holder needs no access to the store. What it may send, beside the token, is what it could do to the Task in
any case: so nothing here has to be trusted but the token. Who may start executions may ask for them by name; see
`reception`.
"""

import json
from collections.abc import Mapping
from typing import Any

from unum_runtime.errors import ClientError
from unum_runtime.model.checkpoint import Failure, Success
from unum_runtime.model.envelope import MARK, WIRE_VERSION, other_version
from unum_runtime.model.ir import Json
from unum_runtime.protocol.delivery.commit import shortened
from unum_runtime.protocol.planning.plan import MAX_OUTCOME_BYTES
from unum_runtime.protocol.requests import nested_workflow, task_token
from unum_runtime.protocol.runtime import Runtime

INVALID_OUTPUT, INVALID_REQUEST = "InvalidOutput", "ValidationException"

_FORMS = '"output" as JSON text; "error" and "cause"; "heartbeat": true; or "worker"'
_KINDS = ("token", "register", "describe")


def request(token: str, *, request_id: str = "", **content: Json) -> dict[str, Json]:
    """The event with which a holder sends something.

    Args:
        token: the task token.
        request_id: names the call, so that it may be repeated; empty if it will not be.
        content: ``output`` (JSON text); ``error`` and ``cause`` (text or null); ``heartbeat=True``; or, of an
            activity's task, the name of the ``worker`` that takes it.
    """
    event = {MARK: WIRE_VERSION, "token": token, **content}
    return event | {"request": request_id} if request_id else event


def is_request(event: Json) -> bool:
    """Whether `event` claims to be from a holder, or from a Task that starts executions."""
    return isinstance(event, dict) and MARK in event and not event.keys().isdisjoint(_KINDS)


def answer(rt: Runtime, event: Mapping[str, Json]) -> Json:
    """Do what is asked for.

    Returns:
        What `reception` finds, or an empty object; or what was wrong as ``error``, named as Step Functions names it,
        and ``message``.

    Raises:
        UnumError: it is not known whether it was done; the request must be repeated.
    """
    fault = other_version(event)
    if fault is not None:
        return refusal(INVALID_REQUEST, fault)
    try:
        return _answered(rt, event)
    except ClientError as error:
        return refusal(type(error).__name__, str(error))


def _answered(rt: Runtime, event: Mapping[str, Json]) -> Json:
    request_id = event.get("request", "")
    if not isinstance(request_id, str):
        return refusal(INVALID_REQUEST, f"request: expected a text, or nothing, got {request_id!r}")
    match event:
        case {"token": str(token), "output": str(output)}:
            outcome: Any = _success(output)
            if outcome is None:
                return refusal(INVALID_OUTPUT, f"output: expected JSON text of at most {MAX_OUTCOME_BYTES} bytes")
            task_token.hand_in(rt, token, outcome, request_id)
        case {"token": str(token), "error": str() | None as error, "cause": str() | None as cause}:
            outcome = shortened(Failure(error, cause))
            task_token.hand_in(rt, token, outcome, request_id)
        case {"token": str(token), "heartbeat": True}:
            task_token.beat(rt, token)
        case {"token": str(token), "worker": str(worker)}:
            task_token.take(rt, token, worker, request_id)
        case {"register": str(name), "input": str(text)}:
            return nested_workflow.register(rt, name, text)
        case {"describe": str(name)}:
            return nested_workflow.describe(rt, name)
        case _:
            return refusal(INVALID_REQUEST, f'expected "token" and one of {_FORMS}; got {sorted(event)}')
    return {}


def _success(output: str) -> Success | None:
    if len(output.encode(errors="replace")) > MAX_OUTCOME_BYTES:
        return None
    try:
        return Success(json.loads(output, parse_constant=_refuse))
    except (ValueError, RecursionError):
        return None


def _refuse(constant: str) -> Json:
    raise ValueError(constant)


def refusal(name: str, message: str) -> Json:
    """The answer to who asked for something that was not done; `name` is that of boto3's exception."""
    return {"error": name, "message": message}
