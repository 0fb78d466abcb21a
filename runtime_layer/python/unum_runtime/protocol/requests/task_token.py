"""What whoever has the token of a Task that waits can do: hand in the result, show that it is at work, take the task.

See `unum_runtime.protocol.waiting.callback` for the Task's side.
"""

import json

from unum_runtime.cold_start.records import dataclass
from unum_runtime.errors import InvalidToken, TaskTimedOut
from unum_runtime.model.checkpoint import TOMBSTONE, Failure, Item, Success
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.naming import Key, answer_key, checkpoint_key, join_keys, lease_key, pending_key
from unum_runtime.protocol.runtime import Runtime
from unum_runtime.protocol.waiting.callback import DIGEST_LENGTH, HEARTBEAT, By, nudge, result_item, taken_key


def hand_in(rt: Runtime, given: str, result: Success | Failure, request: str = "") -> None:
    """Store `result` for the Task that gave out the token `given`, and let it go on.

    Args:
        rt: the runtime.
        given: the token.
        result: what the Task comes to.
        request: names the call, so that it may be repeated; empty if it will not be.

    Raises:
        InvalidToken: no Task of the workflow gave it out.
        TaskTimedOut: there is a result already, or the time is over.
        StoreError: it is not known whether the result was stored; hand it in again.
        InvokeError: it was stored, but the Task may not go on; hand it in again.
    """
    pending = _pending(rt, given)
    item = {**result_item(result, By.HOLDER), "request": request}
    winner = pending.answer
    if not pending.is_over:
        winner = winner or rt.store.create(pending.answer_key, item, expires_at_s=rt.expires_at_s())
        if winner is None or winner["by"] == By.HOLDER:  # who may have died before this
            nudge(rt, pending.event, pending.address)
        if winner is None:
            return
    if not request or winner is None or winner.get("request") != request:
        raise _timed_out()


def beat(rt: Runtime, given: str) -> None:
    """Note that whoever has the token `given` is at work.

    Raises:
        InvalidToken: no Task of the workflow gave it out.
        TaskTimedOut: there is a result already, or the time is over.
    """
    pending = _pending(rt, given)
    if pending.is_over or pending.answer is not None:
        raise _timed_out()
    if pending.heartbeat_ms is not None:
        expires_at_ms = rt.clock.now_ms() + pending.heartbeat_ms
        rt.store.acquire(lease_key(pending.key), HEARTBEAT, expires_at_ms=expires_at_ms)


def take(rt: Runtime, given: str, worker: str, request: str = "") -> None:
    """Note that a worker has taken the activity's task with the token `given`; its heartbeats count from now on.

    Args:
        rt: the runtime.
        given: the token.
        worker: its name, for humans.
        request: names the call, so that it may be repeated; empty if it will not be.

    Raises:
        InvalidToken: no Task of the workflow gave it out.
        TaskTimedOut: another worker has it, there is a result already, or the time is over.
    """
    beat(rt, given)
    item: Item = {"worker": worker, "request": request}
    key = taken_key(pending_key(rt.workflow.name, given[:DIGEST_LENGTH]))
    winner = rt.store.create(key, item, expires_at_s=rt.expires_at_s())
    if winner is not None and (not request or winner["request"] != request):
        raise TaskTimedOut("another worker has taken the task")


@dataclass(frozen=True)
class _Pending:
    """A try that waits, as its token's holder finds it.

    Attributes:
        key: of the item.
        item: what was stored when the token was given out.
        answer_key: where the result is.
        answer: the result's item; None if there is none.
        is_over: whether the invocation is committed, or something around it is settled without it; so no result can
            matter. That is so when the execution was stopped, too.
    """

    key: Key
    item: Item
    answer_key: Key
    answer: Item | None
    is_over: bool

    @property
    def event(self) -> Envelope:
        return Envelope.from_json(json.loads(str(self.item["value"])))

    @property
    def address(self) -> str:
        return str(self.item["address"])

    @property
    def heartbeat_ms(self) -> int | None:
        return int(self.item["heartbeat_ms"]) if "heartbeat_ms" in self.item else None


def _pending(rt: Runtime, given: str) -> _Pending:
    digest, proof = given[:DIGEST_LENGTH], given[DIGEST_LENGTH:]
    key, result = pending_key(rt.workflow.name, digest), answer_key(rt.workflow.name, digest)
    item: Item = rt.store.read([key]).get(key, {}) if digest.isalnum() and digest.isascii() else {}
    if not item or not _is_same(str(item["proof"]), proof):
        raise InvalidToken("no Task gave out this token, or longer ago than items are kept")
    if TOMBSTONE in item:
        return _Pending(key, item, result, None, is_over=True)
    name = Envelope.from_json(json.loads(str(item["value"]))).name
    found = rt.store.read([result, checkpoint_key(rt.workflow.name, name), *join_keys(rt.workflow.name, name)])
    answer = found.pop(result, None)
    return _Pending(key, item, result, answer, is_over=bool(found))


def _timed_out() -> TaskTimedOut:
    return TaskTimedOut("the Task does not wait any more: it has a result, or its time is over")


def _is_same(expected: str, proof: str) -> bool:
    """Tells it in a time that says nothing of where they differ."""
    from hmac import compare_digest  # noqa: PLC0415 - few deliveries are asked for a proof

    return compare_digest(expected.encode(), proof.encode(errors="replace"))
