"""Request for the deployed definition: the control alias leads to the deployed version, which knows its own."""

from unum_runtime.model.envelope import MARK, WIRE_VERSION
from unum_runtime.model.states import Json
from unum_runtime.protocol.control.operator_requests import is_request as is_control_request
from unum_runtime.protocol.requests.definition_records import write_definition
from unum_runtime.protocol.runtime import Runtime

DEFINITION = "definition"
"""Value of a request's ``control`` field, beside those of `Control`."""


def request() -> dict[str, Json]:
    """Return the event of the request."""
    return {MARK: WIRE_VERSION, "control": DEFINITION}


def is_request(event: Json) -> bool:
    """Return True if `event` asks for the deployed definition."""
    return is_control_request(event) and event["control"] == DEFINITION


def answer(rt: Runtime) -> Json:
    """Store the definition of `rt`, and return its digest, by which clients read it.

    Raises:
        StoreError: the definition may be stored or not; ask again.
    """
    # Only the digest: a definition may be larger than an answer of Lambda.
    write_definition(rt)
    return {"digest": rt.workflow.digest}
