"""Reports of undeliverable events to the failure handler, like Lambda's own reports of dropped events.

The target is the on-failure destination of the event's function version, so the report reaches the failure handler of
the version on which the execution runs. The event itself need not name it.
"""

from collections.abc import Callable
from typing import Any

from unum_runtime.aws.invoker import LambdaInvoker
from unum_runtime.cold_start.records import dataclass
from unum_runtime.errors import InvokeError
from unum_runtime.features.timers.sqs_timer import Delayed
from unum_runtime.json_text import to_text
from unum_runtime.model.states import Json
from unum_runtime.wire.call_errors import call_errors, error_code

NO_ANSWER = "SdkClientException"
"""Step Functions' error name, after ``Lambda.``, for a Lambda API that does not answer.
Source: AWS Step Functions Developer Guide, "Handle Lambda service exceptions"."""


@dataclass(frozen=True)
class Undelivered:
    """Reports of undeliverable events.

    Attributes:
        invoker: invoker of failure handlers.
        functions: function that returns a full Lambda client; called for the first such event.
    """

    invoker: LambdaInvoker
    functions: Callable[[], Any]

    def report(self, delayed: Delayed, message_id: str, error: InvokeError) -> None:
        """Send the event to its failure handler, as a failure of its Task with `error`.

        Raises:
            InvokeError: the version has no on-failure destination, or the failure handler was not reached.
        """
        handler = self._destination(delayed.address)
        if not handler:
            raise InvokeError(f"{delayed.address}: has no on-failure destination; {error}")
        self.invoker.invoke([(handler, to_text(_record(delayed, message_id, error)).encode())])

    def _destination(self, address: str) -> str:
        try:
            config = self.functions().get_function_event_invoke_config(FunctionName=address)
        except call_errors() as error:
            raise InvokeError(f"{address}: cannot read its on-failure destination: {error}") from error
        return str(config.get("DestinationConfig", {}).get("OnFailure", {}).get("Destination", ""))


def _record(delayed: Delayed, message_id: str, error: InvokeError) -> Json:
    """Return a record with the members of Lambda's own that the failure handler reads, and Step Functions' error name.

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
