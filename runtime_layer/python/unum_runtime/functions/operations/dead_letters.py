"""Dead letters are tried again by sweeps: hourly, then daily, until the execution has ended or its time is over.

A dead letter holds a record that the intake or the control function could not process, or a delayed event that nobody
took. A record goes to the same version of that function once more, and the dead letter stays if that fails again. A
delayed event goes to its function. Dead letters that nobody can read stay for an operator, until the queue drops them
after 14 days.

A function may send messages to the timer queue, and SQS moves those that the forwarder cannot deliver. So a dead letter
is delivered as it is only if one of the workflow's own roles has sent it. Of any other dead letter, only the name of
the invocation goes to the intake, which plans from what is committed.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from unum_runtime.aws.senders import Senders
from unum_runtime.cold_start.records import NamedTuple, dataclass
from unum_runtime.errors import ExecutionDoesNotExist, InvokeError, NotOurEvent, UnumError
from unum_runtime.functions.operations.function_versions import function_of
from unum_runtime.json_text import parse_json, to_text
from unum_runtime.model.envelope import Envelope, is_envelope
from unum_runtime.model.naming import (
    Execution,
    Key,
    control_alias_name,
    intake_alias,
    letters_partition,
    start_intake_alias,
)
from unum_runtime.model.states import Json
from unum_runtime.model.take_over_request import TakeOver
from unum_runtime.protocol.control.control_aliases import SIGNAL_EVENTS, WORKFLOW, find_alias
from unum_runtime.protocol.control.pausing import resumed_ms
from unum_runtime.protocol.control.sweep import RESERVE_MS, Retention, abandon, is_over, is_sweep
from unum_runtime.protocol.history.start_records import end_of, start_record
from unum_runtime.protocol.runtime import Runtime
from unum_runtime.store.base import Index
from unum_runtime.wire.call_errors import call_errors

HIDDEN_S = 240
"""Longer than a sweep looks at dead letters: one that is received twice would be tried twice."""

MOST_BATCHES = 100
"""Receives of up to 10 dead letters by one sweep; the next one begins with any others."""

_WAIT_S = 1
"""Long polling asks all servers of the queue. Source: Amazon SQS Developer Guide, "Short and long polling"."""

UNPUBLISHED = "$LATEST"
"""Qualifier of the remote intake in Lambda's records of what it could not hand on."""

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS

OFTEN_MS = DAY_MS // 2
"""Age up to which a dead letter is tried each hour; older ones are tried each day."""

REDELIVERED = "redelivered"
"""Field of an envelope with the number of redeliveries by the failure handler."""

DEAD_SINCE = "dead_since"
"""Field of an envelope with the time of its first dead letter, in milliseconds since 1970; later ones keep it."""

REFUSALS = frozenset({"ValidationException", "ExecutionAlreadyExists"})
"""Errors of starts that no repetition can cure: the dead letter stays for an operator, and is not tried again."""

_UNREADABLE = (ValueError, TypeError, KeyError, AttributeError, RecursionError, UnumError)
"""Errors while parsing dead letters from other senders, or from versions with other events."""


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


class Sending(NamedTuple):
    """Content of a dead letter.

    Attributes:
        address: qualified ARN of the function that gets it.
        event: event for that function.
        is_record: True if it failed in the failure handler; False for a delayed event that was never delivered.
        reason: reason for the dead letter.
        is_refused: True if it is a start that is refused for what it says, at each attempt.
        origin: function that sent a delayed event; empty if it may send anything.
    """

    address: str
    event: Json
    is_record: bool
    reason: str
    origin: str = ""
    is_refused: bool = False

    @property
    def inner(self) -> Json:
        """Event of a function of the workflow, inside the failure record around it."""
        return self.event["requestPayload"] if _is_around(self.event) else self.event

    def again(self, since_ms: int) -> Json:
        """Return the event with no redeliveries, and the time of its first dead letter."""
        if not is_envelope(self.inner):
            return self.event
        rest = {name: value for name, value in self.inner.items() if name != REDELIVERED}
        inner = rest | {DEAD_SINCE: since_ms}
        return {**self.event, "requestPayload": inner} if _is_around(self.event) else inner


Call: TypeAlias = Callable[[str, bytes], Json]
"""A function that invokes a function and waits for its answer."""


