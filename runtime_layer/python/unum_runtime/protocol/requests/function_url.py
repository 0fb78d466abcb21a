"""HTTP requests of responders with a task token, through a function URL.

A request is an event of payload format 2.0 (AWS Lambda Developer Guide, "Invoking Lambda function URLs"). Its JSON body
has the arguments of SendTaskSuccess or SendTaskFailure, or a token and ``"heartbeat": true``. The response is that of
Step Functions: status 200 and an empty object, or 400 and the error's name as ``__type`` (Smithy, "AWS JSON 1.0
protocol").
"""

import base64
from collections.abc import Mapping
from typing import Any

from unum_runtime.json_text import parse_foreign, to_text
from unum_runtime.model.states import Json
from unum_runtime.protocol.requests import respond as responses
from unum_runtime.protocol.requests.answers import INVALID_REQUEST
from unum_runtime.protocol.runtime import Runtime

_ALLOWED = (
    'expected POST with a JSON object of "taskToken" and one of: "output" as JSON text; "error" and "cause" as text; '
    '"heartbeat": true'
)


def respond(rt: Runtime, event: Json) -> Mapping[str, Json]:
    """Execute an HTTP request of a responder with a task token.

    Returns:
        The response, in payload format 2.0.

    Raises:
        UnumError: the request may be executed or not; Lambda responds with status 502.
    """
    try:
        request = _request(_content(event))
    except ValueError as error:
        return _refusal(INVALID_REQUEST, f"{_ALLOWED}; got {error}")
    match responses.answer(rt, request):
        case {"error": str(name), "message": str(message)}:
            return _refusal(name, message)
    return _response(200, {})


def _content(event: Json) -> Json:
    """Return an HTTP request's JSON body.

    Raises:
        ValueError: there is no such value; the message names what there is.
    """
    match event:
        case {"requestContext": {"http": {"method": "POST"}}}:
            return _parsed(event)
        case {"requestContext": {"http": {"method": method}}}:
            raise ValueError(method)
    raise ValueError("an event that is not an HTTP request")


def _parsed(event: Mapping[str, Json]) -> Json:
    body: Json = event.get("body")
    try:
        return parse_foreign(base64.b64decode(body) if event.get("isBase64Encoded") else body)
    except (ValueError, TypeError) as error:
        raise ValueError(f"a body that is not JSON: {error}") from error


def _request(content: Json) -> Mapping[str, Json]:
    """Return the request for the response alias."""
    match content:
        case {"taskToken": str(token), "output": str(output), **others} if not others:
            return responses.request(token, output=output)
        case {"taskToken": str(token), "heartbeat": True, **others} if not others:
            return responses.request(token, heartbeat=True)
        case {"taskToken": str(token), **failure} if _is_failure(failure):
            return responses.request(token, error=failure.get("error"), cause=failure.get("cause"))
        case dict():
            raise ValueError(f"an object of {sorted(content)}")
    raise ValueError("another value")


def _is_failure(given: Mapping[Any, Json]) -> bool:
    texts = all(isinstance(value, str | None) for value in given.values())
    return bool(given) and given.keys() <= {"error", "cause"} and texts


def _refusal(name: str, message: str) -> Mapping[str, Json]:
    return _response(400, {"__type": name, "message": message})


def _response(status: int, content: Json) -> Mapping[str, Json]:
    headers = {"content-type": "application/x-amz-json-1.0"}
    return {"statusCode": status, "headers": headers, "body": to_text(content)}
