"""Requests at the response alias: answers with a task token, and nothing else.

A responder needs no access to the store. Its request can only decide the Task that gave out the token, so the token is
the only thing to verify.
"""

from collections.abc import Mapping
from functools import partial

from unum_runtime.json_text import is_utf8, parse_foreign
from unum_runtime.model.checkpoint import Failure, Success
from unum_runtime.model.envelope import MARK, WIRE_VERSION
from unum_runtime.model.states import Json
from unum_runtime.protocol.delivery.commit import shorten
from unum_runtime.protocol.planning.plan import MAX_OUTCOME_BYTES
from unum_runtime.protocol.requests import task_token
from unum_runtime.protocol.requests.answers import INVALID_REQUEST, answered, refusal
from unum_runtime.protocol.runtime import Runtime

INVALID_OUTPUT = "InvalidOutput"

_FORMS = '"output" as JSON text; "error" and "cause"; "heartbeat": true; or "worker"'


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
    """Return True if `event` claims to be a responder's request."""
    return isinstance(event, dict) and {MARK, "token"} <= event.keys()


def answer(rt: Runtime, event: Mapping[str, Json]) -> Json:
    """Execute the request in `event`.

    Returns:
        An empty object; or an object with ``error``, a name of Step Functions' API, and ``message``.

    Raises:
        UnumError: the request may be executed or not; repeat it.
    """
    return answered(event, partial(_execute, rt, event))


def _execute(rt: Runtime, event: Mapping[str, Json]) -> Json:
    # Every field is checked by its type: the sender may be any principal that may invoke the alias.
    request_id = event.get("request", "")
    if not isinstance(request_id, str):
        return refusal(INVALID_REQUEST, f"request: expected a text, or nothing, got {request_id!r}")
    # Keys and items have these texts as they are.
    for name in ("request", "token", "worker"):
        if isinstance(event.get(name), str) and not is_utf8(event[name]):
            return refusal(INVALID_REQUEST, f"{name}: expected a text without lone surrogates, got {event[name]!r}")
    match event:
        case {"token": str(token), "output": str(output)}:
            found = _success(output)
            if isinstance(found, str):
                allowed = f"expected JSON text of at most {MAX_OUTCOME_BYTES} bytes"
                return refusal(INVALID_OUTPUT, f"output: {allowed}, got {found}")
            task_token.send_result(rt, token, found, request_id)
        case {"token": str(token), "error": str() | None as error, "cause": str() | None as cause}:
            outcome = shorten(Failure(error, cause))
            task_token.send_result(rt, token, outcome, request_id)
        case {"token": str(token), "heartbeat": True}:
            task_token.beat(rt, token)
        case {"token": str(token), "worker": str(worker)}:
            task_token.take(rt, token, worker, request_id)
        case _:
            return refusal(INVALID_REQUEST, f'expected "token" and one of {_FORMS}; got {sorted(event)}')
    return {}


def _success(output: str) -> Success | str:
    """Return the result in JSON text `output`, or what is wrong with it."""
    # `errors="replace"`: a lone surrogate has no UTF-8 form, and only the size matters here.
    if (size := len(output.encode(errors="replace"))) > MAX_OUTCOME_BYTES:
        return f"{size} bytes"
    try:
        return Success(parse_foreign(output))
    except ValueError as error:
        return str(error)
