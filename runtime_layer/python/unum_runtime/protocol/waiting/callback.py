"""Callbacks: an invocation gives out a task token and ends; a responder's result continues it.

A token consists of a digest that names an item in the store, and of a random number whose hash is in that item. So a
token reveals nothing, and only a responder who received it can know it, whoever reads the store. Each try has tokens of
its own, one for each delivery that asks: a delivery after a crash cannot know what an earlier one gave out. The first
stored result of a try counts: of the responder, of a time limit, or of failed user code.

Exactly one kind of event continues from each result. A responder's result makes the store's writer send the
invocation's event again (a *nudge*). Every other result is stored by a delivery of the event that continues from it,
and the platform delivers that event again if the delivery dies. So an event that checks a time limit ends without
effect if it finds a result of another kind.

All layers have this module: answers, operators' requests and the handler of failures serve executions of earlier
definitions, too. What gives out tokens is in `unum_runtime.features.task_tokens`.

Source: AWS Step Functions Developer Guide, "Wait for a Callback with Task Token".
"""

from collections.abc import Mapping
from enum import StrEnum
from itertools import count

from unum_runtime.cold_start.digest import sha256
from unum_runtime.cold_start.records import NamedTuple, replace
from unum_runtime.errors import RefusedDelivery
from unum_runtime.json_text import parse_json, to_text
from unum_runtime.model.checkpoint import TOMBSTONE, Failure, Item, Success
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.naming import Key, Name, answer_key, pending_key, proof_key
from unum_runtime.model.states import Json, Pattern, Task
from unum_runtime.protocol.runtime import CallbackPending, Runtime

NUDGE: Mapping[str, Json] = {"is_over": True}
"""Job of an event that continues from a responder's result; that of a signal has a `SLOT` besides."""

SLOT = "handle"
"""Field of a job: digest of the slot in which a Task waits for a signal, in place of its try's."""

DIGEST_LENGTH = 64
PROOF_HASH = "proof_hash"
"""Attribute of a pending try: the hash of the secret part of its token."""
HEARTBEAT = "heartbeat"


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
        digest = digest_of_try(name, state, attempt)
        pending, answer = pending_key(rt.workflow.name, digest), answer_key(rt.workflow.name, digest)
        items = rt.store.read([pending, answer])
        if pending not in items or TOMBSTONE in items[pending]:
            return found
        event, address = parse_json(str(items[pending]["value"])), str(items[pending]["address"])
        found = Try(Envelope.from_json(event), address, By(str(items[answer]["by"])) if answer in items else None)
    raise AssertionError("there are more tries than numbers")


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


def has_begun(rt: Runtime, envelope: Envelope) -> bool:
    """Return True if a delivery of this try stored its token; Lambda repeats dead deliveries."""
    key = pending_key_of(rt, envelope)
    return key in rt.store.read([key])


def store_failure(rt: Runtime, envelope: Envelope, failure: Failure) -> Failure | CallbackPending:
    """Store user code's `failure` as the try's result if absent; return a failure to continue with.

    User code may have forwarded the token before it failed.
    """
    found = take_result(rt, envelope, store_result(rt, envelope, failure, By.CODE), By.CODE)
    return CallbackPending() if isinstance(found, Success) else found


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


def store_result(rt: Runtime, envelope: Envelope, failure: Failure, by: By) -> Item:
    """Store `failure` as the try's result if absent; return the stored item."""
    item = result_item(failure, by)
    key = _answer_key(rt, envelope)
    return rt.store.create(key, item, expires_at_s=rt.expires_at_s()) or item


def take_result(rt: Runtime, envelope: Envelope, item: Item, by: By) -> Success | Failure | CallbackPending:
    """Return `item`'s result if this delivery must continue from it; otherwise resend the nudge."""
    if item["by"] == by:
        return parse_result(item)
    # The request that stored the responder's result may have died before it sent the nudge.
    if item["by"] == By.RESPONDER and TOMBSTONE not in item:
        nudge(rt, envelope, rt.own_address)
    return CallbackPending()


def answer_of(rt: Runtime, envelope: Envelope) -> Item | None:
    """Return the stored result of this try; None without one."""
    key = _answer_key(rt, envelope)
    return rt.store.read([key]).get(key)


def try_partition(workflow: str, name: Name, state: str, attempt: int) -> str:
    """Return the partition of all items of a try."""
    return pending_key(workflow, digest_of_try(name, state, attempt)).partition


def pending_key_of(rt: Runtime, envelope: Envelope) -> Key:
    """Return the key of this try's event, stored with its first token."""
    return pending_key(rt.workflow.name, _digest_of(envelope))


def _answer_key(rt: Runtime, envelope: Envelope) -> Key:
    return answer_key(rt.workflow.name, _digest_of(envelope))


def _digest_of(envelope: Envelope) -> str:
    """Return the digest of the mailbox slot if the try waits for a signal, otherwise of the try itself."""
    slot = (envelope.job or {}).get(SLOT)
    return slot if isinstance(slot, str) else digest_of_try(envelope.name, envelope.state, sum(envelope.retries))


def digest_of_try(name: Name, state: str, attempt: int) -> str:
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
