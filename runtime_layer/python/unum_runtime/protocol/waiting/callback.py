"""Results that somebody else hands in: an invocation gives out a token, ends, and goes on when it comes back.

A token names an item in the store, by a digest, and proves with a random number that its holder got it from there; so
it tells nothing and cannot be made up. Each try has one of its own. The result of a try is stored by create-if-absent:
the first one counts, be it that of a holder, that the time is over, or that the token could not be given out.

Whoever stores a result makes sure that some event goes on from it, and that event alone does: for a holder's result the
event of the invocation is sent again (a *nudge*); what else there is stores its result in a delivery, which comes again
if it dies. So an event that only looks whether the time is over, and finds a result that is none of its own, ends.

Source: AWS Step Functions Developer Guide, "Wait for a Callback with Task Token".
"""

import json
from collections.abc import Mapping
from enum import StrEnum
from itertools import count

from unum_runtime.cold_start.digest import sha256
from unum_runtime.cold_start.records import NamedTuple, replace
from unum_runtime.errors import RefusedDelivery, StatesError
from unum_runtime.model.checkpoint import TOMBSTONE, Failure, Item, Success, to_text
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.ir import ACTIVITY, Json, Pattern, State, Task
from unum_runtime.model.naming import Key, Name, answer_key, lease_key, pending_key
from unum_runtime.protocol.planning.plan import MAX_OUTCOME_BYTES, WITHOUT_BUCKET
from unum_runtime.protocol.runtime import CallbackPending, JobPending, Runtime

NUDGE: Mapping[str, Json] = {"is_over": True}
"""The job of an event that goes on from a result which was handed in."""

DIGEST_LENGTH = 64
HEARTBEAT, _CHECK = "heartbeat", "check"


class By(StrEnum):
    """Where the result of a try comes from, hence which event goes on from it."""

    HOLDER = "holder"
    """Whoever has the token; a nudge goes on."""

    CLOCK = "clock"
    """The time is over; the event that looked goes on."""

    CODE = "code"
    """User code failed; its own event goes on."""


class Limits(NamedTuple):
    """How long a holder may take, in seconds; None for as long as it likes.

    Attributes:
        timeout_s: to hand in the result.
        heartbeat_s: between two signs of life.
    """

    timeout_s: float | None
    heartbeat_s: float | None


class Try(NamedTuple):
    """A try of an invocation that has given out its token.

    Attributes:
        envelope: its event.
        address: of the version that waits.
        answered_by: where its result comes from; None if there is none.
    """

    envelope: Envelope
    address: str
    answered_by: By | None


def last_try(rt: Runtime, name: Name, state: str) -> Try | None:
    """The last try of `state` under `name` that has given out its token; None if none has, or it is collected."""
    found = None
    for attempt in count():
        digest = _digest(name, state, attempt)
        pending, answer = pending_key(rt.workflow.name, digest), answer_key(rt.workflow.name, digest)
        items = rt.store.read([pending, answer])
        if pending not in items or TOMBSTONE in items[pending]:
            return found
        event, address = json.loads(str(items[pending]["value"])), str(items[pending]["address"])
        found = Try(Envelope.from_json(event), address, By(str(items[answer]["by"])) if answer in items else None)
    raise AssertionError("there are more tries than numbers")


def token(rt: Runtime, envelope: Envelope, heartbeat_s: float | None = None) -> str:
    """The token of this try of the invocation, the same on every delivery.

    Args:
        rt: the runtime.
        envelope: the event of the try.
        heartbeat_s: for how long a heartbeat counts, in seconds.

    Raises:
        StatesError: the event is too large to be stored until the result comes.
    """
    key = _pending_key(rt, envelope)
    event = to_text(replace(envelope, job=None).to_json())
    if rt.large is None and len(event.encode()) > MAX_OUTCOME_BYTES:
        cause = f"state {envelope.state!r}: its event has {len(event.encode())} bytes; at most {MAX_OUTCOME_BYTES} are"
        raise StatesError("States.DataLimitExceeded", f"{cause} stored for who waits{WITHOUT_BUCKET}")
    item: Item = {"value": event, "address": rt.own_address, "proof": rt.delivery}
    if heartbeat_s is not None:
        item["heartbeat_ms"] = round(heartbeat_s * 1000)
    winner = rt.store.create(key, item, expires_at_s=rt.expires_at_s())
    return key.partition[-DIGEST_LENGTH:] + str((winner or item)["proof"])


