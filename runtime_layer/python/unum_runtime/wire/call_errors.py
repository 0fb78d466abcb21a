"""Errors of AWS requests, from this package or from botocore, without an import of botocore."""

import sys
from collections.abc import Mapping
from typing import Any

from unum_runtime.errors import InvokeError, RouteGone, StoreDenied, StoreError


class Unsupported(Exception):
    """Configuration that only botocore supports."""


class CallError(Exception):
    """Error response of an AWS API, or no response.

    Attributes:
        response: error response in the shape of botocore's `ClientError.response`; empty without a response.
    """

    def __init__(self, message: str, response: Mapping[str, Any] | None = None) -> None:
        self.response = response or {}
        super().__init__(message)


DENIED = frozenset({"AccessDenied", "AccessDeniedException"})
"""Error names of refused permissions; SQS has the first, Lambda and DynamoDB the second."""

DELETED = frozenset({"ResourceNotFoundException", "QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue"})
"""Error names of functions, versions, aliases and queues that do not exist."""


def call_errors() -> tuple[type[Exception], ...]:
    """Return the exception types of failed calls, for use in ``except``."""
    # Python evaluates an ``except`` expression only after an exception, so botocore is loaded by then if it is in use.
    botocore = sys.modules.get("botocore.exceptions")
    return (CallError,) if botocore is None else (CallError, botocore.ClientError, botocore.BotoCoreError)


def invoke_error(place: str, error: Exception) -> InvokeError:
    """Return the error of a call for `place`, a function or queue, which a deployment may have removed."""
    code = error_code(error)
    if code in DENIED or code in DELETED:
        return RouteGone(place, error, is_deleted=code in DELETED)
    return InvokeError(f"{place}: {error}")


def store_error(place: str, error: Exception) -> StoreError:
    """Return the error of a store operation at `place`: a lost permission does not come back by a retry."""
    kind = StoreDenied if error_code(error) in DENIED else StoreError
    return kind(f"{place}: {error}")


def error_response(error: Exception) -> Mapping[str, Any]:
    """Return the API's error response; empty without a response."""
    response: Mapping[str, Any] = getattr(error, "response", {})
    return response


def error_code(error: Exception) -> str | None:
    """Return the API's error name; None without a response."""
    code: str | None = error_response(error).get("Error", {}).get("Code")
    return code
