"""Lambda's payload quotas, which ministack does not enforce.

6 MB each for a synchronous request and its response, 1 MB for an asynchronous event.
https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html#function-configuration-deployment-and-execution
"""

import json
from typing import Any

from unum_emulator.aws_lambda.invocation import InvocationType

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
