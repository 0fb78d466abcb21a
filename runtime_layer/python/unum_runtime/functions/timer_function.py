"""What Lambda calls behind the queue of a timer: events that are due are handed on, others are sent back to wait.

The function's environment says which queue it is (`UNUM_TIMER`), and how often the queue delivers a message that was
not dealt with (`UNUM_MAX_RECEIVES`): an event that cannot be handed on then goes to the failure handler. A message that
is delivered twice hands its event on twice, which is harmless, as for every event.

Where events may wait for long, the environment says where schedules keep them (`UNUM_SCHEDULES`, the fields of
`unum_runtime.aws.schedules.Schedules` as JSON). What no schedule can keep goes round in the queue.
"""

import json
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any

from unum_runtime.aws.client_factory import botocore_client, client
from unum_runtime.aws.invoker import LambdaInvoker
from unum_runtime.aws.timer import MAX_BATCH, Delayed, SqsTimer
from unum_runtime.aws.undelivered import Undelivered
from unum_runtime.clock import Clock, SystemClock
from unum_runtime.errors import InvokeError
from unum_runtime.model.ir import Json

if TYPE_CHECKING:
    from unum_runtime.aws.schedules import Schedules

SCHEDULER_TIMEOUT_S = 2
"""For an answer of Scheduler, and for each of its addresses to accept a connection: a VPC may have no way to it.

Then the event has to be back in the queue before Lambda ends the function.
"""


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
        schedules: to wait for long; None where nothing does.
    """

    invoker: LambdaInvoker
    timer: SqsTimer
    clock: Clock
    undelivered: Undelivered
    max_receives: int
    schedules: "Schedules | None" = None

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
        left_ms = delayed.due_ms - self.clock.now_ms()
        if left_ms > 0:
            self._wait(delayed, left_ms, record["messageId"])
            return
        try:
            self.invoker.invoke([(delayed.address, delayed.payload)])
        except InvokeError as error:
            if int(record["attributes"]["ApproximateReceiveCount"]) < self.max_receives:
                raise
            self.undelivered.report(delayed, record["messageId"], error)

    def _wait(self, delayed: Delayed, left_ms: int, message_id: str) -> None:
        """Keep what is due in `left_ms` milliseconds: in a schedule, if it is worth one and Scheduler takes it."""
        if self.schedules is not None and left_ms > self.schedules.longer_than_s * 1000:
            try:
                self.schedules.add(delayed)
            except InvokeError as error:
                print(f"{message_id}: waits in the queue, because no schedule keeps it: {error}")  # noqa: T201 - as above
            else:
                return
        self.timer.schedule([delayed])


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
        _schedules(os.environ.get("UNUM_SCHEDULES")),
    )


def _schedules(fields: str | None) -> "Schedules | None":
    if fields is None:
        return None
    from unum_runtime.aws.schedules import Schedules  # noqa: PLC0415 - in layers of workflows that have some

    return Schedules(_scheduler, **json.loads(fields))


_MAKING = Lock()
"""One client of Scheduler is made, also where several threads need it at the same time."""


def _scheduler() -> Any:
    with _MAKING:
        return _new_scheduler()


@cache
def _new_scheduler() -> Any:
    """Tries once: what it does not take comes again when it has waited in the queue."""
    return botocore_client("scheduler", retries=0, timeout_s=SCHEDULER_TIMEOUT_S)


if "UNUM_TIMER" in os.environ:
    forwarder()  # during Lambda's init phase, not when the first message comes
