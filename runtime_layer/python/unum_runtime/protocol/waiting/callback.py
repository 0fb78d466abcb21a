"""Callbacks: an invocation gives out a task token and ends; a responder's result continues it.

A token consists of a digest that names an item in the store, and of a random number whose hash is in that item. So a
token reveals nothing, and only a responder who received it can know it, whoever reads the store. Each try has tokens of
its own, one for each delivery that asks: a delivery after a crash cannot know what an earlier one gave out. The first
stored result of a try counts: of the responder, of a time limit, or of failed user code.

Exactly one kind of event continues from each result. A responder's result makes the store's writer send the
invocation's event again (a *nudge*). Every other result is stored by a delivery of the event that continues from it,
and the platform delivers that event again if the delivery dies. So an event that checks a time limit ends without
effect if it finds a result of another kind.

Source: AWS Step Functions Developer Guide, "Wait for a Callback with Task Token".
"""

from collections.abc import Mapping
from enum import StrEnum
from itertools import count

from unum_runtime.cold_start.digest import sha256
from unum_runtime.cold_start.records import NamedTuple, replace
from unum_runtime.errors import InconsistentHistory, RefusedDelivery, StatesError
from unum_runtime.json_text import parse_json, to_text
from unum_runtime.model.checkpoint import TOMBSTONE, Failure, Item, Success
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.naming import Key, Name, answer_key, lease_key, pending_key, proof_key
from unum_runtime.model.states import ACTIVITY, Json, Pattern, State, Task
from unum_runtime.protocol.planning.plan import MAX_OUTCOME_BYTES, WITHOUT_BUCKET
from unum_runtime.protocol.planning.task_facts import task_facts
from unum_runtime.protocol.runtime import CallbackPending, JobPending, Runtime

NUDGE: Mapping[str, Json] = {"is_over": True}
"""Job of an event that continues from a responder's result; that of a signal has a `SLOT` besides."""

SLOT = "handle"
"""Field of a job: digest of the slot in which a Task waits for a signal, in place of its try's."""

DIGEST_LENGTH = 64
PROOF_HASH = "proof_hash"
"""Attribute of a pending try: the hash of the secret part of its token."""
HEARTBEAT, _CHECK = "heartbeat", "check"


class By(StrEnum):
    """Origin of a try's result, which determines the event that continues from it."""

    RESPONDER = "holder"
    """The responder; a nudge continues."""

    CLOCK = "clock"
    """A time limit; the event that checked it continues."""

    CODE = "code"
    """Failed user code; its own event continues."""

    NOBODY = "nobody"
    """A sender of a signal who finds that nobody waits any more; no event continues."""


class Limits(NamedTuple):
    """Time limits of a try, in seconds; None for no limit.

    Attributes:
        timeout_s: until the result.
        heartbeat_s: between two heartbeats.
    """

    timeout_s: float | None = None
    heartbeat_s: float | None = None


NO_LIMITS = Limits()


class Try(NamedTuple):
    """Try of an invocation after giving out its task token.

    Attributes:
        envelope: its event.
        address: address of the function version that waits.
        answered_by: origin of its result; None without a result.
    """

    envelope: Envelope
    address: str
    answered_by: By | None


def last_try(rt: Runtime, name: Name, state: str) -> Try | None:
    """Return `state`'s last try under `name` with a stored token; None without stored or uncollected tries."""
    found = None
    for attempt in count():
        digest = _digest(name, state, attempt)
        pending, answer = pending_key(rt.workflow.name, digest), answer_key(rt.workflow.name, digest)
        items = rt.store.read([pending, answer])
        if pending not in items or TOMBSTONE in items[pending]:
            return found
        event, address = parse_json(str(items[pending]["value"])), str(items[pending]["address"])
        found = Try(Envelope.from_json(event), address, By(str(items[answer]["by"])) if answer in items else None)
    raise AssertionError("there are more tries than numbers")


