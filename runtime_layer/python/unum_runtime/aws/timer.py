"""Events that have to wait: kept in an SQS queue, behind which `unum_runtime.functions.timer_function` hands them on.

A message may be delayed for 15 minutes at most, so the forwarder sends again what has to wait for longer. A message has
the address of the version that it is for, so that queue and forwarder are the same for all versions.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from unum_runtime.clock import Clock
from unum_runtime.cold_start.records import NamedTuple, dataclass
from unum_runtime.errors import InvokeError
from unum_runtime.model.checkpoint import to_text
from unum_runtime.model.ir import Json
from unum_runtime.wire.call_errors import call_errors

MAX_DELAY_S = 900
"""Source: Amazon SQS API Reference, SendMessage, DelaySeconds."""

MAX_BATCH = 10
"""Messages in one request. Source: Amazon SQS API Reference, SendMessageBatch."""

MAX_BATCH_BYTES = 1024 * 1024
"""Of one message, and of all messages of one request. Source: the same."""

_REFUSED_CHARACTERS = re.compile("[\ufffe\uffff]")
"""What JSON may hold as it is, but a message may not. Source: Amazon SQS API Reference, SendMessage."""


class SqsClient(Protocol):
    """The call of ``boto3.client("sqs")`` that is used here, with its own parameters."""

    def send_message_batch(self, **parameters: Any) -> Any: ...  # noqa: D102 - boto3 documents it


class Delayed(NamedTuple):
    """An event that waits.

    Attributes:
        address: the qualified ARN of the function that it is for.
        payload: the event, as JSON.
        due_ms: when it is to be delivered, in milliseconds since 1970.
    """

    address: str
    payload: bytes
    due_ms: int

    def to_body(self) -> str:
        """The message; the event is in it as it is, because escaping it once more could make it too large."""
        head = json.dumps({"address": self.address, "due_ms": self.due_ms})
        body = f'{head[:-1]}, "event": {self.payload.decode()}}}'
        return _REFUSED_CHARACTERS.sub(lambda character: json.dumps(character[0])[1:-1], body)

    @classmethod
    def from_body(cls, body: str) -> "Delayed":
        """The event that `to_body` wrote."""
        message = json.loads(body)
        return cls(message["address"], to_text(message["event"]).encode(), message["due_ms"])

    @property
    def event(self) -> Json:
        """The event, parsed."""
        return json.loads(self.payload)


@dataclass(frozen=True)
class SqsTimer:
    """Keeps events in a queue until they are due.

    Attributes:
        client: an SQS client.
        queue_url: of the queue.
        clock: tells how long is left.
    """

    client: SqsClient
    queue_url: str
    clock: Clock

    def schedule(self, events: Sequence[tuple[str, bytes, int]]) -> None:
        """Deliver (address, payload) each at a time in milliseconds since 1970, not before; returns when all are kept.

        Raises:
            InvokeError: SQS did not take some event; others may have been taken.
        """
        for batch in _batches([(delayed, delayed.to_body()) for delayed in map(Delayed._make, events)]):
            self._send(batch)

    def _send(self, batch: "_Batch") -> None:
        entries = [
            {"Id": str(position), "MessageBody": body, "DelaySeconds": self._delay_s(delayed.due_ms)}
            for position, (delayed, body) in enumerate(batch)
        ]
        try:
            response = self.client.send_message_batch(QueueUrl=self.queue_url, Entries=entries)
        except call_errors() as error:
            raise InvokeError(f"timer {self.queue_url}: {error}") from error
        for failed in response.get("Failed", ()):
            address = batch[int(failed["Id"])][0].address
            raise InvokeError(f"timer {self.queue_url}: {failed['Code']} for {address}: {failed.get('Message', '')}")

    def _delay_s(self, due_ms: int) -> int:
        """Whole seconds, rounded up, so that a message does not arrive before its time."""
        return min(MAX_DELAY_S, max(0, -(-(due_ms - self.clock.now_ms()) // 1000)))


_Batch = list[tuple[Delayed, str]]


def _batches(messages: _Batch) -> Iterator[_Batch]:
    """`messages` in their order, as many in each batch as one request may have."""
    batch: _Batch = []
    size = 0
    for message in messages:
        length = len(message[1].encode())
        if batch and (len(batch) == MAX_BATCH or size + length > MAX_BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(message)
        size += length
    if batch:
        yield batch
