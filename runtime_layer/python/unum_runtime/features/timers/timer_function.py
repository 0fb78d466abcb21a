"""Forwarder behind a timer queue: invokes functions with due events, and sends other events back to the queue.

The environment contains the URL of the queue (`UNUM_TIMER`), and the number of receives of a message before it is a
dead letter (`UNUM_MAX_RECEIVES`): the last receive sends an undeliverable event to the failure handler. A message
that is received twice sends its event twice, which is harmless for every event.

The environment names the senders (`UNUM_SENDERS`, see `unum_runtime.aws.senders`), the version of the failure handler
that is the intake (`UNUM_INTAKE`), the failure queue (`UNUM_LETTERS`), and the metrics (`UNUM_METRICS`). An event is
delivered if its sender could have invoked the function itself. Of any other event only the name of its invocation goes
to the intake, which plans from what is committed. So nobody gains anything by a forged message.

For long waits the environment contains the fields of `unum_runtime.features.timers.schedules.Schedules` as JSON
(`UNUM_SCHEDULES`). Events that no schedule keeps stay in the queue.

The report of an undeliverable event is like Lambda's own of a dropped event. Its target is the on-failure
destination of the event's function version, so it reaches the failure handler of the version on which the execution
runs. The event itself need not name it.
"""

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any

from unum_runtime.aws.client_factory import botocore_client, client
from unum_runtime.aws.invoker import LambdaInvoker
from unum_runtime.aws.senders import Senders, parse_senders
from unum_runtime.clock import Clock, SystemClock
from unum_runtime.cold_start.records import dataclass
from unum_runtime.errors import InvokeError, NotOurEvent
from unum_runtime.features.timers.sqs_timer import MAX_BATCH, Delayed, SqsTimer
from unum_runtime.json_text import parse_json, to_ascii, to_text
from unum_runtime.model.envelope import Envelope, is_envelope
from unum_runtime.model.metrics import Metrics
from unum_runtime.model.states import Json
from unum_runtime.wire.api import CARRIED
from unum_runtime.wire.call_errors import call_errors, error_code

if TYPE_CHECKING:
    from unum_runtime.features.timers.schedules import Schedules


NO_ANSWER = "SdkClientException"
"""Step Functions' error name, after ``Lambda.``, for a Lambda API that does not answer.
Source: AWS Step Functions Developer Guide, "Handle Lambda service exceptions"."""

REFUSED = "refused"
"""Field of such a dead letter with the reason."""

SCHEDULER_TIMEOUT_S = 2
"""Timeout for connections to Scheduler and for its answers, because a VPC may have no route to it.

It leaves time to send the event back to the queue before Lambda's timeout.
"""

_COUNTS = ";Lineage="
"""Beginning of the count in a tracing header."""

_MALFORMED = (ValueError, KeyError, TypeError, AttributeError, RecursionError, NotOurEvent)
"""Errors while parsing messages of other senders."""


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


@dataclass(frozen=True)
class RefusedMessages:
    """Failure queue, for refused messages.

    Attributes:
        client: SQS client.
        queue_url: URL of the failure queue.
    """

    client: Any
    queue_url: str

    def keep(self, record: Mapping[str, Json], reason: str) -> None:
        """Send the message in `record` to the failure queue.

        Raises:
            InvokeError: SQS did not take it, because it is too long together with the reason, or for another cause.
        """
        letter = {REFUSED: reason, "sender": record["attributes"]["SenderId"], "body": record["body"]}
        entry = {"Id": "0", "MessageBody": to_text(letter)}
        try:
            response = self.client.send_message_batch(QueueUrl=self.queue_url, Entries=[entry])
        except call_errors() as error:
            raise InvokeError(f"failure queue {self.queue_url}: {error}") from error
        for failed in response.get("Failed", ()):
            raise InvokeError(f"failure queue {self.queue_url}: {failed['Code']}: {failed.get('Message', '')}")


def handle(event: Json, _context: Any) -> Json:
    """Forward a batch of messages.

    Returns:
        Ids of failed messages, which SQS delivers again until they are dead letters.
        Source: AWS Lambda Developer Guide, "Handling errors for an SQS event source in Lambda".
    """
    return forwarder().forward(event)