class GivenToken(NamedTuple):
    """Token of a try.

    Attributes:
        text: the token.
        is_first: True if no other delivery has given out a token of the try.
    """

    text: str
    is_first: bool


OF_POLLS = GivenToken("0" * 96, is_first=False)
"""In place of a token when a job is polled: its start gave out the token, and no poll sends its arguments."""


def give_out_token(rt: Runtime, envelope: Envelope, heartbeat_s: float | None = None) -> GivenToken:
    """Store this try's event, and return a token for this delivery; tokens of earlier deliveries stay valid.

    Args:
        rt: the runtime.
        envelope: the event of the try.
        heartbeat_s: lifetime of a heartbeat in seconds; None if none are expected.

    Raises:
        StatesError: the event is too large to be stored until the result arrives.
    """
    key = _pending_key(rt, envelope)
    event = to_text(replace(envelope, job=None, waiting_since_ms=None).to_json())
    if rt.large is None and len(event.encode()) > MAX_OUTCOME_BYTES:
        cause = f"its event has {len(event.encode())} bytes; at most {MAX_OUTCOME_BYTES} are stored for who waits"
        raise StatesError("States.DataLimitExceeded", cause + WITHOUT_BUCKET)  # the caller names the state
    proof = rt.new_secret()
    item: Item = {"value": event, "address": rt.own_address, PROOF_HASH: hash_of(proof)}
    if heartbeat_s is not None:
        item["heartbeat_ms"] = round(heartbeat_s * 1000)
    digest = key.partition[-DIGEST_LENGTH:]
    winner = rt.store.create(key, item, expires_at_s=rt.expires_at_s())
    if winner is None:
        return GivenToken(digest + proof, is_first=True)
    if TOMBSTONE in winner:
        raise RefusedDelivery(f"{envelope.name}: its token was collected, or its execution was deleted")
    own = proof_key(rt.workflow.name, digest, hash_of(proof))
    rt.store.create(own, {"address": rt.own_address}, expires_at_s=rt.expires_at_s())
    return GivenToken(digest + proof, is_first=False)


def is_proof(rt: Runtime, key: Key, item: Item, proof: str) -> bool:
    """Return True if a token with the secret part `proof` was given out for the pending try `item` at `key`."""
    hashed = hash_of(proof)
    if _is_same(str(item.get(PROOF_HASH, "")), hashed):
        return True
    own = proof_key(rt.workflow.name, key.partition[-DIGEST_LENGTH:], hashed)
    return own in rt.store.read([own])


def hash_of(proof: str) -> str:
    """Return the hash of a token's secret part, which proves nothing itself."""
    return sha256(proof.encode(errors="replace"))


def read_result(rt: Runtime, envelope: Envelope, token: GivenToken) -> Success | Failure | CallbackPending | None:
    """Return this try's result if an earlier delivery gave out a token.

    Returns:
        The result, if this event continues from it; `CallbackPending` if another event does; None without a result.
    """
    item = None if token.is_first else _answer(rt, envelope)
    return None if item is None else _take_result(rt, envelope, item, By.CODE)


def has_begun(rt: Runtime, envelope: Envelope) -> bool:
    """Return True if a delivery of this try stored its token; Lambda repeats dead deliveries."""
    key = _pending_key(rt, envelope)
    return key in rt.store.read([key])


def store_failure(rt: Runtime, envelope: Envelope, failure: Failure) -> Failure | CallbackPending:
    """Store user code's `failure` as the try's result if absent; return a failure to continue with.

    User code may have forwarded the token before it failed.
    """
    found = _take_result(rt, envelope, _store_result(rt, envelope, failure, By.CODE), By.CODE)
    return CallbackPending() if isinstance(found, Success) else found


