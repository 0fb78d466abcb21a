"""Synchronous invocation of Lambda functions."""

from dataclasses import dataclass
from typing import Any

from unum_runtime.errors import InvokeError
from unum_runtime.json_text import parse_json, to_ascii
from unum_runtime.model.states import Json
from unum_runtime.wire.call_errors import call_errors, invoke_error

LONGEST_CALL_S = 310
"""Read timeout in seconds, above the control function's timeout of 300 s."""


@dataclass(frozen=True)
class LambdaCaller:
    """Synchronous requests to Lambda functions.

    Attributes:
        client: Lambda client.
    """

    client: Any

    def call(self, address: str, payload: bytes) -> Json:
        """Invoke the function at `address` and return its JSON response.

        Raises:
            RouteGone: Lambda refuses this caller, or nothing exists at `address`.
            InvokeError: Lambda rejected the invocation, or the function failed.
        """
        try:
            response = self.client.invoke(FunctionName=address, Payload=payload)
            answer = parse_json(response["Payload"].read())
        except call_errors() as error:
            raise invoke_error(address, error) from error
        # Lambda answers 200 even if the function raised an error; only this field tells (API reference, Invoke).
        if "FunctionError" in response:
            raise InvokeError(f"{address}: {response['FunctionError']}: {to_ascii(answer)}")
        return answer
