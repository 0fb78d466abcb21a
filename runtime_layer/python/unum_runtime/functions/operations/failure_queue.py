"""Dead-letter queue of a workflow: dead letters are hidden while a sweep looks at them, then deleted or shown again."""

from collections.abc import Iterator
from typing import Any

from unum_runtime.cold_start.records import NamedTuple, dataclass
from unum_runtime.errors import InvokeError
from unum_runtime.wire.call_errors import call_errors

HIDDEN_S = 240
"""Longer than a sweep looks at dead letters: one that is received twice would be tried twice."""

MOST_BATCHES = 100
"""Receives of up to 10 dead letters by one sweep; the next one begins with any others."""

_WAIT_S = 1
"""Long polling asks all servers of the queue. Source: Amazon SQS Developer Guide, "Short and long polling"."""


class DeadLetter(NamedTuple):
    """Received message.

    Attributes:
        body: its text.
        sent_ms: time at which it came into the queue, in milliseconds since 1970.
        receipt: SQS receipt handle.
        sender: identity of its sender, which no sender can choose.
    """

    body: str
    sent_ms: int
    receipt: str
    sender: str


@dataclass(frozen=True)
class FailureQueue:
    """Dead-letter queue.

    Attributes:
        client: SQS client.
        url: queue URL.
    """

    client: Any
    url: str

    def receive(self) -> Iterator[list[DeadLetter]]:
        """Yield batches of the visible dead letters, each hidden from other readers for `HIDDEN_S`.

        Raises:
            InvokeError: SQS did not answer.
        """
        for _ in range(MOST_BATCHES):
            found = self._call(
                "receive_message",
                MaxNumberOfMessages=10,
                VisibilityTimeout=HIDDEN_S,
                WaitTimeSeconds=_WAIT_S,
                AttributeNames=["SentTimestamp", "SenderId"],
            )
            if not found.get("Messages"):
                return
            yield [
                DeadLetter(
                    each["Body"],
                    int(each["Attributes"]["SentTimestamp"]),
                    each["ReceiptHandle"],
                    each["Attributes"]["SenderId"],
                )
                for each in found["Messages"]
            ]

    def delete(self, dead_letter: DeadLetter) -> None:
        """Delete `dead_letter`.

        Raises:
            InvokeError: SQS did not answer.
        """
        self._call("delete_message", ReceiptHandle=dead_letter.receipt)

    def show(self, dead_letter: DeadLetter) -> None:
        """Make `dead_letter` visible: the alarm counts visible dead letters.

        Raises:
            InvokeError: SQS did not answer.
        """
        self._call("change_message_visibility", ReceiptHandle=dead_letter.receipt, VisibilityTimeout=0)

    def _call(self, operation: str, **parameters: Any) -> Any:
        try:
            return getattr(self.client, operation)(QueueUrl=self.url, **parameters)
        except call_errors() as error:
            raise InvokeError(f"failure queue {self.url}: {error}") from error
