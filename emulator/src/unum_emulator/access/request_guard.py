"""Check of each request before a service of the emulator reads it, on both paths."""

import uuid
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from ministack import app
from ministack.core import router

from unum_emulator.access import opened_endpoints, signatures
from unum_emulator.access.access_keys import Keys
from unum_emulator.access.guarded_requests import AccessRefusedError, Request
from unum_emulator.access.opened_endpoints import Origins, is_followed_link


class Guard:
    """Decisions of one emulator."""

    def __init__(self, keys: Keys, origins: Origins) -> None:
        self._keys = keys
        self._origins = origins

    def admit_head(self, request: Request) -> bool:
        """Decide on a request before its body arrives.

        Returns:
            True if the request also needs a signature, which covers the body.

        Raises:
            AccessRefusedError: foreign host, foreign origin, or no signature where one is needed.
        """
        self._admit_origin(request)
        if opened_endpoints.needs_no_signature(request) or self.is_preflight(request):
            return False
        if not signatures.is_attempted(request):
            signatures.verify(request, b"", self._keys.secret)  # raises an error that says what is missing
        return True

    def admit_signed(self, request: Request, body: bytes) -> None:
        """Return if `request`, of a kind that always needs a signature, comes from here and is signed.

        Raises:
            AccessRefusedError: it does not, or is not.
        """
        self._admit_origin(request)
        self.admit_body(request, body)

    def admit_body(self, request: Request, body: bytes) -> None:
        """Return if the signature of `request` fits.

        Raises:
            AccessRefusedError: it does not.
        """
        signatures.verify(request, body, self._keys.secret)

    def is_preflight(self, request: Request) -> bool:
        """Return True if `request` is a preflight of another origin, whose endpoint allows that origin."""
        return request.method == "OPTIONS" and self._origins.is_foreign(request) and self._allows(request)

    def _admit_origin(self, request: Request) -> None:
        """Return if neither the host nor the origin of `request` is foreign, or the app allows that origin.

        Raises:
            AccessRefusedError: one of them is.
        """
        if not self._origins.is_own_host(request):
            raise AccessRefusedError(
                "AccessDenied",
                f"Host: expected 127.0.0.1:{self._origins.port} or localhost:{self._origins.port}, got "
                f"{request.host!r}. The emulator answers under these names only.",
            )
        if self._origins.is_foreign(request) and not self._may_use(request):
            raise AccessRefusedError(
                "AccessDenied",
                f"Origin: {request.origin or 'another site'!r} is not this emulator's. Web pages of other origins may "
                "use a function URL, an HTTP API or a bucket whose CORS settings name their origin.",
            )

    def _may_use(self, request: Request) -> bool:
        # A person who follows a link or sees an image gets the answer; the page that shows them does not.
        return self._allows(request) or is_followed_link(request) or _is_presigned_download(request)

    def _allows(self, request: Request) -> bool:
        return request.origin is not None and opened_endpoints.allows_origin(request, request.origin)


def _is_presigned_download(request: Request) -> bool:
    """Return True for a presigned URL that a page embeds as an image or a download."""
    return request.origin is None and request.method in ("GET", "HEAD") and signatures.is_presigned(request)


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
