"""Requests to DynamoDB go straight to ministack's dispatcher, past what it does for those that may be of any service.

A step of a workflow makes two of them, and that took as long as what DynamoDB itself does. Where IAM is enforced,
all requests take ministack's own way, on which the caller is pinned.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from uuid import uuid4

from ministack import app
from ministack.core import responses, router

_TARGET = "DynamoDB_20120810."

Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]


async def answer(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request; an ASGI application."""
    if scope["type"] == "http" and scope["path"] == "/" and scope["method"] == "POST" and not app.AUTH:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if headers.get("x-amz-target", "").startswith(_TARGET):
            await _answer(headers, receive, send)
            return
    await app.app(scope, receive, send)


async def _answer(headers: dict[str, str], receive: Receive, send: Send) -> None:
    responses.set_request_account_id(router.extract_access_key_id(headers, {}))
    responses.set_request_region(router.extract_region(headers, {}))
    try:
        body = await app._read_request_body(receive, "POST", headers)
    except app._RequestBodyDisconnected:
        return
    answered = await app._dispatch_service_request("POST", "/", headers, body, {}, str(uuid4()))
    await app._send_response(send, *answered)
