"""Application of the guard's decisions to ministack's ASGI application and to the fast path."""

import uuid
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from ministack import app
from ministack.core import router

from unum_emulator.access import opened_endpoints
from unum_emulator.access.guarded_requests import AccessRefusedError, Request
from unum_emulator.access.request_guard import Guard

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]
Response = tuple[int, dict[str, str], bytes]

_CORS = b"access-control-"


class GuardedApplication:
    """ministack's application behind the guard."""

    def __init__(self, inner: Application, guard: Guard) -> None:
        self._inner = inner
        self._guard = guard

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request, or start and end with the server."""
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        request = _request_of(scope)
        try:
            if self._guard.admit_head(request):
                body = await _read(receive)
                if body is None:
                    return
                self._guard.admit_body(request, body)
                receive = _replayed(body, receive)
        except AccessRefusedError as error:
            await _answer(send, refused(request, error))
            return
        if self._guard.is_preflight(request) and not opened_endpoints.has_cors_of_its_own(request):
            await _answer(send, opened_endpoints.preflight(request))
            return
        await self._inner(scope, receive, _with_cors_of(request, send))


def refused(request: Request, error: AccessRefusedError) -> Response:
    """Return the error in the protocol of the service that the request names."""
    headers = dict(request.headers)
    parameters: dict[str, list[str]] = {}
    for name, value in request.parameters:
        parameters.setdefault(name, []).append(value)
    # An unsigned request names no service; without one, ministack guesses S3.
    own = "lambda" if opened_endpoints.has_cors_of_its_own(request) else None
    service = own or router.detect_service(request.method, request.path, headers, parameters)
    response: Response = app._credential_failure(service, "", str(uuid.uuid4()), error, headers)
    return response


def _request_of(scope: Message) -> Request:
    query = scope["query_string"].decode("latin-1")
    target = scope["raw_path"].decode("latin-1") + (f"?{query}" if query else "")
    return Request.of(scope["method"], target, scope["headers"])


async def _read(receive: Receive) -> bytes | None:
    """Return the whole body, or None if the client has gone."""
    parts = []
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return a channel that yields `body` first."""
    left = [body]

    async def replay() -> Message:
        if left:
            return {"type": "http.request", "body": left.pop(), "more_body": False}
        return await receive()

    return replay


def _with_cors_of(request: Request, send: Send) -> Send:
    """Return a channel without ministack's wildcards; an app's own CORS headers stay."""
    if opened_endpoints.has_cors_of_its_own(request):
        return send
    added = opened_endpoints.bucket_headers(request) if request.origin is not None else {}
    fields = [(name.lower().encode(), value.encode()) for name, value in added.items()]

    async def send_without_wildcards(message: Message) -> None:
        if message["type"] == "http.response.start":
            kept = [field for field in message["headers"] if not field[0].lower().startswith(_CORS)]
            message = {**message, "headers": [*kept, *fields]}
        await send(message)

    return send_without_wildcards


async def _answer(send: Send, response: Response) -> None:
    await app._send_response(send, *response)
