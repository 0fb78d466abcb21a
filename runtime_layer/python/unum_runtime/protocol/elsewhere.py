"""Results that somebody else hands in: an invocation gives out a token, ends, and goes on when it comes back.

A token names an item in the store, by a digest, and proves with a random number that its holder got it from there; so
it tells nothing and cannot be made up. The result is stored by create-if-absent: the first one counts, be it that of a
holder or that the time is over. Then the event of the invocation is sent again, and finds it.

Source: AWS Step Functions Developer Guide, "Wait for a Callback with Task Token".
"""

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import replace

from unum_runtime.errors import InvalidToken, TaskTimedOut
from unum_runtime.model.checkpoint import Failure, Item, Success, to_text
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.ir import Json
from unum_runtime.model.naming import answer_key, lease_key, pending_key
from unum_runtime.protocol.runtime import Runtime

_DIGEST_LENGTH = 64
_HEARTBEAT, _CHECK = "heartbeat", "check"


def token(rt: Runtime, envelope: Envelope) -> str:
    """The token of this try of the invocation, the same on every delivery."""
    digest = _digest(envelope)
    item: Item = {
        "event": to_text(replace(envelope, job=None).to_json()),
        "address": rt.own_address,
        "proof": rt.delivery,
    }
    winner = rt.store.create(pending_key(rt.workflow.name, digest), item, expires_at_s=rt.expires_at_s())
    return digest + str((winner or item)["proof"])


def handed_in(rt: Runtime, envelope: Envelope) -> Success | Failure | None:
    """The result of this try; None if there is none yet."""
    key = answer_key(rt.workflow.name, _digest(envelope))
    item = rt.store.read([key]).get(key)
    return None if item is None else _result(item)


def settle(rt: Runtime, envelope: Envelope, failure: Failure) -> Success | Failure:
    """`failure`, unless a result was handed in before."""
    item = _item(failure)
    key = answer_key(rt.workflow.name, _digest(envelope))
    return _result(rt.store.create(key, item, expires_at_s=rt.expires_at_s()) or item)


def is_alive(rt: Runtime, envelope: Envelope) -> bool:
    """Whether the last heartbeat of this try is recent enough."""
    key = lease_key(pending_key(rt.workflow.name, _digest(envelope)))
    return rt.store.acquire(key, _CHECK, expires_at_ms=rt.clock.now_ms()) == _HEARTBEAT


def hand_in(rt: Runtime, given: str, result: Success | Failure) -> None:
    """Store `result` for the Task that gave out the token `given`, and let it go on.

    Raises:
        InvalidToken: no Task of the workflow gave it out.
        TaskTimedOut: there is a result already.
        StoreError: it is not known whether the result was stored; hand it in again.
    """
    digest, pending = _pending(rt, given)
    key = answer_key(rt.workflow.name, digest)
    winner = rt.store.create(key, _item(result), expires_at_s=rt.expires_at_s())
    # Also where another result was first: whoever handed it in may have died before this.
    envelope = Envelope.from_json(json.loads(str(pending["event"])))
    again = replace(envelope, job={"is_over": True}, not_after_s=rt.not_after_s(envelope.name.execution))
    rt.invoker.invoke([(str(pending["address"]), again.to_bytes())])
    if winner is not None:
        raise TaskTimedOut("the Task does not wait any more: it has a result, or its time is over")


def beat(rt: Runtime, given: str, heartbeat_s: float) -> None:
    """Note that whoever has the token `given` is at work, for `heartbeat_s` seconds from now.

    Raises:
        InvalidToken: no Task of the workflow gave it out.
        TaskTimedOut: there is a result already.
    """
    digest, _ = _pending(rt, given)
    key = answer_key(rt.workflow.name, digest)
    if rt.store.read([key]):
        raise TaskTimedOut("the Task does not wait any more: it has a result, or its time is over")
    expires_at_ms = rt.clock.now_ms() + round(heartbeat_s * 1000)
    rt.store.acquire(lease_key(pending_key(rt.workflow.name, digest)), _HEARTBEAT, expires_at_ms=expires_at_ms)


def _pending(rt: Runtime, given: str) -> tuple[str, Mapping[str, Json]]:
    digest, proof = given[:_DIGEST_LENGTH], given[_DIGEST_LENGTH:]
    key = pending_key(rt.workflow.name, digest)
    item: Item = rt.store.read([key]).get(key, {}) if digest.isalnum() else {}
    if not item or not hmac.compare_digest(str(item["proof"]).encode(), proof.encode()):
        raise InvalidToken("no Task gave out this token, or longer ago than items are kept")
    return digest, item


def _digest(envelope: Envelope) -> str:
    """Names one try of an invocation; it is no secret, and tells nothing."""
    return hashlib.sha256(f"{envelope.name}+{sum(envelope.retries)}".encode()).hexdigest()


def _item(result: Success | Failure) -> Item:
    if isinstance(result, Success):
        return {"value": to_text(result.value)}
    return {"error": to_text(result.error), "cause": to_text(result.cause)}


def _result(item: Item) -> Success | Failure:
    if "value" in item:
        return Success(json.loads(str(item["value"])))
    return Failure(json.loads(str(item["error"])), json.loads(str(item["cause"])))
