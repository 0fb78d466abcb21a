"""Synchronous starts: start an execution, wait for its end, and answer with the result, also to HTTP requests.

The event is an object with `input` and maybe `name`, which is answered as ``StartSyncExecution`` does; or a request of
API Gateway or of a function URL, whose JSON body is the input and whose response has the result as body.

Source of the shapes: AWS Step Functions API Reference, "StartSyncExecution"; AWS Lambda Developer Guide, "Invoking a
Lambda function using an Amazon API Gateway endpoint".
"""

import base64
import time
from collections.abc import Mapping
from typing import Any

from unum_runtime.errors import ClientError, InvalidExecutionInput
from unum_runtime.functions.operations.execution_versions import own_runtime
from unum_runtime.functions.operations.permanent_address import ask_run_alias
from unum_runtime.json_text import parse_foreign, to_text
from unum_runtime.model.checkpoint import Status
from unum_runtime.model.naming import Execution
from unum_runtime.model.requests import INPUT, run_request
from unum_runtime.model.states import Json
from unum_runtime.protocol.control.describe import describe
from unum_runtime.protocol.history.start_records import end_of
from unum_runtime.protocol.requests.answers import MAX_BYTES
from unum_runtime.protocol.runtime import Runtime

FIRST_PAUSE_S, LONGEST_PAUSE_S, GROWTH = 0.05, 1.0, 1.5

RESERVE_MS = 5_000
"""Time in which an answer is made before the function's own time is over."""

API_GATEWAY_MS = 28_000
"""Longest wait for API Gateway.

Source: Amazon API Gateway Developer Guide, "Quotas": 29 s for REST APIs, 30 s for HTTP APIs.
"""

BAD_REQUEST, FAILED, UNAVAILABLE, TIMED_OUT = 400, 500, 503, 504
_REFUSED = {"StartsPaused": UNAVAILABLE}


def answer(event: Json, context: Any) -> Json:
    """Start an execution and return its end.

    Returns:
        The response to an HTTP request; otherwise the description, ``error`` and ``message`` of a refused start, or the
        status ``RUNNING`` of an execution that outlasts the wait, and continues.

    Raises:
        InvokeError: nobody knows whether the execution exists.
    """
    is_http = isinstance(event, dict) and isinstance(event.get("requestContext"), dict)
    try:
        name, value = _asked(event, context, is_http=is_http)
    except ClientError as error:
        return _respond({"error": type(error).__name__, "message": str(error)}, is_http=is_http)
    started = ask_run_alias(run_request(name, {INPUT: value}), context)
    if "error" in started:
        return _respond(started, is_http=is_http)
    rt = own_runtime(context)
    limit_ms = context.get_remaining_time_in_millis() - RESERVE_MS
    if is_http and "lambda-url" not in str(event["requestContext"].get("domainName")):
        limit_ms = min(limit_ms, API_GATEWAY_MS)
    _wait(rt, Execution(name, int(started["StartDate"])), limit_ms / 1000)
    return _respond(_description(rt, name), is_http=is_http)


def _asked(event: Json, context: Any, *, is_http: bool) -> tuple[Any, Json]:
    """Return name and input of the execution that `event` asks for.

    Raises:
        InvalidExecutionInput: there is no input.
    """
    if is_http:
        return context.aws_request_id, _body(event)
    if isinstance(event, dict) and {"input"} <= event.keys() <= {"input", "name"}:
        return event.get("name") or context.aws_request_id, event["input"]
    found = sorted(event) if isinstance(event, dict) else type(event).__name__
    raise InvalidExecutionInput(f'expected an object of "input" and maybe "name", or an HTTP request, got {found}')


def _body(event: Mapping[str, Json]) -> Json:
    text = event.get("body") or "{}"
    try:
        return parse_foreign(base64.b64decode(text) if event.get("isBase64Encoded") else text)
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidExecutionInput(f"body: expected JSON text: {error}") from error


def _wait(rt: Runtime, execution: Execution, limit_s: float) -> None:
    """Wait until `execution` has ended, or the time is over."""
    until_s, pause_s = time.monotonic() + limit_s, FIRST_PAUSE_S
    items = rt.store if rt.large is None else rt.large.store  # no large value is needed to see the end
    while end_of(items, rt.workflow.name, execution) is None and time.monotonic() + pause_s < until_s:
        time.sleep(pause_s)
        pause_s = min(pause_s * GROWTH, LONGEST_PAUSE_S)


def _description(rt: Runtime, name: str) -> dict[str, Json]:
    """Return the execution in the shape of StartSyncExecution; times are milliseconds since 1970."""
    found = describe(rt, name)
    kept = {field: value for field, value in found.items() if field not in ("ForkedFrom", "Attributes")}
    return {field[0].lower() + field[1:]: value for field, value in kept.items()}


def _respond(found: Mapping[str, Json], *, is_http: bool) -> Json:
    if not is_http:
        return found
    status = found.get("status")
    if status == Status.SUCCEEDED:
        content = str(found["output"])
        if len(content.encode()) <= MAX_BYTES:
            return _response(200, content, found)
        return _failure(FAILED, "States.DataLimitExceeded", "the result is too large for a response", found)
    if status is None:
        return _failure(_REFUSED.get(found["error"], BAD_REQUEST), found["error"], found["message"], found)
    if status == Status.RUNNING:
        return _failure(TIMED_OUT, "States.Timeout", "the execution takes longer than a response, and continues", found)
    return _failure(FAILED, found.get("error"), found.get("cause"), found)


def _failure(code: int, error: Json, cause: Json, found: Mapping[str, Json]) -> Json:
    return _response(code, to_text({"error": error, "cause": cause}), found)


def _response(code: int, body: str, found: Mapping[str, Json]) -> Json:
    headers = {"content-type": "application/json"}
    if "executionArn" in found:
        headers["x-execution-arn"] = found["executionArn"]
    return {"statusCode": code, "headers": headers, "body": body}
