"""Invoke API in front of ministack's: quotas, request ids, and chains of requests.

https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html ministack gives caller and handler different request ids,
so logs cannot be matched with calls.
"""

import json
import re
from collections.abc import Coroutine, Mapping
from typing import Any
from urllib.parse import unquote

from ministack import app
from ministack.services import lambda_svc

from unum_emulator.aws_lambda import invocation, recursion
from unum_emulator.aws_lambda.function_version import FunctionRef
from unum_emulator.aws_lambda.invocation import Invocation, InvocationType
from unum_emulator.aws_lambda.recursion import Lineage
from unum_emulator.patching import replace

_INVOKE_PATH = re.compile(r"/\d{4}-\d{2}-\d{2}/functions/(?P<function>[^/?]+)/invocations/?")


def install() -> None:
    """Intercept Invoke requests before ministack's Lambda API."""
    _identify_invocations()
    _refuse_payloads()
    replace(lambda_svc, "_recursive_loop_drop", _recursive_loop_drop)


def invoked_function(path: str) -> str | None:
    """Return the function's name or ARN from the path of an Invoke request, or None for other requests."""
    found = _INVOKE_PATH.fullmatch(path)
    return unquote(found["function"]) if found else None


def accept(request_id: str, function: str, headers: Mapping[str, str], body: bytes) -> invocation.Response:
    """Accept an event like ministack's dispatcher, for a request known to be an asynchronous Invoke.

    Args:
        request_id: id for the response and the handler's context.
        function: name or ARN.
        headers: request headers, with lower-case names.
        body: the payload.
    """
    if refused := invocation.refusal(body, InvocationType.EVENT):
        return refused
    name, qualifier = lambda_svc._resolve_request_scoped_name_and_qualifier(function)
    with invocation.as_current(Invocation(request_id, Lineage.parse(headers.get(recursion.HEADER)))):
        answer: invocation.Response = _run_to_end(
            lambda_svc._invoke(name, json.loads(body or b"{}"), headers, qualifier)
        )
        return answer


def _run_to_end(work: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine that never waits, and return its result."""
    try:
        work.send(None)
    except StopIteration as returned:
        return returned.value
    raise RuntimeError(f"{work}: expected a coroutine that never waits")


def _identify_invocations() -> None:
    """Use the response's request id for the handler, too."""
    original = replace(app, "_dispatch_service_request", None)

    async def dispatch(
        method: str, path: str, headers: Mapping[str, str], body: bytes, query: Any, request_id: str
    ) -> Any:
        if not _is_invoke(method, path):
            return await original(method, path, headers, body, query, request_id)
        lineage = Lineage.parse(headers.get(recursion.HEADER))
        with invocation.as_current(Invocation(request_id, lineage, _kind(headers))):
            return await original(method, path, headers, body, query, request_id)

    replace(app, "_dispatch_service_request", dispatch)


def _refuse_payloads() -> None:
    """Check payloads after the caller's permissions, as AWS does."""
    original = replace(lambda_svc, "handle_request", None)

    async def handle_request(method: str, path: str, headers: Mapping[str, str], body: bytes, query: Any) -> Any:
        refused = invocation.refusal(body, _kind(headers)) if _is_invoke(method, path) else None
        return refused or await original(method, path, headers, body, query)

    replace(lambda_svc, "handle_request", handle_request)


def _is_invoke(method: str, path: str) -> bool:
    return method == "POST" and invoked_function(path) is not None


def _kind(headers: Mapping[str, str]) -> InvocationType:
    return InvocationType(headers.get("x-amz-invocation-type", InvocationType.REQUEST_RESPONSE))


def _recursive_loop_drop(name: str, _func: Mapping[str, Any], _depth: int) -> Any:
    """Return a loop's error to a synchronous caller; the queue accepts an asynchronous event, and drops it later."""
    identity = invocation.current_invocation()
    function = FunctionRef.parse(lambda_svc._func_arn(name))
    if identity.kind is InvocationType.EVENT or not identity.lineage.exceeds(function):
        return None
    error = recursion.loop_error(function)
    return lambda_svc.error_response_json(error["errorType"], error["errorMessage"], 400)
