"""Immediate responses to the requests of a workflow step, without ASGI and ministack's dispatch of other services.

A workflow step reads an item, writes one, and sends an event. ASGI and the dispatch took longer than the response
itself: a task of the event loop, messages for head and body, and checks for every other service. With IAM enforced, all
requests take ministack's own path, which identifies the caller.
"""

import contextvars
import json
import logging
import zlib
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any
from uuid import uuid4

from ministack.core import responses, router
from ministack.services import dynamodb
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from unum_emulator.access.guarded_requests import AccessRefusedError, Request
from unum_emulator.access.request_guard import Guard, refused
from unum_emulator.aws_lambda import invoke_api
from unum_emulator.aws_services.single_writes import SingleWriteProtocol

logger = logging.getLogger(__name__)

_OPERATIONS = {
    b"DynamoDB_20120810.PutItem": dynamodb._put_item,
    b"DynamoDB_20120810.GetItem": dynamodb._get_item,
    b"DynamoDB_20120810.UpdateItem": dynamodb._update_item,
    b"DynamoDB_20120810.DeleteItem": dynamodb._delete_item,
    b"DynamoDB_20120810.Query": dynamodb._query,
    b"DynamoDB_20120810.BatchGetItem": dynamodb._batch_get_item,
}

Response = tuple[int, Mapping[str, str], bytes]
Answer = Callable[[bytes], Response]


class FastPath(SingleWriteProtocol):
    """uvicorn's protocol, with immediate responses to requests that need no wait."""

    _answer: Answer | None = None
    """Function that answers the current request; None on the slow path."""
    guard: Guard

    @classmethod
    def behind(cls, guard: Guard) -> "type[FastPath]":
        """Return the protocol with a guard; uvicorn makes one object of it for each connection."""
        return type(cls.__name__, (cls,), {"guard": guard})

    def on_headers_complete(self) -> None:
        """Choose the request's path."""
        self._answer, self._body = self._find_answer(), bytearray()
        if self._answer is None:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Collect the body."""
        if self._answer is None:
            super().on_body(body)
        else:
            self._body += body

    def on_message_complete(self) -> None:
        """Answer the request in a new context."""
        if self._answer is None:
            super().on_message_complete()
        else:
            body = bytes(self._body)
            request = Request.of("POST", self.url.decode("latin-1"), self.headers)
            try:
                self.guard.admit_signed(request, body)
            except AccessRefusedError as error:
                self.transport.write_whole(_serialize(*refused(request, error)))
                return
            response = contextvars.copy_context().run(_answer_in_scope, self._answer, dict(self.headers), body)
            self.transport.write_whole(_serialize(*response))

    def _find_answer(self) -> Answer | None:
        """Return the function that answers the request, or None on the slow path."""
        # Responses leave in the order of requests (HTTP pipelining), so no request may overtake a slow one.
        waits = self.expect_100_continue or (self.cycle is not None and not self.cycle.response_complete)
        if waits or self.parser.get_method() != b"POST" or not self.parser.should_keep_alive():
            return None
        headers = dict(self.headers)
        if b"content-encoding" in headers:
            return None
        if self.url == b"/":
            operation = _OPERATIONS.get(headers.get(b"x-amz-target", b""))
            return operation and partial(_answer_items, operation)
        if headers.get(b"x-amz-invocation-type") == b"Event":
            function = invoke_api.invoked_function(self.url.decode("latin-1"))
            return partial(_accept_event, function, headers) if function else None
        return None


def _answer_in_scope(answer: Answer, headers: Mapping[bytes, bytes], body: bytes) -> Response:
    """Answer in the caller's account and region."""
    access_key, region = _caller(headers.get(b"authorization", b"").split(b",")[0])
    responses.set_request_account_id(access_key)
    responses.set_request_region(region)
    try:
        return answer(body)
    except Exception as error:  # ministack answers the same
        logger.exception("%s", answer)
        return 500, {}, json.dumps({"__type": "InternalError", "message": str(error)}).encode()


@lru_cache
def _caller(credential: bytes) -> tuple[str, str]:
    """Return access key and region from a request's credential; cached, because clients have few."""
    headers = {"authorization": credential.decode("latin-1")}
    return router.extract_access_key_id(headers, {}), router.extract_region(headers, {})


def _answer_items(operation: Callable[[Any], Any], body: bytes) -> Response:
    try:
        request = json.loads(body or b"{}")
    except json.JSONDecodeError:
        refused: Response = responses.error_response_json("SerializationException", "Invalid JSON", 400)
        return refused
    # SDKs check DynamoDB's x-amz-crc32 and repeat a request whose response does not match.
    status, fields, content = operation(request)
    return status, {**fields, "x-amzn-requestid": str(uuid4()), "x-amz-crc32": str(zlib.crc32(content))}, content


def _accept_event(function: str, headers: Mapping[bytes, bytes], body: bytes) -> Response:
    request_id = str(uuid4())
    names = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers.items()}
    status, fields, content = invoke_api.accept(request_id, function, names, body)
    responses.fix_error_content_type("lambda", status, fields)
    return status, {**fields, "x-amzn-requestid": request_id}, content


def _serialize(status: int, fields: Mapping[str, str], content: bytes) -> bytes:
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    head += f"content-length: {len(content)}\r\n\r\n"
    return b"".join((STATUS_LINE[status], head.encode("latin-1"), content))