@dataclass(frozen=True)
class Postman:
    """What a sweep needs to try dead letters again.

    Attributes:
        rt: a runtime of the control function.
        index: the index of the workflow's executions.
        call: calls the intake or the control function; IAM allows no other.
        retention_s: returns the retention of an execution's own version.
        senders: senders whose dead letters are delivered as they are.
        hand_over: sends a request to the intake of a function version.
        remote: ARN of the remote intake; empty without one.
        is_own: returns True if a sender is a function of the workflow; others may send to the queue of several.
    """

    rt: Runtime
    index: Index
    call: Call
    retention_s: Retention
    senders: Senders
    hand_over: Callable[[str, TakeOver], None]
    remote: str = ""
    is_own: Callable[[str], bool] = bool

    def last_round_ms(self) -> int:
        """Return when dead letters were tried last; 0 for never, and if the workflow was paused in between."""
        rounds = self.rt.store.query(letters_partition(self.rt.workflow.name), newest=1)
        last_ms = max((int(item["at"]) for item in rounds.values()), default=0)
        # Starts of a paused workflow are dead letters, possibly for days: the first round after its end tries all.
        return 0 if resumed_ms(self.rt.store, self.rt.workflow.name) > last_ms else last_ms

    def note_round(self, now_ms: int) -> None:
        """Store when all dead letters were tried."""
        key = Key(letters_partition(self.rt.workflow.name), f"{now_ms:013d}")
        self.rt.store.create(key, {"at": now_ms}, expires_at_s=self.rt.expires_at_s())

    def is_done(self, dead_letter: DeadLetter, before_ms: int, now_ms: int) -> bool:
        """Return True for a dead letter without further use: its execution has ended, or it was delivered."""
        try:
            sending = self._parse(dead_letter)
            execution = _subject(sending, self.rt.workflow.name)
        except _UNREADABLE as error:
            self.rt.log("dead letter", reason=f"unreadable: {type(error).__name__}: {error}")
            return False
        if is_sweep(sending.event) or (execution is not None and self._is_settled(execution)):
            return True
        since_ms = _dead_since(sending, dead_letter)
        about = {"execution": execution.name if execution else None, "address": sending.address, "since_ms": since_ms}
        reason = sending.reason
        if not sending.is_refused and is_due(since_ms, before_ms, now_ms):
            try:
                self._deliver(sending, since_ms)
            except UnumError as error:  # one dead letter must not keep the others from being tried
                reason = str(error)
            else:
                self.rt.log("letter retried", **about)
                return True
        self.rt.log("dead letter", reason=reason, **about)
        return False

    def _parse(self, dead_letter: DeadLetter) -> Sending:
        """Return the content of `dead_letter`.

        Raises:
            NotOurEvent: only the failure handler sends failure records.
        """
        sending = parse(dead_letter.body)
        sending = sending._replace(origin=self.senders.origin(dead_letter.sender, sending.origin))
        if sending.origin and not self.is_own(sending.origin):
            raise NotOurEvent(f"{sending.origin} has sent it; expected a function of {self.rt.workflow.name!r}")
        if sending.is_record and sending.origin:
            raise NotOurEvent(f"{dead_letter.sender} has sent a failure record; expected one of the failure handler")
        return sending

    def _is_settled(self, execution: Execution) -> bool:
        """Return True if `execution` has ended or is gone; abandon it if its time is over."""
        name = self.rt.workflow.name
        try:
            is_gone = start_record(self.rt.store, name, execution.name).name.execution != execution
        except ExecutionDoesNotExist:
            is_gone = True
        if is_gone or end_of(self.index, name, execution) is not None:
            return True
        if not is_over(self.rt, execution, self.retention_s):
            return False
        abandon(self.rt, execution)
        return True

    def _deliver(self, sending: Sending, since_ms: int) -> None:
        payload = to_text(sending.again(since_ms)).encode()
        if sending.origin and not self.senders.may_send(sending.origin, sending.address):
            self.hand_over(sending.address, TakeOver.of(Envelope.from_json(sending.inner), sending.address))
        elif not sending.is_record:
            self.rt.invoker.invoke([(sending.address, payload)])
        elif self._takes_records(sending.address.removeprefix(f"{function_of(sending.address)}:")):
            self.call(sending.address, payload)
        elif self.remote and sending.address == f"{self.remote}:{UNPUBLISHED}":
            self.call(self.remote, payload)
        else:
            raise InvokeError(f"{sending.address}: expected a version of the intake; {sending.reason}")

    def _takes_records(self, qualifier: str) -> bool:
        name = self.rt.workflow.name
        aliases = intake_alias(name), start_intake_alias(name), control_alias_name(SIGNAL_EVENTS, name)
        return qualifier.isdecimal() or qualifier in aliases


