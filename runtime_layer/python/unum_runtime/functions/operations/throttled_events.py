"""Resend events dropped by Lambda for lack of concurrency while execution time remains.

User code has not run, so the Task has not failed, and no attempt of it is used up. Lambda keeps an event for at most
six hours; with a reserved concurrency of 0 it keeps none. The timer queue carries the event over the pause that
follows. Without a timer, Lambda's own queue does, or the dead-letter queue, whose dead letters sweeps try again.

Source: AWS Lambda Developer Guide, "Handling errors for an asynchronous invocation" and "Configuring reserved
concurrency".
"""

from collections.abc import Mapping
from zlib import crc32

from unum_runtime.cold_start.records import NamedTuple, replace
from unum_runtime.errors import InvokeError
from unum_runtime.json_text import parse_json, to_text
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.states import Json
from unum_runtime.protocol.control.throttles import Throttle, note_throttle
from unum_runtime.protocol.delivery.perform import payload_of
from unum_runtime.protocol.planning.evaluation import deadline
from unum_runtime.protocol.runtime import NoTimer, Runtime

FIELD = "throttled"
"""Field of an envelope with an `Earlier`, for the next time that Lambda gives up the event."""

KEPT_MS = 6 * 3_600_000
"""Longest time that Lambda keeps an event. Source: AWS Lambda API Reference, PutFunctionEventInvokeConfig."""

SHARE = 4
"""Time waited, divided by the longest next pause."""

LEAST_MS = 60_000
MOST_MS = 900_000
"""Least and greatest longest pause. SQS delays a message for up to 15 minutes; more would cost another message."""

_THROTTLED_STATUS = 429
_PAUSED = "ZeroReservedConcurrency"
"""Condition in records of events for a function with a reserved concurrency of 0; attempts before may have failed."""


class Earlier(NamedTuple):
    """Wait times recorded in a resent event.

    Attributes:
        since_ms: time at which it was first sent, in milliseconds since 1970.
        sent_ms: time at which it was last sent, in milliseconds since 1970.
        noted_ms: `Throttle.until_ms` of its last note.
    """

    since_ms: int
    sent_ms: int
    noted_ms: int = 0

    @classmethod
    def of(cls, event: Mapping[str, Json], sent_s: int) -> "Earlier":
        """Return wait times of `event`, sent at `sent_s`; malformed fields count as absent."""
        match event.get(FIELD):
            case [int(since_ms), int(sent_ms), int(noted_ms)]:
                return cls(since_ms, sent_ms, noted_ms)
        return cls(sent_s * 1000, sent_s * 1000)


def is_throttled(record: Mapping[str, Json], throttled: str) -> bool:
    """Return True if `record` reports a dropped event without a function failure.

    Args:
        record: Lambda's record, or one of the forwarder in the same form.
        throttled: name of the error that the forwarder reports for a throttled request.
    """
    context, answer, response = record["requestContext"], record.get("responsePayload"), record.get("responseContext")
    if context.get("condition") == _PAUSED:
        return True
    if isinstance(response, dict):
        # An answer of the function, or of Lambda in its place; a broken start of a sandbox is its failure too.
        return not response.get("functionError") and response.get("statusCode") == _THROTTLED_STATUS
    if answer is not None:
        return isinstance(answer, dict) and answer.get("errorType") == throttled
    # An event may also grow too old between attempts that failed.
    return not context.get("approximateInvokeCount")


def send_again(rt: Runtime, planned: Envelope, event: Mapping[str, Json], kept: Mapping[str, Json]) -> bool:
    """Resend `planned` after a pause; return False if no execution time remains.

    Args:
        rt: the runtime of the event's function.
        planned: the event, with its committed content.
        event: the event as Lambda gave it up.
        kept: further fields of the event to keep.

    Raises:
        InvokeError: it could not be sent; or it returned at once and no timer can keep it, so its record becomes a
            dead letter, which sweeps try again.
        StoreError: it was sent, and no note could be stored; a second one does no harm.
    """
    now_ms, earlier = rt.clock.now_ms(), Earlier.of(event, planned.sent_s)
    due_ms = _next_ms(rt, now_ms, earlier)
    time_limit_ms = deadline(rt.workflow, planned.name.execution)
    if time_limit_ms is not None:
        due_ms = min(due_ms, time_limit_ms)  # this delivery commits the execution's timeout
    if due_ms <= now_ms or due_ms // 1000 > rt.last_s(planned.name.execution):
        return False
    is_kept = not isinstance(rt.timer, NoTimer)
    if not is_kept and now_ms - earlier.sent_ms < MOST_MS:
        raise InvokeError(f"{planned.name}: returned at once, and no timer keeps it: it waits as a dead letter")
    sent_ms = due_ms if is_kept else now_ms
    # Half of Lambda's time before a note loses its validity: few events write a second one.
    noted_ms = earlier.noted_ms if sent_ms + KEPT_MS // 2 < earlier.noted_ms else sent_ms + KEPT_MS
    again = replace(planned, sent_s=rt.sent_s(sent_ms), due_ms=sent_ms if is_kept else planned.due_ms)
    fields = {**parse_json(payload_of(rt, again)), **kept, FIELD: [earlier.since_ms, sent_ms, noted_ms]}
    payload = to_text(fields).encode()
    if is_kept:
        rt.timer.schedule([(rt.own_address, payload, due_ms)])
    else:
        rt.invoker.invoke([(rt.own_address, payload)])
    since_ms, name = earlier.since_ms, str(planned.name)
    rt.log("waits for concurrency", invocation=name, state=planned.state, since_ms=since_ms, until_ms=sent_ms)
    if noted_ms != earlier.noted_ms:
        note_throttle(rt, planned.name, Throttle(since_ms, noted_ms))
    return True


def _next_ms(rt: Runtime, now_ms: int, earlier: Earlier) -> int:
    """Return the time of the next delivery, in milliseconds since 1970."""
    longest_ms = min(max((now_ms - earlier.since_ms) / SHARE, LEAST_MS), MOST_MS)
    # The branches of a fan-out return together. Each delivery's name spreads them over half of the pause, so that they
    # do not meet again.
    part = crc32(rt.delivery.encode()) / 2**32
    return now_ms + round(longest_ms * (1 + part) / 2)
