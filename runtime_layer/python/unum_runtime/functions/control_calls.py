"""Requests of the intake to the control function: nudges, and requests of clients of release 0.1.0."""

import os

from unum_runtime.aws.caller import LambdaCaller
from unum_runtime.functions.function_versions import lambda_client
from unum_runtime.json_text import to_text
from unum_runtime.model.naming import door_alias
from unum_runtime.model.states import Json
from unum_runtime.protocol.control.doors import FORMER, Door, door_for
from unum_runtime.protocol.control.operator_requests import is_request

CONTROL = "UNUM_CONTROL"
"""Environment variable with the ARN of the control function."""


def ask_control(workflow: str, event: Json) -> Json:
    """Send `event` to the door of the control function that takes it, and return the answer.

    Raises:
        InvokeError: the control function did not answer.
    """
    # Whatever is no known request is refused at any door, with the reason.
    asked = door_for(event["control"]) if is_request(event) else None
    door = asked if asked in FORMER else Door.NUDGE
    address = f"{os.environ[CONTROL]}:{door_alias(door, workflow)}"
    return LambdaCaller(lambda_client()).call(address, to_text(event).encode())
