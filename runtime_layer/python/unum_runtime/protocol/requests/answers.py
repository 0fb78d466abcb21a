"""Answers to synchronous requests: errors, and values that exceed a synchronous invocation."""

from collections.abc import Callable, Mapping
from typing import Protocol

from unum_runtime.errors import ClientError
from unum_runtime.model.envelope import other_version
from unum_runtime.model.states import Json

INVALID_REQUEST = "ValidationException"

MAX_BYTES = 5_900_000
"""Largest request or answer of a synchronous invocation, with some space for the fields around a value.

Source: AWS Lambda Developer Guide, "Lambda quotas": 6 MB for each synchronous request and response.
"""


class Links(Protocol):
    """Maker of links to the objects of large values; see `unum_runtime.aws.object_bucket`."""

    def upload(self, name: str, *, size: int, sha256: str) -> dict[str, Json]:
        """Return ``url`` and ``headers`` to upload one object."""
        ...

    def download(self, name: str) -> str:
        """Return the URL from which the content of one object may be read."""
        ...


def refusal(name: str, message: str) -> Json:
    """Return an error response; `name` is boto3's exception name."""
    return {"error": name, "message": message}


def answered(event: Mapping[str, Json], execute: Callable[[], Json]) -> Json:
    """Return the result of `execute`, or an error response if the request `event` is refused.

    Raises:
        UnumError: the request may be executed or not; repeat it.
    """
    fault = other_version(event)
    if fault is not None:
        return refusal(INVALID_REQUEST, fault)
    try:
        return execute()
    except ClientError as error:
        return refusal(type(error).__name__, str(error))
