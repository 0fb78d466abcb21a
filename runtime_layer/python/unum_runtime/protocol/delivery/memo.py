"""Memoization: executions share results of memoized Tasks.

The function's code and its input name a result. Executions that need the same result at the same time wait for one
another by a lease. Each execution commits its own checkpoint of the result, so no other part of the protocol depends
on sharing. Failures are not shared. A failure of the store here costs work, and changes no result.
"""

import json
from collections.abc import Callable
from typing import TypeAlias

from unum_runtime.cold_start.digest import sha256
from unum_runtime.errors import StoreError
from unum_runtime.model.checkpoint import Failure, Item, Success, to_text
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.naming import Key, memo_key
from unum_runtime.model.states import Json, Task
from unum_runtime.protocol.delivery.lease import claim_result
from unum_runtime.protocol.runtime import CallbackPending, JobPending, Runtime

Result: TypeAlias = Success | Failure | JobPending | CallbackPending


def compute_once(rt: Runtime, envelope: Envelope, task: Task, event: Json, compute: Callable[[], Result]) -> Result:
    """Return the stored result of `task` for the effective input `event`, or store and return that of `compute`.

    Raises:
        LeaseHeldError: another execution computes it just now; wait for it.
    """
    key = memo_key(rt.workflow.name, _digest(rt, task, event))
    found = _find(rt, key)
    if found is not None:
        return found
    with claim_result(rt, envelope, key, "another execution computes the same result") as claimed:
        found = _find(rt, key)  # once more: the last owner of the lease may have stored it since
        if found is not None:
            return found
        claimed.insist()
        return _remember(rt, key, compute())


def _digest(rt: Runtime, task: Task, event: Json) -> str:
    """Return a digest of handler, code and input, independent of object key order."""
    text = json.dumps([task.handler or task.function, rt.code, event], sort_keys=True, separators=(",", ":"))
    return sha256(text.encode())


def _find(rt: Runtime, key: Key) -> Success | None:
    try:
        item = rt.store.read([key]).get(key)
    except StoreError as error:
        rt.log("memo failed", memo=key.partition, error=str(error))
        return None
    return None if item is None else _result(item)


def _remember(rt: Runtime, key: Key, result: Result) -> Result:
    """Store `result` if absent; return the stored result, or `result` after a store failure."""
    if not isinstance(result, Success):
        return result
    try:
        winner = rt.store.create(key, {"value": to_text(result.value)}, expires_at_s=rt.expires_at_s())
    except StoreError as error:
        rt.log("memo failed", memo=key.partition, error=str(error))
        return result
    return result if winner is None else _result(winner)


def _result(item: Item) -> Success:
    return Success(json.loads(str(item["value"])))
