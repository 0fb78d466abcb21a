"""Short waits: an SQS queue delays events, and `unum_runtime.features.timers.timer_function` forwards them.

SQS delays a message for at most 15 minutes, so the forwarder sends longer waits again. Each message holds the address
of its function version, so one queue and one forwarder serve all versions.
"""

import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

from unum_runtime.clock import Clock
from unum_runtime.cold_start.records import NamedTuple, dataclass
from unum_runtime.errors import InvokeError
from unum_runtime.json_text import parse_json, to_ascii, to_text
from unum_runtime.model.delays import MAX_DELAY_S
from unum_runtime.model.states import Json
from unum_runtime.wire.call_errors import call_errors, invoke_error

MAX_BATCH = 10
"""Maximum of messages in one request. Source: Amazon SQS API Reference, SendMessageBatch."""

MAX_BATCH_BYTES = 1024 * 1024
"""Size limit of a message, and of all messages in one request. Source: Amazon SQS API Reference, SendMessageBatch."""

_REFUSED_CHARACTERS = re.compile("[\ufffe\uffff]")
"""Characters valid in JSON but rejected by SQS. Source: Amazon SQS API Reference, SendMessage."""


_TRACE = re.compile(r"Root=1-[0-9a-f]{8}-[0-9a-f]{24};Parent=[0-9a-f]{16};Sampled=1")
"""Tracing header of a kept trace, without its count of invocations. Source: AWS X-Ray Developer Guide."""

_NEVER_MS = 10**14
"""Time that no event reaches, in milliseconds since 1970: after the year 5000."""


class Delayed(NamedTuple):
    """Delayed event.

    Attributes:
        address: qualified ARN of the target function.
        payload: event, as JSON.
        due_ms: earliest delivery time, in milliseconds since 1970.
        origin: sender of the first message, if the forwarder sent the event again; see `unum_runtime.aws.senders`.
        trace: tracing header of the delivery that sent the event first; empty unless X-Ray keeps the trace.
    """

    address: str
    payload: bytes
    due_ms: int
    origin: str = ""
    trace: str = ""

    def to_body(self) -> str:
        """Return the message text, with the event as plain JSON: a second escape could exceed the size limit."""
        rest = {"origin": self.origin} if self.origin else {}
        if self.trace:
            rest["trace"] = self.trace
        head = to_ascii({"address": self.address, "due_ms": self.due_ms, **rest})
        body = f'{head[:-1]}, "event": {self.payload.decode()}}}'
        return _REFUSED_CHARACTERS.sub(lambda character: to_ascii(character[0])[1:-1], body)

    @classmethod
    def from_body(cls, body: str) -> "Delayed":
        """Parse the text of `to_body`.

        Raises:
            ValueError: other text; senders other than the runtime may send anything.
        """
        match parse_json(body):
            case {"address": str(address), "event": event, "due_ms": int(due_ms), **rest} if due_ms < _NEVER_MS:
                trace = str(rest.get("trace", ""))
                sound = trace if _TRACE.fullmatch(trace) else ""
                return cls(address, to_text(event).encode(), due_ms, str(rest.get("origin", "")), sound)
        raise ValueError(f"expected an address, an event and the time at which it is due, got {body[:200]!r}")

    @property
    def event(self) -> Json:
        """Parsed event."""
        return parse_json(self.payload)


@dataclass(frozen=True)
class SqsTimer:
    """SQS queue that holds events until they are due.

    Attributes:
        client: SQS client.
        queue_url: queue URL.
        clock: source of the current time.
    """

    client: Any
    queue_url: str
    clock: Clock

    def schedule(self, events: Sequence[tuple[str, bytes, int] | Delayed]) -> None:
        """Send (address, payload, due time in milliseconds since 1970) each to the queue; return after SQS stored all.

        Raises:
            InvokeError: SQS rejected an event; it may have stored others.
            RouteGone: SQS refuses this caller, or the queue does not exist.
        """
        trace = _trace_here()
        messages = [each if isinstance(each, Delayed) else Delayed(*each, trace=trace) for each in events]
        for batch in _batches([(delayed, delayed.to_body()) for delayed in messages]):
            self._send(batch)

    def _send(self, batch: "_Batch") -> None:
        entries = [
            {"Id": str(position), "MessageBody": body, "DelaySeconds": self._delay_s(delayed.due_ms)}
            for position, (delayed, body) in enumerate(batch)
        ]
        try:
            response = self.client.send_message_batch(QueueUrl=self.queue_url, Entries=entries)
        except call_errors() as error:
            raise invoke_error(self.queue_url, error) from error
        # SQS answers 200 for partly failed batches (API reference, SendMessageBatch).
        for failed in response.get("Failed", ()):
            # One error is enough: the caller retries all events, and a repeated event does no harm.
            address = batch[int(failed["Id"])][0].address
            raise InvokeError(f"timer {self.queue_url}: {failed['Code']} for {address}: {failed.get('Message', '')}")

    def _delay_s(self, due_ms: int) -> int:
        """Return the remaining whole seconds, rounded up: a message must not arrive before its due time."""
        return min(MAX_DELAY_S, max(0, -(-(due_ms - self.clock.now_ms()) // 1000)))


def _trace_here() -> str:
    """Return this delivery's tracing header, if X-Ray keeps the trace: queues and schedules drop it."""
    found = _TRACE.match(os.environ.get("_X_AMZN_TRACE_ID", ""))
    return found[0] if found else ""


_Batch = list[tuple[Delayed, str]]


def _batches(messages: _Batch) -> Iterator[_Batch]:
    """Split `messages`, in order, into batches within SQS's limits for one request."""
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
