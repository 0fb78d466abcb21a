"""Signed requests to one AWS API, with retries of transient failures.

Retry rules of the AWS SDKs' standard mode: transient errors, and pauses with exponential backoff.

Source: AWS SDKs and Tools Reference Guide, "Retry behavior".
"""

import os
import time
from collections.abc import Mapping
from threading import local
from typing import Any
from urllib.parse import quote

from unum_runtime.json_text import parse_json
from unum_runtime.wire.call_errors import CallError, error_code
from unum_runtime.wire.connections import Connections
from unum_runtime.wire.responses import Response
from unum_runtime.wire.routes import Route
from unum_runtime.wire.signing import Signer

MAX_ATTEMPTS = 6
"""Maximum number of attempts, first attempt included."""

PAUSE_S = 0.05
THROTTLED_PAUSE_S = 1.0
MAX_PAUSE_S = 20.0
"""Upper limits of the pause: before the first retry, before the first retry after throttling, before any retry."""

_THROTTLED = frozenset(
    {
        "BandwidthLimitExceeded",
        "EC2ThrottledException",
        "LimitExceededException",
        "PriorRequestNotComplete",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "SlowDown",
        "ThrottledException",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
        "TransactionInProgressException",
    }
)
_TIMED_OUT = frozenset({"RequestTimeout", "RequestTimeoutException"})
_SERVER_ERRORS = frozenset({500, 502, 503, 504})

CARRIED = local()
"""Attribute `trace`: tracing header of the event that a thread forwards, in place of its delivery's own."""


def is_transient(error: CallError) -> bool:
    """Return True if the same call may succeed later."""
    return not error.response or (
        error_code(error) in _THROTTLED | _TIMED_OUT
        or error.response["ResponseMetadata"]["HTTPStatusCode"] in _SERVER_ERRORS
    )


def pause_s(attempt: int, error: CallError) -> float:
    """Return seconds to wait after `attempt`, counted from 0, failed with `error`."""
    from random import uniform  # noqa: PLC0415 - loaded only after a failed attempt

    first = THROTTLED_PAUSE_S if error_code(error) in _THROTTLED else PAUSE_S
    # Full jitter: without it all throttled sandboxes of a fan-out would retry together.
    return uniform(0, min(MAX_PAUSE_S, first * 2**attempt))  # noqa: S311 - jitter needs no secrecy


class Api:
    """One AWS service in one region; threads may share it."""

    def __init__(self, route: Route, signer: Signer) -> None:
        self._route = route
        self._signer = signer
        self.connections = Connections(route)

    def post(self, path: str, headers: Mapping[str, str], body: bytes) -> Response:
        """Send an idempotent request, which may arrive twice, and return the response.

        Args:
            path: URL-encoded path.
            headers: headers of this request, with lower-case names.
            body: request body.

        Raises:
            CallError: the API returned an error, or no response after `MAX_ATTEMPTS` attempts.
        """
        for attempt in range(MAX_ATTEMPTS - 1):
            try:
                return self._post(path, headers, body)
            except CallError as error:
                if not is_transient(error):
                    raise
                time.sleep(pause_s(attempt, error))
        return self._post(path, headers, body)

    def _post(self, path: str, headers: Mapping[str, str], body: bytes) -> Response:
        full_path = self._route.path + path
        headers = {"host": self._route.name, **headers}
        # Each attempt needs a new signature: AWS rejects signatures older than five minutes.
        signed = self._signer.sign("POST", full_path, headers, body, time.time())
        try:
            response = self.connections.exchange(_message(full_path, signed, body))
        except OSError as error:
            raise CallError(f"{self._route.name}: {type(error).__name__}: {error}") from error
        if response.status // 100 != 2:  # noqa: PLR2004 - every 2xx status is success
            raise _failure(response)
        return response


def _message(path: str, headers: Mapping[str, str], body: bytes) -> bytes:
    unsigned = {"user-agent": "unum-runtime", "content-length": str(len(body)), **_trace()}
    lines = [f"{name}: {value}\r\n" for name, value in {**headers, **unsigned}.items()]
    return f"POST {path} HTTP/1.1\r\n{''.join(lines)}\r\n".encode("latin-1") + body


def _trace() -> dict[str, str]:
    """Return the tracing header that Lambda's recursive loop detection needs.

    Source: AWS Lambda Developer Guide, "Use Lambda recursive loop detection to prevent infinite loops".
    """
    trace_id = getattr(CARRIED, "trace", None) or os.environ.get("_X_AMZN_TRACE_ID")
    return {"x-amzn-trace-id": quote(trace_id, safe="-=;:+&[]{}\"',")} if trace_id else {}


def _failure(response: Response) -> CallError:
    """Return the error of a response, in botocore's shape."""
    try:
        parsed = parse_json(response.body)
    except ValueError:
        parsed = None  # a proxy or load balancer may answer with HTML
    body: dict[str, Any] = parsed if isinstance(parsed, dict) else {}
    # Lambda names the error in a header, DynamoDB and SQS in the body, as "namespace#Name" or "Name:url".
    name: str = response.headers.get("x-amzn-errortype") or body.get("__type") or str(response.status)
    code = name.partition(":")[0].rpartition("#")[2]
    message = body.get("message") or body.get("Message") or response.body[:200].decode(errors="replace")
    error = {"Error": {"Code": code, "Message": message}, "ResponseMetadata": {"HTTPStatusCode": response.status}}
    return CallError(f"{code}: {message}", {**body, **error})
