"""SQS queues of activities, for Tasks that offer their work to workers; deliveries of such Tasks load it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from unum_runtime.cold_start.records import NamedTuple
from unum_runtime.errors import InvokeError, StatesError
from unum_runtime.json_text import parse_foreign, to_text
from unum_runtime.model.states import Json
from unum_runtime.wire.call_errors import call_errors


class Offer(NamedTuple):
    """Waiting Task, as received by a worker.

    Attributes:
        token: task token.
        input: Task input, as JSON text.
        receipt: SQS receipt handle, for the deletion of the message.
    """

    token: str
    input: str
    receipt: str


@dataclass(frozen=True)
class Activities:
    """Activities of one workflow.

    Attributes:
        client: SQS client.
        queues: queue URLs by activity name.
    """

    client: Any
    queues: Mapping[str, str]

    def offer(self, activity: str, token: str, value: Json) -> None:
        """Send a Task with input `value` to the queue of `activity`.

        Raises:
            StatesError: SQS did not accept the message.
        """
        body = to_text({"taskToken": token, "input": to_text(value)})
        try:
            self._call("send_message", activity, MessageBody=body)
        except InvokeError as error:
            raise StatesError("States.TaskFailed", str(error)) from error

    def next(self, activity: str, wait_s: int) -> Offer | None:
        """Receive a Task of `activity` and hide it from other workers; return None after `wait_s` seconds without one.

        Raises:
            InvokeError: SQS did not answer.
        """
        response = self._call("receive_message", activity, MaxNumberOfMessages=1, WaitTimeSeconds=wait_s)
        # Hidden only for the queue's visibility timeout: a worker that dies before `remove` does not lose the Task.
        for message in response.get("Messages", ()):
            body = parse_foreign(message["Body"])
            return Offer(body["taskToken"], body["input"], message["ReceiptHandle"])
        return None

    def remove(self, activity: str, offer: Offer) -> None:
        """Delete the Task's message from the queue.

        Raises:
            InvokeError: SQS did not answer.
        """
        self._call("delete_message", activity, ReceiptHandle=offer.receipt)

    def _call(self, operation: str, activity: str, **parameters: Any) -> Any:
        try:
            return getattr(self.client, operation)(QueueUrl=self.queues[activity], **parameters)
        except call_errors() as error:
            raise InvokeError(f"activity {activity!r}: {error}") from error
