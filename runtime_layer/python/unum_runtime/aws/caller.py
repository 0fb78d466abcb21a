"""Synchronous invocation of Lambda functions."""

import json
from dataclasses import dataclass
from typing import Any, Protocol

from unum_runtime.errors import InvokeError
from unum_runtime.model.ir import Json
from unum_runtime.wire.call_errors import call_errors

LONGEST_CALL_S = 310
"""How long the slowest function of ours may take, and a little more, in seconds."""


class LambdaClient(Protocol):
    """The call of ``boto3.client("lambda")`` that is used here, with its own parameters."""

    def invoke(self, **parameters: Any) -> Any: ...  # noqa: D102 - boto3 documents it


@dataclass(frozen=True)
class LambdaCaller:
    """Invokes functions and waits for what they answer.

    Attributes:
        client: a Lambda client.
    """

    client: LambdaClient

    def call(self, address: str, payload: bytes) -> Json:
        """What the function at `address` answers.

        Raises:
            InvokeError: it was not invoked, or failed.
        """
        try:
            response = self.client.invoke(FunctionName=address, Payload=payload)
            answer = json.load(response["Payload"])
        except call_errors() as error:
            raise InvokeError(f"{address}: {error}") from error
        if "FunctionError" in response:
            raise InvokeError(f"{address}: {response['FunctionError']}: {json.dumps(answer)}")
        return answer