def check_result(rt: Runtime, envelope: Envelope, limits: Limits) -> Success | Failure | JobPending | CallbackPending:
    """Check a try's result and time limits for a nudge or a time check.

    Returns:
        The result, if this event continues from it; the time of the next check; or `CallbackPending` if no event of
        this kind is needed any more.

    Raises:
        RefusedDelivery: the event can have no effect any more.
        InconsistentHistory: the event announces a result that the store lacks.
    """
    item = _answer(rt, envelope)
    if is_nudge(envelope.job):
        if item is None:
            # Results outlive every event of their execution, so a dead letter says more than silence.
            raise InconsistentHistory(
                f"{envelope.name}: expected the stored result that this event announces, got none"
            )
        return _take_result(rt, envelope, item, By.RESPONDER)
    waited_ms = rt.clock.now_ms() - int(envelope.job["since"])
    failure = _overdue_failure(rt, envelope, limits, waited_ms) if item is None else None
    if failure is not None:
        item = _store_result(rt, envelope, failure, By.CLOCK)
    return (
        next_check(limits, waited_ms, envelope.job.get(SLOT))
        if item is None
        else _take_result(rt, envelope, item, By.CLOCK)
    )


def next_check(limits: Limits, waited_ms: float, slot: str | None = None) -> JobPending | CallbackPending:
    """Return the next check after waiting `waited_ms`, for a signal in `slot`; `CallbackPending` without limits."""
    left_s = None if limits.timeout_s is None else max(0.0, limits.timeout_s - waited_ms / 1000)
    times_s = [time_s for time_s in (left_s, limits.heartbeat_s) if time_s is not None]
    return JobPending(slot, round(min(times_s) * 1000)) if times_s else CallbackPending()


def refuse_late_check(rt: Runtime, envelope: Envelope, state: State) -> None:
    """Refuse a time check after its invocation committed a responder's result or user code's failure.

    Raises:
        RefusedDelivery: the event is such a check.
    """
    if (
        not isinstance(state, Task)
        or state.pattern is not Pattern.CALLBACK
        or envelope.job is None
        or is_nudge(envelope.job)
    ):
        return
    # A result by the clock is this event's own: an earlier delivery of it may have died after the commit.
    if (_answer(rt, envelope) or {"by": By.CLOCK})["by"] != By.CLOCK:
        raise RefusedDelivery(f"{envelope.name}: has a result already, so a check of its time has no effect")


def collect_tokens(rt: Runtime, envelope: Envelope, state: State) -> None:
    """Collect token items of this and earlier tries, after performing the committed outcome's effects."""
    # Slots of signals stay until they expire: they make a repeated signal known, and the next one find its place.
    facts = task_facts(rt.workflow).get(state.name)
    if facts is not None and facts.gives_token and not facts.waits_for_signal:
        digests = [_digest(envelope.name, envelope.state, attempt) for attempt in range(sum(envelope.retries) + 1)]
        keys = (pending_key, answer_key)
        rt.store.collect(key(rt.workflow.name, digest) for digest in digests for key in keys)


def is_alive(rt: Runtime, envelope: Envelope) -> bool:
    """Return True if this try's last heartbeat is recent enough.

    An activity without a worker needs no heartbeat. Source: AWS Step Functions Developer Guide, "Task",
    HeartbeatSeconds.
    """
    key = _pending_key(rt, envelope)
    state = rt.workflow.states[envelope.state]
    is_activity = isinstance(state, Task) and (state.resource or "").startswith(ACTIVITY)
    if is_activity and not rt.store.read([taken_key(key)]):
        return True
    # A heartbeat is a lease with its lifetime. This acquisition expires at once, so it keeps no heartbeat out.
    return rt.store.acquire(lease_key(key), _CHECK, expires_at_ms=rt.clock.now_ms()) == HEARTBEAT


def nudge(rt: Runtime, envelope: Envelope, address: str) -> None:
    """Send the invocation's event again, continuing from the stored result."""
    job = nudge_job((envelope.job or {}).get(SLOT))
    rt.invoker.invoke([(address, replace(envelope, job=job, sent_s=rt.sent_s(), due_ms=None).to_bytes())])


def nudge_job(slot: str | None = None) -> dict[str, Json]:
    """Return the job of a nudge, in `slot` for a signal."""
    return {**NUDGE} if slot is None else {**NUDGE, SLOT: slot}


