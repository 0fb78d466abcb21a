"""Requests at the start alias, by task token or by execution name: requests and responses as JSON.

A responder needs no access to the store. Its request can only decide the Task that gave out the token, so the token is
the only thing to verify. A Task of another workflow may name an execution, because it may start executions anyway; see
`nested_workflow`.
"""

import json
from collections.abc import Mapping
from typing import Any

from unum_runtime.errors import ClientError
from unum_runtime.model.checkpoint import Failure, Success
from unum_runtime.model.envelope import MARK, WIRE_VERSION, other_version
from unum_runtime.model.ir import Json
from unum_runtime.protocol.delivery.commit import shorten
from unum_runtime.protocol.planning.plan import MAX_OUTCOME_BYTES
from unum_runtime.protocol.requests import nested_workflow, task_token
from unum_runtime.protocol.runtime import Runtime

INVALID_OUTPUT, INVALID_REQUEST = "InvalidOutput", "ValidationException"

_FORMS = '"output" as JSON text; "error" and "cause"; "heartbeat": true; or "worker"'
_KINDS = ("token", "register", "describe")


def request(token: str, *, request_id: str = "", **content: Json) -> dict[str, Json]:
    """Return the event of a responder's request.

    Args:
        token: the task token.
        request_id: name of the call, so that it may be repeated; empty if it will not be.
        content: ``output`` (JSON text); ``error`` and ``cause`` (text or null); ``heartbeat=True``; or the name of the
            ``worker`` that takes an activity's task.
    """
    event = {MARK: WIRE_VERSION, "token": token, **content}
    return event | {"request": request_id} if request_id else event


def is_request(event: Json) -> bool:
    """Return True for requests of responders, or of Tasks starting executions."""
    return isinstance(event, dict) and MARK in event and not event.keys().isdisjoint(_KINDS)


def answer(rt: Runtime, event: Mapping[str, Json]) -> Json:
    """Execute the request in `event`.

    Returns:
        The response of `nested_workflow`, or an empty object; or an object with ``error``, a name of Step Functions'
        API, and ``message``.

    Raises:
        UnumError: the request may be executed or not; repeat it.
    """
    fault = other_version(event)
    if fault is not None:
        return refusal(INVALID_REQUEST, fault)
    try:
        return _execute(rt, event)
    except ClientError as error:
        return refusal(type(error).__name__, str(error))


def _execute(rt: Runtime, event: Mapping[str, Json]) -> Json:
    # Every field is checked by its type: the sender may be any principal that may invoke the alias.
    request_id = event.get("request", "")
    if not isinstance(request_id, str):
        return refusal(INVALID_REQUEST, f"request: expected a text, or nothing, got {request_id!r}")
    match event:
        case {"token": str(token), "output": str(output)}:
            outcome: Any = _success(output)
            if outcome is None:
                return refusal(INVALID_OUTPUT, f"output: expected JSON text of at most {MAX_OUTCOME_BYTES} bytes")
            task_token.send_result(rt, token, outcome, request_id)
        case {"token": str(token), "error": str() | None as error, "cause": str() | None as cause}:
            outcome = shorten(Failure(error, cause))
            task_token.send_result(rt, token, outcome, request_id)
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
    # `errors="replace"`: a lone surrogate has no UTF-8 form, and only the size matters here.
    if len(output.encode(errors="replace")) > MAX_OUTCOME_BYTES:
        return None
    try:
        return Success(json.loads(output, parse_constant=_refuse))
    except (ValueError, RecursionError):
        return None


def _refuse(constant: str) -> Json:
    raise ValueError(constant)


def refusal(name: str, message: str) -> Json:
    """Return an error response; `name` is boto3's exception name."""
    return {"error": name, "message": message}
