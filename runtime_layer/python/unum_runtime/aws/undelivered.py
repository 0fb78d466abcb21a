"""Events that cannot be handed on: given to whoever gets the events that Lambda itself gives up.

That is the on-failure destination of the version that the event is for: the failure handler of the version of the
workflow that its execution runs on. So the event needs not say who that is.
"""

from collections.abc import Callable
from typing import Any

from unum_runtime.aws.invoker import LambdaInvoker
from unum_runtime.aws.timer import Delayed
from unum_runtime.cold_start.records import dataclass
from unum_runtime.errors import InvokeError
from unum_runtime.model.checkpoint import to_text
from unum_runtime.model.ir import Json
from unum_runtime.wire.call_errors import call_errors, error_code

NO_ANSWER = "SdkClientException"
"""What Step Functions calls it when Lambda's API does not answer. Source: AWS Step Functions Developer Guide, "Handle
Lambda service exceptions"."""


@dataclass(frozen=True)
class Undelivered:
    """Reports events that cannot be handed on.

    Attributes:
        invoker: reaches failure handlers.
        functions: makes a client of Lambda for any call, when the first such event needs it.
    """

    invoker: LambdaInvoker
    functions: Callable[[], Any]

    def report(self, delayed: Delayed, message_id: str, error: InvokeError) -> None:
        """Have the failure handler go on from an event whose Task fails with `error`.

        Raises:
            InvokeError: there is nobody to tell, or the handler was not reached.
        """
        handler = self._destination(delayed.address)
        if not handler:
            raise InvokeError(f"{delayed.address}: has no on-failure destination; {error}")
        self.invoker.invoke([(handler, to_text(_record(delayed, message_id, error)).encode())])

    def _destination(self, address: str) -> str:
        try:
            found = self.functions().get_function_event_invoke_config(FunctionName=address)
        except call_errors() as error:
            raise InvokeError(f"{address}: its on-failure destination is not known: {error}") from error
        destination: str = found.get("DestinationConfig", {}).get("OnFailure", {}).get("Destination", "")
        return destination


def _record(delayed: Delayed, message_id: str, error: InvokeError) -> Json:
    """As Lambda's own, as far as the failure handler reads it; the error has the name that Step Functions gives it.

    Source: AWS Lambda Developer Guide, "Capturing records of Lambda asynchronous invocations".
    """
    code = error_code(error.__cause__) if isinstance(error.__cause__, Exception) else None
    return {
        "requestContext": {
            "requestId": message_id,
            "functionArn": delayed.address,
            "condition": "RetriesExhausted",
            "approximateInvokeCount": 0,
        },
        "requestPayload": delayed.event,
        "responsePayload": {"errorType": f"Lambda.{code or NO_ANSWER}", "errorMessage": str(error)},
    }