def is_nudge(job: Json) -> bool:
    """Return True if an event with `job` continues from a responder's result."""
    return isinstance(job, dict) and job.keys() - {SLOT} == NUDGE.keys()


def is_response_left(job: Json, task: Task) -> bool:
    """Return True if user code of `task` has run for an event with `job`, and only a response is missing."""
    return task.pattern is Pattern.CALLBACK or is_nudge(job)


def _overdue_failure(rt: Runtime, envelope: Envelope, limits: Limits, waited_ms: int) -> Failure | None:
    """Return an overdue try's failure, else None."""
    if limits.timeout_s is not None and waited_ms >= limits.timeout_s * 1000:
        return Failure("States.Timeout", None)
    if limits.heartbeat_s is not None and not is_alive(rt, envelope):
        return Failure("States.HeartbeatTimeout", None)
    return None


def _store_result(rt: Runtime, envelope: Envelope, failure: Failure, by: By) -> Item:
    """Store `failure` as the try's result if absent; return the stored item."""
    item = result_item(failure, by)
    key = _answer_key(rt, envelope)
    return rt.store.create(key, item, expires_at_s=rt.expires_at_s()) or item


def _take_result(rt: Runtime, envelope: Envelope, item: Item, by: By) -> Success | Failure | CallbackPending:
    """Return `item`'s result if this delivery must continue from it; otherwise resend the nudge."""
    if item["by"] == by:
        return parse_result(item)
    # The request that stored the responder's result may have died before it sent the nudge.
    if item["by"] == By.RESPONDER and TOMBSTONE not in item:
        nudge(rt, envelope, rt.own_address)
    return CallbackPending()


def _answer(rt: Runtime, envelope: Envelope) -> Item | None:
    key = _answer_key(rt, envelope)
    return rt.store.read([key]).get(key)


def try_partition(workflow: str, name: Name, state: str, attempt: int) -> str:
    """Return the partition of all items of a try."""
    return pending_key(workflow, _digest(name, state, attempt)).partition


def _pending_key(rt: Runtime, envelope: Envelope) -> Key:
    return pending_key(rt.workflow.name, _digest_of(envelope))


def _answer_key(rt: Runtime, envelope: Envelope) -> Key:
    return answer_key(rt.workflow.name, _digest_of(envelope))


def _digest_of(envelope: Envelope) -> str:
    """Return the digest of the mailbox slot if the try waits for a signal, otherwise of the try itself."""
    slot = (envelope.job or {}).get(SLOT)
    return slot if isinstance(slot, str) else _digest(envelope.name, envelope.state, sum(envelope.retries))


def _digest(name: Name, state: str, attempt: int) -> str:
    """Return a digest naming one try; digests are no secrets."""
    # The state is included: a Task without a checkpoint shares its invocation name with the Task that commits for it.
    return sha256(f"{name}+{attempt} {state}".encode())


def taken_key(pending: Key) -> Key:
    """Return the key of an activity worker's item."""
    return pending._replace(sort="taken")


def result_item(result: Success | Failure, by: By) -> Item:
    """Return the stored form of a result."""
    if isinstance(result, Success):
        return {"value": to_text(result.value), "by": by.value}
    return {"error": to_text(result.error), "cause": to_text(result.cause), "by": by.value}


def _is_same(expected: str, found: str) -> bool:
    """Compare in constant time, so that response times reveal no prefix."""
    from hmac import compare_digest  # noqa: PLC0415 - few deliveries verify a token

    return compare_digest(expected.encode(), found.encode(errors="replace"))


def parse_result(item: Item) -> Success | Failure:
    """Return the result in a stored `item`.

    Raises:
        RefusedDelivery: the result was collected.
    """
    if TOMBSTONE in item:
        raise RefusedDelivery("the result was collected, because what follows from it is committed")
    if "value" in item:
        return Success(parse_json(str(item["value"])))
    return Failure(parse_json(str(item["error"])), parse_json(str(item["cause"])))