@dataclass(frozen=True)
class Forwarder:
    """Forwarder of delayed events.

    Attributes:
        invoker: invoker of functions.
        timer: timer queue.
        clock: clock for due times.
        undelivered: reports to failure handlers.
        max_receives: receives of a message before it is a dead letter.
        senders: senders of the workflow's events.
        refused: keeper of refused messages.
        intake: address of the version of the failure handler that continues invocations by their names.
        log: writer of a log line with a metric, for a refused message: (workflow, reason, sender).
        schedules: schedules for long waits; None without them.
    """

    invoker: LambdaInvoker
    timer: SqsTimer
    clock: Clock
    undelivered: Undelivered
    max_receives: int
    senders: Senders
    refused: RefusedMessages
    intake: str
    log: Callable[[str, str, str], None]
    schedules: "Schedules | None" = None

    def forward(self, event: Json) -> Json:
        """Forward a batch; see `handle`."""
        with ThreadPoolExecutor(MAX_BATCH) as pool:
            failed = [each for each in pool.map(self._forward_or_fail, event["Records"]) if each is not None]
        return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in failed]}

    def _forward_or_fail(self, record: Mapping[str, Json]) -> str | None:
        """Forward the event in `record`, and return the message's id after a failure."""
        try:
            self._forward(record)
        except (InvokeError, *_MALFORMED) as error:
            print(f"{record['messageId']}: {type(error).__name__}: {error}")  # noqa: T201 - into the function's log
            return str(record["messageId"])
        return None

    def _forward(self, record: Mapping[str, Json]) -> None:
        sender = record["attributes"]["SenderId"]
        try:
            delayed = Delayed.from_body(record["body"])
            envelope = self._envelope(delayed)
        except _MALFORMED as error:
            self.log(self.senders.workflow, str(error), sender)
            self.refused.keep(record, f"{type(error).__name__}: {error}")
            return
        # Kept from here on: the forwarder and Scheduler send the event again.
        delayed = delayed._replace(origin=self.senders.origin(sender, delayed.origin))
        left_ms = delayed.due_ms - self.clock.now_ms()
        if left_ms > 0:
            self._wait(delayed, left_ms, record["messageId"])
        elif self.senders.may_send(delayed.origin, delayed.address):
            self._deliver(delayed, record)
        else:
            self._ask_intake(delayed, envelope)

    def _envelope(self, delayed: Delayed) -> Envelope:
        """Return the envelope of `delayed`.

        Raises:
            NotOurEvent: it is no event of this workflow; a function may belong to others, too.
        """
        event = delayed.event
        if not is_envelope(event) or event["workflow"] != self.senders.workflow:
            raise NotOurEvent(f"expected an event of workflow {self.senders.workflow!r} for {delayed.address!r}")
        return Envelope.from_json(event)

    def _deliver(self, delayed: Delayed, record: Mapping[str, Json]) -> None:
        CARRIED.trace = _carried_trace(delayed.trace)
        try:
            self.invoker.invoke([(delayed.address, delayed.payload)])
        except InvokeError as error:
            if int(record["attributes"]["ApproximateReceiveCount"]) < self.max_receives:
                raise
            self.undelivered.report(delayed, record["messageId"], error)
        finally:
            CARRIED.trace = ""

    def _ask_intake(self, delayed: Delayed, envelope: Envelope) -> None:
        """Let the intake send the event, if something committed leads to it: its sender proves nothing.

        That is a function of an earlier deployment, or a sender that has no place in the environment.
        """
        from unum_runtime.model.take_over_request import TakeOver  # noqa: PLC0415 - few events have such senders

        request = TakeOver.of(envelope, delayed.address)
        self.invoker.invoke([(self.intake, to_text(request.to_json()).encode())])

    def _wait(self, delayed: Delayed, left_ms: int, message_id: str) -> None:
        """Keep an event that is due in `left_ms` milliseconds, in a schedule for long waits, else in the queue."""
        if self.schedules is not None and left_ms > self.schedules.longer_than_s * 1000:
            try:
                self.schedules.add(delayed)
            except InvokeError as error:
                print(f"{message_id}: waits in the queue, because no schedule keeps it: {error}")  # noqa: T201 - as above
            else:
                return
        self.timer.schedule([delayed])


def _carried_trace(trace: str) -> str:
    """Return `trace` with this delivery's count of invocations, by which Lambda detects loops; empty for no trace."""
    _, mark, counts = os.environ.get("_X_AMZN_TRACE_ID", "").partition(_COUNTS)
    return trace and f"{trace}{mark}{counts}"


@cache
def forwarder() -> Forwarder:
    """Return the forwarder of this function."""
    clock, invoker = SystemClock(), LambdaInvoker(client("lambda"))
    return Forwarder(
        invoker,
        SqsTimer(client("sqs"), os.environ["UNUM_TIMER"], clock),
        clock,
        Undelivered(invoker, lambda: botocore_client("lambda")),
        int(os.environ["UNUM_MAX_RECEIVES"]),
        parse_senders(os.environ["UNUM_SENDERS"]),
        RefusedMessages(client("sqs"), os.environ["UNUM_LETTERS"]),
        os.environ["UNUM_INTAKE"],
        _log_refused,
        _schedules(os.environ.get("UNUM_SCHEDULES")),
    )


def _schedules(fields: str | None) -> "Schedules | None":
    if fields is None:
        return None
    from unum_runtime.features.timers.schedules import Schedules  # noqa: PLC0415 - in layers of workflows that have some

    return Schedules(_scheduler, **parse_json(fields))


def _log_refused(workflow: str, reason: str, sender: str) -> None:
    """Write a log line that counts a refused message."""
    from unum_runtime.aws.embedded_metrics import EmbeddedMetrics  # noqa: PLC0415 - few messages are refused
    from unum_runtime.model.ir import Workflow  # noqa: PLC0415 - as above

    message, fields = "refused message", {"sender": sender, "reason": reason}
    unknown = Workflow(name=workflow, start_at="", states={})
    metrics = EmbeddedMetrics(unknown, os.environ.get("UNUM_METRICS", Metrics.WORKFLOW), SystemClock())
    line = {"source": "unum", "message": message, **fields, **metrics.members(message, fields)}
    print(to_ascii(line))  # noqa: T201 - into the function's log


_CLIENT_LOCK = Lock()
"""Lock around the creation of the client, because botocore's session is not safe for threads."""


def _scheduler() -> Any:
    with _CLIENT_LOCK:
        return _new_scheduler()


@cache
def _new_scheduler() -> Any:
    """Return a client of Scheduler without retries: refused events return from the queue later."""
    return botocore_client("scheduler", retries=0, timeout_s=SCHEDULER_TIMEOUT_S)


if "UNUM_TIMER" in os.environ:
    forwarder()  # during Lambda's init phase, not when the first message comes
