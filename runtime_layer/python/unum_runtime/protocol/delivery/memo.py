"""Memoization: executions share the results of functions that are marked for it.

A result is found by the function's code and its input, whatever the execution. Executions that need the same result at
the same time wait for one another by a lease. Each commits its own checkpoint of it, so that nothing else depends on
whether a result was shared; failures are not. What fails here costs work, and changes no result.
"""

import json
from collections.abc import Callable
from typing import TypeAlias

from unum_runtime.cold_start.digest import sha256
from unum_runtime.errors import LeaseHeldError, StoreError
from unum_runtime.model.checkpoint import Failure, Item, Success, to_text
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.ir import Json, Task
from unum_runtime.model.naming import Key, memo_key
from unum_runtime.protocol.delivery.lease import claim, sent_ms
from unum_runtime.protocol.runtime import CallbackPending, JobPending, Runtime

Result: TypeAlias = Success | Failure | JobPending | CallbackPending


def shared(rt: Runtime, envelope: Envelope, task: Task, event: Json, compute: Callable[[], Result]) -> Result:
    """The result of `task` for the effective input `event`: of another execution, else what `compute` returns.

    Raises:
        LeaseHeldError: another execution computes it just now; the event will be delivered again.
    """
    key = memo_key(rt.workflow.name, _digest(rt, task, event))
    found = _find(rt, key)
    if found is not None:
        return found
    refusal = LeaseHeldError(f"{envelope.name}: another execution computes the same result")
    with claim(rt, key, sent_ms=sent_ms(envelope), refusal=refusal) as claimed:
        found = _find(rt, key)  # whoever had the lease before may have been faster
        if found is not None:
            return found
        claimed.insist()
        return _remember(rt, key, compute())


def _digest(rt: Runtime, task: Task, event: Json) -> str:
    """Tells apart functions, versions of their code, and inputs; the order of an object's keys is no difference."""
    text = json.dumps([task.function, rt.code, event], sort_keys=True, separators=(",", ":"))
    return sha256(text.encode())


def _find(rt: Runtime, key: Key) -> Success | None:
    try:
        item = rt.store.read([key]).get(key)
    except StoreError as error:
        rt.log("memo failed", memo=key.partition, error=str(error))
        return None
    return None if item is None else _result(item)


def _remember(rt: Runtime, key: Key, result: Result) -> Result:
    """`result`, or what was stored before it; it is not stored where it cannot be, for example because of its size."""
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
