"""Errors of calls to AWS, of our own client and of botocore, which is not loaded to name them."""

import sys
from collections.abc import Mapping
from typing import Any


class Unsupported(Exception):
    """The environment asks for something that only botocore can do."""


class CallError(Exception):
    """An AWS API answered with an error, or not at all.

    Attributes:
        response: what was answered, in the shape that botocore's `ClientError.response` has; empty for no answer.
    """

    def __init__(self, message: str, response: Mapping[str, Any] | None = None) -> None:
        self.response = response or {}
        super().__init__(message)


def call_errors() -> tuple[type[Exception], ...]:
    """What a failed call may raise: an expression for ``except``, which is evaluated when something was raised."""
    botocore = sys.modules.get("botocore.exceptions")
    return (CallError,) if botocore is None else (CallError, botocore.ClientError, botocore.BotoCoreError)


def error_response(error: Exception) -> Mapping[str, Any]:
    """What the API answered; empty where it did not."""
    response: Mapping[str, Any] = getattr(error, "response", {})
    return response


def error_code(error: Exception) -> str | None:
    """The name that the API gives the error; None where it did not answer."""
    code: str | None = error_response(error).get("Error", {}).get("Code")
    return code
