"""Activities: queues in which Tasks wait for a worker that asks for them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from unum_runtime.cold_start.records import NamedTuple
from unum_runtime.errors import InvokeError, StatesError
from unum_runtime.model.checkpoint import to_text
from unum_runtime.model.ir import Json
from unum_runtime.wire.call_errors import call_errors


class SqsClient(Protocol):
    """The calls of ``boto3.client("sqs")`` that are used here, with its own parameters."""

    def send_message(self, **parameters: Any) -> Any: ...  # noqa: D102 - boto3 documents it
    def receive_message(self, **parameters: Any) -> Any: ...  # noqa: D102 - the same
    def delete_message(self, **parameters: Any) -> Any: ...  # noqa: D102 - the same


class Offer(NamedTuple):
    """A Task that waits for a worker.

    Attributes:
        token: its task token.
        input: its input, as JSON text.
        receipt: what it is removed by.
    """

    token: str
    input: str
    receipt: str


@dataclass(frozen=True)
class Activities:
    """The activities of a workflow.

    Attributes:
        client: an SQS client.
        queues: URLs by the name of the activity.
    """

    client: SqsClient
    queues: Mapping[str, str]

    def offer(self, activity: str, token: str, value: Json) -> None:
        """Offer a Task that has `value` as input to the workers of `activity`.

        Raises:
            StatesError: the queue did not take it.
        """
        body = to_text({"taskToken": token, "input": to_text(value)})
        try:
            self._call("send_message", activity, MessageBody=body)
        except InvokeError as error:
            raise StatesError("States.TaskFailed", str(error)) from error

    def next(self, activity: str, wait_s: int) -> Offer | None:
        """A Task of `activity`, hidden from others for some seconds; None if there was none for `wait_s` seconds.

        Raises:
            InvokeError: the queue did not answer.
        """
        found = self._call("receive_message", activity, MaxNumberOfMessages=1, WaitTimeSeconds=wait_s)
        for message in found.get("Messages", ()):
            body = json.loads(message["Body"])
            return Offer(body["taskToken"], body["input"], message["ReceiptHandle"])
        return None

    def remove(self, activity: str, offer: Offer) -> None:
        """Offer the Task to nobody else.

        Raises:
            InvokeError: the queue did not answer.
        """
        self._call("delete_message", activity, ReceiptHandle=offer.receipt)

    def _call(self, operation: str, activity: str, **parameters: Any) -> Any:
        try:
            return getattr(self.client, operation)(QueueUrl=self.queues[activity], **parameters)
        except call_errors() as error:
            raise InvokeError(f"activity {activity!r}: {error}") from error
