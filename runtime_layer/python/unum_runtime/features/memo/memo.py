"""Memoization: executions share results of memoized Tasks.

The function's code and its input name a result, or the version and the key that the user has chosen. Executions that
need the same result at the same time wait for one another by a lease. Each execution commits its own checkpoint of the
result, so no other part of the protocol depends on sharing. Failures are not shared. A failure of the store here costs
work, and changes no result. Executions on the variant `FORCED` compute anew, and replace what is stored.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from unum_runtime.cold_start.digest import sha256
from unum_runtime.errors import StatesError, StoreError
from unum_runtime.features.memo.memo_keys import memo_key
from unum_runtime.json_text import parse_json, to_ascii, to_text
from unum_runtime.model.checkpoint import Failure, Item, Success
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.ir import Variant
from unum_runtime.model.naming import Key
from unum_runtime.model.states import Json, MemoScope, Task
from unum_runtime.protocol.delivery.lease import claim_result
from unum_runtime.protocol.runtime import CallbackPending, JobPending, Runtime

if TYPE_CHECKING:
    from unum_runtime.store.erasable import ErasableStore

ABOUT, BY, AT, UNTIL = "of", "by", "at", "until"
"""Attributes of a stored result, for those who list it: begin of the event or key values that name it, the invocation
that computed it, time in milliseconds, and expiry in seconds since 1970."""

MAX_ABOUT = 120
"""Longest attribute `ABOUT`, in characters: a small result stays within one write unit."""

Result: TypeAlias = Success | Failure | JobPending | CallbackPending


def compute_once(rt: Runtime, envelope: Envelope, task: Task, event: Json, compute: Callable[[], Result]) -> Result:
    """Return the stored result of `task` for the effective input `event`, or store and return that of `compute`.

    Raises:
        LeaseHeldError: another execution computes it just now; wait for it.
        StatesError: `event` lacks a value that identifies the result.
    """
    key, about = result_key(rt, task, event)
    place = f"{rt.workflow.name}/{envelope.name}"
    by = f"{rt.workflow.name}/{envelope.name.execution}" if rt.workflow.variant == Variant.FORCED else None
    found = find_stored(rt, key, by)
    if found is not None:
        return found
    with claim_result(rt, envelope, key, "another execution computes the same result") as claimed:
        found = find_stored(rt, key, by)  # once more: the last owner of the lease may have stored it since
        if found is not None:
            return found
        claimed.insist()
        result = compute()
        if not isinstance(result, Success):
            return result
        until_s = _expires_at_s(rt, task)
        item: Item = {"value": result.text, ABOUT: about, BY: place, AT: rt.clock.now_ms(), UNTIL: until_s}
        return _remember(rt, key, item, until_s) if by is None else _replace(rt, key, item, until_s)


def result_key(rt: Runtime, task: Task, event: Json) -> tuple[Key, str]:
    """Return the key of the result of `task` for `event`, independent of object key order; and what names it."""
    names = _own_names(rt, task, event) if task.memo_key or task.memo_version is not None else _names(rt, task, event)
    digest = sha256(to_ascii(names, is_compact=True, is_sorted=True).encode())
    return memo_key(rt.workflow.name, task, digest), to_text(names[-1])[:MAX_ABOUT]


def _names(rt: Runtime, task: Task, event: Json) -> list[Json]:
    return [task.handler or task.function, rt.code, event]


def _own_names(rt: Runtime, task: Task, event: Json) -> list[Json]:
    """Return what identifies a result by the user's choice; one member more than `_names`, so never the same."""
    owner = task.handler or task.function if task.memo_scope is MemoScope.FUNCTION else None
    code = rt.code if task.memo_version is None else {"version": task.memo_version}
    key = [_find_in(event, place) for place in task.memo_key]
    return [task.memo_scope, owner, code, {"key": key} if key else {"event": event}]


def _find_in(event: Json, place: tuple[str | int, ...]) -> Json:
    found = event
    for key in place:
        container: type[Any] = dict if isinstance(key, str) else list
        try:
            found = (found if isinstance(found, container) else {})[key]
        except LookupError:
            path = "".join(f"[{each!r}]" for each in place)
            cause = f"the event has no value at ${path}, which identifies the memoized result"
            raise StatesError("States.ParameterPathFailure", cause) from None
    return found


def _expires_at_s(rt: Runtime, task: Task) -> int:
    """Return the expiry of a result that is stored now, in seconds since 1970."""
    if task.memo_lifetime_s is None:
        return rt.expires_at_s()
    return rt.clock.now_ms() // 1000 + task.memo_lifetime_s


def find_stored(rt: Runtime, key: Key, by: str | None) -> Success | None:
    """Return the stored result at `key`; if `by` is given, only one that this execution has computed."""
    try:
        item = rt.store.read([key]).get(key)
    except StoreError as error:
        if rt.workflow.variant == Variant.CALL:  # see `_remember`
            raise
        rt.log("memo failed", memo=key.partition, error=str(error))
        return None
    # A forced execution shares results with itself alone: a second delivery, or a branch with the same event.
    is_ours = by is None or (item is not None and str(item.get(BY)).startswith((f"{by}#", f"{by}/")))
    return None if item is None or "value" not in item or not is_ours else _result(item)


def _remember(rt: Runtime, key: Key, item: Item, expires_at_s: int) -> Success:
    """Store the result `item` if absent; return the stored result, or this one after a store failure."""
    try:
        winner = rt.store.create(key, item, expires_at_s=expires_at_s)
    except StoreError as error:
        # A run of a call that ends without a remembered result would be followed by another one, with another result.
        if rt.workflow.variant == Variant.CALL:
            raise
        rt.log("memo failed", memo=key.partition, error=str(error))
        return _result(item)
    return _result(item if winner is None or "value" not in winner else winner)


def _replace(rt: Runtime, key: Key, item: Item, expires_at_s: int) -> Success:
    """Store the result `item` in place of any other; return it. The last of several forced executions wins."""
    try:
        cast("ErasableStore", rt.store).replace(key, item, expires_at_s=expires_at_s)
    except StoreError as error:
        rt.log("memo failed", memo=key.partition, error=str(error))
    return _result(item)


def _result(item: Item) -> Success:
    return Success(parse_json(str(item["value"])))