def known(rt: Runtime, envelope: Envelope, given: str) -> Success | Failure | CallbackPending | None:
    """What the event of this try comes to, if its token `given` was given out before this delivery.

    Returns:
        The result, if it is this event that goes on from it; nothing any more, if another does; None if there is none.
    """
    item = None if given.endswith(rt.delivery) else _answer(rt, envelope)
    return None if item is None else _carried(rt, envelope, item, By.CODE)


def has_begun(rt: Runtime, envelope: Envelope) -> bool:
    """Whether some delivery of this try has given out its token; that one comes again if it dies."""
    key = _pending_key(rt, envelope)
    return key in rt.store.read([key])


def fail(rt: Runtime, envelope: Envelope, failure: Failure) -> Failure | CallbackPending:
    """`failure` of user code, which may have given the token on; nothing any more, if another event goes on."""
    found = _carried(rt, envelope, _settled(rt, envelope, failure, By.CODE), By.CODE)
    return CallbackPending() if isinstance(found, Success) else found


def look(rt: Runtime, envelope: Envelope, limits: Limits) -> Success | Failure | JobPending | CallbackPending:
    """What an event comes to that was sent when the token had been given out.

    Returns:
        The result, if it is this event that goes on from it; when to look again; or nothing any more.

    Raises:
        RefusedDelivery: nothing can come of it.
    """
    item = _answer(rt, envelope)
    if envelope.job == NUDGE:
        if item is None:
            raise RefusedDelivery(f"{envelope.name}: what was handed in for it is gone")
        return _carried(rt, envelope, item, By.HOLDER)
    waited_ms = rt.clock.now_ms() - int(envelope.job["since"])
    failure = _late(rt, envelope, limits, waited_ms) if item is None else None
    if failure is not None:
        item = _settled(rt, envelope, failure, By.CLOCK)
    return next_look(limits, waited_ms) if item is None else _carried(rt, envelope, item, By.CLOCK)


def next_look(limits: Limits, waited_ms: float) -> JobPending | CallbackPending:
    """When to see whether the time is over, after `waited_ms` milliseconds; never where there is no limit."""
    left_s = None if limits.timeout_s is None else max(0.0, limits.timeout_s - waited_ms / 1000)
    times_s = [time_s for time_s in (left_s, limits.heartbeat_s) if time_s is not None]
    return JobPending(None, round(min(times_s) * 1000)) if times_s else CallbackPending()


def check_look(rt: Runtime, envelope: Envelope, state: State) -> None:
    """Let `envelope` go on from what its invocation has committed.

    Raises:
        RefusedDelivery: it only looks whether the time is over, and another event has committed.
    """
    if not isinstance(state, Task) or state.pattern is not Pattern.CALLBACK or envelope.job in (None, NUDGE):
        return
    key = _answer_key(rt, envelope)
    if rt.store.read([key]).get(key, {}).get("by", By.CLOCK) != By.CLOCK:
        raise RefusedDelivery(f"{envelope.name}: has a result, so its time need not be looked at any more")


def forget(rt: Runtime, envelope: Envelope, state: State) -> None:
    """Collect what was stored for this try and those before it; the outcome is committed and what follows is sent."""
    if isinstance(state, Task) and state.pattern is Pattern.CALLBACK:
        digests = [_digest(envelope.name, envelope.state, attempt) for attempt in range(sum(envelope.retries) + 1)]
        keys = (pending_key, answer_key)
        rt.store.collect(key(rt.workflow.name, digest) for digest in digests for key in keys)


