"""An invocation's metadata between the Invoke API and the sandbox, and Lambda's payload quotas.

ministack does not enforce the quotas: 6 MB each for a synchronous request and its response, 1 MB for an asynchronous
event.
https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html#function-configuration-deployment-and-execution
"""

import contextvars
import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from unum_emulator.aws_lambda.recursion import Lineage


class InvocationType(StrEnum):
    """Lambda's invocation types."""

    REQUEST_RESPONSE = "RequestResponse"
    EVENT = "Event"
    DRY_RUN = "DryRun"


@dataclass(frozen=True)
class Invocation:
    """Identity of an invocation, equal in all retries of an asynchronous event.

    Attributes:
        request_id: id in the caller's `x-amzn-RequestId` and in the handler's context.
        lineage: preceding chain of requests, without this invocation.
        kind: invocation type; events from services are asynchronous.
    """

    request_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    lineage: Lineage = field(default_factory=Lineage.new)
    kind: InvocationType = InvocationType.EVENT


_current: contextvars.ContextVar[Invocation | None] = contextvars.ContextVar("invocation", default=None)


def current_invocation() -> Invocation:
    """Return the invocation that the Invoke API accepted, or a new one for a service's own event."""
    return _current.get() or Invocation()


@contextmanager
def as_current(invocation: Invocation) -> Iterator[None]:
    """Make `invocation` the current one in this context."""
    token = _current.set(invocation)
    try:
        yield
    finally:
        _current.reset(token)


_MB = 1024 * 1024
REQUEST_BYTES = {InvocationType.REQUEST_RESPONSE: 6 * _MB, InvocationType.EVENT: _MB}
# Lambda's own error message names 6 MB plus 100 bytes.
RESPONSE_BYTES = 6 * _MB + 100

Response = tuple[int, dict[str, str], bytes]


def refusal(body: bytes, kind: InvocationType) -> Response | None:
    """Return Lambda's error response to an invalid payload, or None for a valid one."""
    limit = REQUEST_BYTES.get(kind)
    if limit is not None and len(body) > limit:
        message = f"{len(body)} byte payload is too large for the {kind} invocation type (limit {limit} bytes)"
        return _error(413, "RequestEntityTooLargeException", message)
    try:
        json.loads(body or b"{}")
    except ValueError as error:
        return _error(400, "InvalidRequestContentException", f"Could not parse request body into json: {error}")
    return None


def response_error(size: int) -> dict[str, Any] | None:
    """Return the function error that replaces a response of `size` bytes, or None within the quota."""
    if size <= RESPONSE_BYTES:
        return None
    return {
        "errorType": "Function.ResponseSizeTooLarge",
        "errorMessage": f"Response payload size exceeded maximum allowed payload size ({RESPONSE_BYTES} bytes).",
    }


def _error(status: int, code: str, message: str) -> Response:
    body = json.dumps({"Type": "User", "message": message}).encode()
    return status, {"Content-Type": "application/json", "X-Amzn-ErrorType": code}, body
