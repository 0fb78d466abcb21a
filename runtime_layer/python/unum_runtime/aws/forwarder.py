"""What Lambda calls behind the queue of a timer: events that are due are handed on, others are sent back to wait.

The function's environment says which queue it is (`UNUM_TIMER`), and how often the queue delivers a message that was
not dealt with (`UNUM_MAX_RECEIVES`): an event that cannot be handed on then goes to the failure handler. A message that
is delivered twice hands its event on twice, which is harmless, as for every event.
"""

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any

from unum_runtime.aws.clients import botocore_client, client
from unum_runtime.aws.invoker import LambdaInvoker
from unum_runtime.aws.timer import MAX_BATCH, Delayed, SqsTimer
from unum_runtime.aws.undelivered import Undelivered
from unum_runtime.clock import Clock, SystemClock
from unum_runtime.errors import InvokeError
from unum_runtime.model.ir import Json


def handle(event: Json, _context: Any) -> Json:
    """One delivery of some messages by Lambda.

    Returns:
        Which of them were not dealt with; SQS delivers those again, and after some attempts they are dead letters.
        Source: AWS Lambda Developer Guide, "Handling errors for an SQS event source in Lambda".
    """
    return forwarder().forward(event)


@dataclass(frozen=True)
class Forwarder:
    """Hands events on.

    Attributes:
        invoker: to functions.
        timer: to wait.
        clock: tells what is due.
        undelivered: to whoever goes on from events that cannot be handed on.
        max_receives: how often a message is delivered before it is a dead letter.
    """

    invoker: LambdaInvoker
    timer: SqsTimer
    clock: Clock
    undelivered: Undelivered
    max_receives: int

    def forward(self, event: Json) -> Json:
        """See `handle`."""
        with ThreadPoolExecutor(MAX_BATCH) as pool:
            failed = [each for each in pool.map(self._failed, event["Records"]) if each is not None]
        return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in failed]}

    def _failed(self, record: Mapping[str, Json]) -> str | None:
        """Hand on the event in `record`; the message's id if that failed."""
        try:
            self._forward(record)
        except (InvokeError, ValueError, KeyError) as error:
            print(f"{record['messageId']}: {type(error).__name__}: {error}")  # noqa: T201 - into the function's log
            return str(record["messageId"])
        return None

    def _forward(self, record: Mapping[str, Json]) -> None:
        delayed = Delayed.from_body(record["body"])
        if delayed.due_ms > self.clock.now_ms():
            self.timer.schedule([delayed])
            return
        try:
            self.invoker.invoke([(delayed.address, delayed.payload)])
        except InvokeError as error:
            if int(record["attributes"]["ApproximateReceiveCount"]) < self.max_receives:
                raise
            self.undelivered.report(delayed, record["messageId"], error)


@cache
def forwarder() -> Forwarder:
    """The forwarder of this function."""
    clock, invoker = SystemClock(), LambdaInvoker(client("lambda"))
    return Forwarder(
        invoker,
        SqsTimer(client("sqs"), os.environ["UNUM_TIMER"], clock),
        clock,
        Undelivered(invoker, lambda: botocore_client("lambda")),
        int(os.environ["UNUM_MAX_RECEIVES"]),
    )


if "UNUM_TIMER" in os.environ:
    forwarder()  # during Lambda's init phase, not when the first message comes