def try_all(postmen: Mapping[str, Postman], queue: FailureQueue) -> None:
    """Delete settled dead letters, retry due dead letters, and make the remaining dead letters visible again.

    Args:
        postmen: who tries the dead letters of each workflow.
        queue: the failure queue of all of them.

    Raises:
        UnumError: a service did not answer; the next sweep goes on.
    """
    first = next(iter(postmen.values()))
    since_ms, now_ms = {name: each.last_round_ms() for name, each in postmen.items()}, first.rt.clock.now_ms()
    kept: list[DeadLetter] = []
    try:
        for batch in queue.receive():
            kept += batch
            for dead_letter in batch:
                workflow = _workflow_of(dead_letter, postmen)
                if postmen[workflow].is_done(dead_letter, since_ms[workflow], now_ms):
                    queue.delete(dead_letter)
                    kept.remove(dead_letter)
                # A round that leaves dead letters out does not count: they would wait for their next hour or day.
                if first.rt.remaining_ms() < RESERVE_MS:
                    return
    finally:
        for dead_letter in kept:
            queue.show(dead_letter)
    for each in postmen.values():
        each.note_round(now_ms)


def _workflow_of(dead_letter: DeadLetter, postmen: Mapping[str, Postman]) -> str:
    """Return the workflow whose alias got the event, or else that of the event; the first one if nothing says it."""
    first = next(iter(postmen))
    if len(postmen) == 1:
        return first
    try:
        sending = parse(dead_letter.body)
        alias = find_alias(sending.address.rpartition(":")[2], postmen)
        inner = sending.inner
        found = alias[1] if alias else inner.get(WORKFLOW) if isinstance(inner, dict) else None
    except _UNREADABLE:
        return first
    return found if isinstance(found, str) and found in postmen else first


def parse(body: str) -> Sending:
    """Return the content of a dead letter.

    Raises:
        ValueError: the dead letter has none that can be sent.
        NotOurEvent: the forwarder has refused it.
    """
    match parse_json(body):
        case {"requestContext": {"functionArn": str(address)}, "requestPayload": event, **rest}:
            answer = rest.get("responsePayload")
            is_refused = isinstance(answer, dict) and answer.get("errorType") in REFUSALS
            return Sending(address, event, is_record=True, reason=to_text(answer), is_refused=is_refused)
        # EventBridge Scheduler wraps the request that it could not deliver.
        case {"MessageBody": str(inside)}:
            return parse(inside)
        case {"address": str(address), "event": event, **rest}:
            reason, origin = "delayed event, never delivered", str(rest.get("origin", ""))
            return Sending(address, event, is_record=False, reason=reason, origin=origin)
        case {"refused": str(reason), "sender": str(sender)}:
            raise NotOurEvent(f"refused message of {sender}: {reason}")
    raise ValueError("expected a failure record or a delayed event")


def is_due(since_ms: int, before_ms: int, now_ms: int) -> bool:
    """Return True if a dead letter since `since_ms` was due between two rounds; a new one is due at once."""
    unit_ms = HOUR_MS if now_ms - since_ms <= OFTEN_MS else DAY_MS
    return (now_ms - since_ms) // unit_ms > (before_ms - since_ms) // unit_ms


def _subject(sending: Sending, workflow: str) -> Execution | None:
    """Return the execution of this workflow that the event names; None without one."""
    inner = sending.inner
    if not is_envelope(inner) or inner["workflow"] != workflow:
        return None
    return Envelope.from_json(inner).name.execution


def _dead_since(sending: Sending, dead_letter: DeadLetter) -> int:
    earlier = sending.inner.get(DEAD_SINCE) if is_envelope(sending.inner) else None
    return min(dead_letter.sent_ms, earlier) if isinstance(earlier, int) else dead_letter.sent_ms


def _is_around(event: Json) -> bool:
    """Return True for Lambda's record of a failed event."""
    return isinstance(event, dict) and "requestContext" in event and "requestPayload" in event
