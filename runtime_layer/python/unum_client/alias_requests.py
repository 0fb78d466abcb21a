"""Synchronous requests to a workflow's start alias and control alias."""

from typing import Protocol

from unum_runtime.errors import ClientError
from unum_runtime.json_text import to_text
from unum_runtime.model.states import Json


class Caller(Protocol):
    """Synchronous invocation of functions; see `unum_runtime.functions.operations.caller`."""

    def call(self, address: str, payload: bytes) -> Json: ...  # noqa: D102 - documented there


def send_request(caller: Caller, alias: str, request: Json, *errors: type[ClientError]) -> Json:
    """Send a request and return its answer.

    Args:
        caller: connection to Lambda.
        alias: ARN of the alias.
        request: JSON object.
        errors: possible errors of an answer, recognized by class name.

    Raises:
        ClientError: the answer is an error.
    """
    answer = caller.call(alias, to_text(request).encode())
    if "error" in answer:
        kinds = {kind.__name__: kind for kind in errors}
        raise kinds.get(answer["error"], ClientError)(answer["message"])  # a later version may have other errors
    return answer
