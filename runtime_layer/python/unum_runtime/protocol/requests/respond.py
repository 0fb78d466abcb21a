"""Requests at the response alias: answers with a task token, and nothing else.

A responder needs no access to the store. Its request can only decide the Task that gave out the token, so the token is
the only thing to verify.

See `unum_runtime.protocol.waiting.callback` for the Task's side.
"""

from collections.abc import Mapping
from functools import partial

from unum_runtime.cold_start.records import dataclass
from unum_runtime.errors import InvalidToken, RouteGone, TaskTimedOut
from unum_runtime.json_text import is_utf8, parse_foreign, parse_json
from unum_runtime.model.checkpoint import TOMBSTONE, Failure, Item, Success
from unum_runtime.model.envelope import MARK, WIRE_VERSION, Envelope
from unum_runtime.model.naming import Key, answer_key, checkpoint_key, join_keys, lease_key, pending_key
from unum_runtime.model.states import Json
from unum_runtime.protocol.delivery.commit import shorten
from unum_runtime.protocol.planning.plan import MAX_OUTCOME_BYTES
from unum_runtime.protocol.requests.answers import INVALID_REQUEST, answered, refusal
from unum_runtime.protocol.runtime import Runtime
from unum_runtime.protocol.waiting.callback import (
    DIGEST_LENGTH,
    HEARTBEAT,
    By,
    is_proof,
    nudge,
    result_item,
    taken_key,
)

INVALID_OUTPUT = "InvalidOutput"

_FORMS = '"output" as JSON text; "error" and "cause"; "heartbeat": true; or "worker"'


def send_result(rt: Runtime, token: str, result: Success | Failure, request: str) -> None:
    """Store `result` for the Task that gave out `token`, and continue the Task.

    Args:
        rt: the runtime.
        token: the task token.
        result: the Task's result.
        request: name of the call, so that it may be repeated; empty if it will not be.

    Raises:
        InvalidToken: no Task of the workflow gave out the token.
        TaskTimedOut: the Task has a result already, or its time is over.
        StoreError: the result may be stored or not; send it again.
        InvokeError: the result is stored, but the Task may not continue; send it again.
    """
    pending = _read_pending(rt, token)
    item = {**result_item(result, By.RESPONDER), "request": request}
    winner = pending.answer
    if not pending.is_over:
        winner = winner or rt.store.create(pending.answer_key, item, expires_at_s=rt.expires_at_s())
        # Also for an earlier responder's result: its request may have died before it sent the nudge.
        if winner is None or winner["by"] == By.RESPONDER:
            _continue_waiting(rt, pending.event, pending.address)
        if winner is None:
            return
    # A repeat of the request that stored the result succeeds; every other request is too late.
    if not request or winner is None or winner.get("request") != request:
        raise _timed_out()


def beat(rt: Runtime, token: str) -> None:
    """Record a responder's heartbeat for `token`.

    Raises:
        InvalidToken: no Task of the workflow gave out the token.
        TaskTimedOut: the Task has a result already, or its time is over.
    """
    pending = _read_pending(rt, token)
    if pending.is_over or pending.answer is not None:
        raise _timed_out()
    if pending.heartbeat_ms is not None:
        expires_at_ms = rt.clock.now_ms() + pending.heartbeat_ms
        rt.store.acquire(lease_key(pending.key), HEARTBEAT, expires_at_ms=expires_at_ms)


def take(rt: Runtime, token: str, worker: str, request: str) -> None:
    """Record that `worker` has taken the activity's task with `token`; its heartbeats are expected from now on.

    Args:
        rt: the runtime.
        token: the task token.
        worker: the worker's name, for humans.
        request: name of the call, so that it may be repeated; empty if it will not be.

    Raises:
        InvalidToken: no Task of the workflow gave out the token.
        TaskTimedOut: another worker has the task, the task has a result already, or its time is over.
    """
    beat(rt, token)
    item: Item = {"worker": worker, "request": request}
    key = taken_key(pending_key(rt.workflow.name, token[:DIGEST_LENGTH]))
    winner = rt.store.create(key, item, expires_at_s=rt.expires_at_s())
    if winner is not None and (not request or winner["request"] != request):
        raise TaskTimedOut("another worker has taken the task")


@dataclass(frozen=True)
class _Pending:
    """Waiting try, found by its task token.

    Attributes:
        key: key of the try's item.
        item: the item stored when the token was given out.
        answer_key: key of the result.
        answer: the result's item; None without a result.
        is_over: True if a result can have no effect: the invocation is committed, a scope around it is settled, or the
            execution was stopped.
    """

    key: Key
    item: Item
    answer_key: Key
    answer: Item | None
    is_over: bool

    @property
    def event(self) -> Envelope:
        return Envelope.from_json(parse_json(str(self.item["value"])))

    @property
    def address(self) -> str:
        return str(self.item["address"])

    @property
    def heartbeat_ms(self) -> int | None:
        return int(self.item["heartbeat_ms"]) if "heartbeat_ms" in self.item else None


