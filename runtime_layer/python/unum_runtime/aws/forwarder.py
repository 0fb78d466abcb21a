"""What Lambda calls behind the queue of a timer: events that are due are handed on, others are sent back to wait.

The function's environment says which queue it is (`UNUM_TIMER`). A message that is delivered twice hands its event on
twice, which is harmless, as for every event.
"""

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any

from unum_runtime.aws.clients import client
from unum_runtime.aws.invoker import LambdaInvoker
from unum_runtime.aws.timer import MAX_BATCH, Delayed, SqsTimer
from unum_runtime.clock import Clock, SystemClock
from unum_runtime.errors import InvokeError
from unum_runtime.model.ir import Json


def handle(event: Json, _context: Any) -> Json:
    """One delivery of some messages by Lambda.

    Returns:
        Which of them could not be handed on; SQS delivers those again, and after some attempts they are dead letters.
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
    """

    invoker: LambdaInvoker
    timer: SqsTimer
    clock: Clock

    def forward(self, event: Json) -> Json:
        """See `handle`."""
        with ThreadPoolExecutor(MAX_BATCH) as pool:
            failed = [each for each in pool.map(self._failed, event["Records"]) if each is not None]
        return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in failed]}

    def _failed(self, record: Mapping[str, Json]) -> str | None:
        """Hand on the event in `record`; the message's id if that failed."""
        try:
            self._forward(Delayed.from_body(record["body"]))
        except (InvokeError, ValueError, KeyError) as error:
            print(f"{record['messageId']}: {type(error).__name__}: {error}")  # noqa: T201 - into the function's log
            return str(record["messageId"])
        return None

    def _forward(self, delayed: Delayed) -> None:
        if delayed.due_ms <= self.clock.now_ms():
            self.invoker.invoke([(delayed.address, delayed.payload)])
        else:
            self.timer.schedule([delayed])


@cache
def forwarder() -> Forwarder:
    """The forwarder of this function."""
    clock = SystemClock()
    return Forwarder(LambdaInvoker(client("lambda")), SqsTimer(client("sqs"), os.environ["UNUM_TIMER"], clock), clock)


if "UNUM_TIMER" in os.environ:
    forwarder()  # during Lambda's init phase, not when the first message comes