def is_alive(rt: Runtime, envelope: Envelope) -> bool:
    """Whether the last heartbeat of this try is recent enough; an activity that nobody has taken need not beat.

    Source: AWS Step Functions Developer Guide, "Task", HeartbeatSeconds.
    """
    key = _pending_key(rt, envelope)
    state = rt.workflow.states[envelope.state]
    is_activity = isinstance(state, Task) and (state.resource or "").startswith(ACTIVITY)
    if is_activity and not rt.store.read([taken_key(key)]):
        return True
    return rt.store.acquire(lease_key(key), _CHECK, expires_at_ms=rt.clock.now_ms()) == HEARTBEAT


def nudge(rt: Runtime, envelope: Envelope, address: str) -> None:
    """Send the event of the invocation again, to go on from the result that is stored."""
    not_after_s = rt.not_after_s(envelope.name.execution)
    rt.invoker.invoke([(address, replace(envelope, job=dict(NUDGE), not_after_s=not_after_s).to_bytes())])


def _late(rt: Runtime, envelope: Envelope, limits: Limits, waited_ms: int) -> Failure | None:
    """What the try comes to if its time is over."""
    if limits.timeout_s is not None and waited_ms >= limits.timeout_s * 1000:
        return Failure("States.Timeout", None)
    if limits.heartbeat_s is not None and not is_alive(rt, envelope):
        return Failure("States.HeartbeatTimeout", None)
    return None


def _settled(rt: Runtime, envelope: Envelope, failure: Failure, by: By) -> Item:
    item = result_item(failure, by)
    key = _answer_key(rt, envelope)
    return rt.store.create(key, item, expires_at_s=rt.expires_at_s()) or item


def _carried(rt: Runtime, envelope: Envelope, item: Item, by: By) -> Success | Failure | CallbackPending:
    """The result in `item`, if an event that goes on from results `by` goes on from this one."""
    if item["by"] == by:
        return _result(item)
    if item["by"] == By.HOLDER and TOMBSTONE not in item:  # who may have died before the nudge
        nudge(rt, envelope, rt.own_address)
    return CallbackPending()


def _answer(rt: Runtime, envelope: Envelope) -> Item | None:
    key = _answer_key(rt, envelope)
    return rt.store.read([key]).get(key)


def _pending_key(rt: Runtime, envelope: Envelope) -> Key:
    return pending_key(rt.workflow.name, _own_digest(envelope))


def _answer_key(rt: Runtime, envelope: Envelope) -> Key:
    return answer_key(rt.workflow.name, _own_digest(envelope))


def _own_digest(envelope: Envelope) -> str:
    return _digest(envelope.name, envelope.state, sum(envelope.retries))


def _digest(name: Name, state: str, attempt: int) -> str:
    """Names one try of an invocation; it is no secret, and tells nothing.

    The state is in it, because a Task that is not checkpointed has the same name as the one that commits for it.
    """
    return sha256(f"{name}+{attempt} {state}".encode())


def taken_key(pending: Key) -> Key:
    """Where it is stored that a worker has taken the task."""
    return pending._replace(sort="taken")


def result_item(result: Success | Failure, by: By) -> Item:
    """What is stored of a result."""
    if isinstance(result, Success):
        return {"value": to_text(result.value), "by": by.value}
    return {"error": to_text(result.error), "cause": to_text(result.cause), "by": by.value}


def _result(item: Item) -> Success | Failure:
    if TOMBSTONE in item:
        raise RefusedDelivery("the result was collected, because what follows from it is committed")
    if "value" in item:
        return Success(json.loads(str(item["value"])))
    return Failure(json.loads(str(item["error"])), json.loads(str(item["cause"])))