def _continue_waiting(rt: Runtime, event: Envelope, address: str) -> None:
    """Send the waiting Task's event, or let the intake send it if this role may not."""
    try:
        nudge(rt, event, address)
    except RouteGone as denied:
        from unum_runtime.protocol.delivery.hand_over import hand_over_event  # noqa: PLC0415 - after a deployment only

        hand_over_event(rt, event, address, denied)


def _read_pending(rt: Runtime, token: str) -> _Pending:
    digest, proof = token[:DIGEST_LENGTH], token[DIGEST_LENGTH:]
    key, result = pending_key(rt.workflow.name, digest), answer_key(rt.workflow.name, digest)
    # The token is the caller's text: only letters and digits become part of a key.
    item = rt.store.read([key]).get(key) if digest.isalnum() and digest.isascii() else None
    if item is None or not is_proof(rt, key, item, proof):
        raise InvalidToken("no Task gave out this token, or its retention has passed")
    if TOMBSTONE in item:  # the tombstone of the result still names the request that stored it
        return _Pending(key, item, result, rt.store.read([result]).get(result), is_over=True)
    # One read: the result, the commit, and what may have settled the Task without either.
    name = Envelope.from_json(parse_json(str(item["value"]))).name
    found = rt.store.read([result, checkpoint_key(rt.workflow.name, name), *join_keys(rt.workflow.name, name)])
    answer = found.pop(result, None)
    return _Pending(key, item, result, answer, is_over=bool(found))


def _timed_out() -> TaskTimedOut:
    return TaskTimedOut("the Task does not wait any more: it has a result, or its time is over")


def request(token: str, *, request_id: str = "", **content: Json) -> dict[str, Json]:
    """Return the event of a responder's request.

    Args:
        token: the task token.
        request_id: name of the call, so that it may be repeated; empty if it will not be.
        content: ``output`` (JSON text); ``error`` and ``cause`` (text or null); ``heartbeat=True``; or the name of the
            ``worker`` that takes an activity's task.
    """
    event = {MARK: WIRE_VERSION, "token": token, **content}
    return event | {"request": request_id} if request_id else event


def is_request(event: Json) -> bool:
    """Return True if `event` claims to be a responder's request."""
    return isinstance(event, dict) and {MARK, "token"} <= event.keys()


def answer(rt: Runtime, event: Mapping[str, Json]) -> Json:
    """Execute the request in `event`.

    Returns:
        An empty object; or an object with ``error``, a name of Step Functions' API, and ``message``.

    Raises:
        UnumError: the request may be executed or not; repeat it.
    """
    return answered(event, partial(_execute, rt, event))


def _execute(rt: Runtime, event: Mapping[str, Json]) -> Json:
    # Every field is checked by its type: the sender may be any principal that may invoke the alias.
    request_id = event.get("request", "")
    if not isinstance(request_id, str):
        return refusal(INVALID_REQUEST, f"request: expected a text, or nothing, got {request_id!r}")
    # Keys and items have these texts as they are.
    for name in ("request", "token", "worker"):
        if isinstance(event.get(name), str) and not is_utf8(event[name]):
            return refusal(INVALID_REQUEST, f"{name}: expected a text without lone surrogates, got {event[name]!r}")
    match event:
        case {"token": str(token), "output": str(output)}:
            found = _success(output)
            if isinstance(found, str):
                allowed = f"expected JSON text of at most {MAX_OUTCOME_BYTES} bytes"
                return refusal(INVALID_OUTPUT, f"output: {allowed}, got {found}")
            send_result(rt, token, found, request_id)
        case {"token": str(token), "error": str() | None as error, "cause": str() | None as cause}:
            outcome = shorten(Failure(error, cause))
            send_result(rt, token, outcome, request_id)
        case {"token": str(token), "heartbeat": True}:
            beat(rt, token)
        case {"token": str(token), "worker": str(worker)}:
            take(rt, token, worker, request_id)
        case _:
            return refusal(INVALID_REQUEST, f'expected "token" and one of {_FORMS}; got {sorted(event)}')
    return {}


def _success(output: str) -> Success | str:
    """Return the result in JSON text `output`, or what is wrong with it."""
    # `errors="replace"`: a lone surrogate has no UTF-8 form, and only the size matters here.
    if (size := len(output.encode(errors="replace"))) > MAX_OUTCOME_BYTES:
        return f"{size} bytes"
    try:
        return Success(parse_foreign(output))
    except ValueError as error:
        return str(error)
