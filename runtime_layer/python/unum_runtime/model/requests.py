"""Requests at the run alias and the describe alias that are answered; see `unum_runtime.protocol.requests`."""

from collections.abc import Mapping

from unum_runtime.model.checkpoint import REFERENCE
from unum_runtime.model.envelope import ATTRIBUTES, MARK, WIRE_VERSION
from unum_runtime.model.states import Json

INPUT, UPLOADED = "input", f"input{REFERENCE}"
"""Fields of an input by value, and by reference to an upload."""


PAUSE_REQUEST: Mapping[str, Json] = {MARK: WIRE_VERSION, "pause": True}
"""The event that is answered with the pause of the workflow."""


def run_request(
    execution_name: str,
    content: Mapping[str, Json],
    *,
    lease: bool = False,
    force: bool = False,
    attributes: Mapping[str, Json] | None = None,
) -> dict[str, Json]:
    """Return the event of a start that is answered.

    Args:
        execution_name: the execution.
        content: the input, as `INPUT`; or the reference to an uploaded one, as `UPLOADED`.
        lease: True to share the start with other callers that use leases.
        force: True for an execution whose Tasks compute memoized results anew.
        attributes: attributes of the execution.
    """
    request = {MARK: WIRE_VERSION, "start": execution_name, **content, "answer": True}
    if attributes:
        request[ATTRIBUTES] = dict(attributes)
    flags = (("lease", lease), ("force", force))
    return request | {name: True for name, is_set in flags if is_set}


def upload_request(sha256: str, size: int) -> dict[str, Json]:
    """Return the event that is answered with a link for one input, whose JSON text has this digest and size."""
    return {MARK: WIRE_VERSION, "upload": sha256, "bytes": size}


def uploaded_event(
    execution_name: str, reference: str, attributes: Mapping[str, Json] | None = None
) -> dict[str, Json]:
    """Return the event that starts an execution with an uploaded input, without an answer."""
    event = {MARK: WIRE_VERSION, "start": execution_name, UPLOADED: reference}
    return event | {ATTRIBUTES: dict(attributes)} if attributes else event


def describe_request(execution_name: str, *, status_only: bool = False) -> dict[str, Json]:
    """Return the event that is answered with an execution's description.

    Args:
        execution_name: the execution.
        status_only: True for the status alone, which needs no large value.
    """
    request = {MARK: WIRE_VERSION, "describe": execution_name}
    return request | {"status": True} if status_only else request
