"""A runtime that is broken in the way that the name of an execution asks for; a checker must find each.

The sandbox's own store and invoker are replaced, so the mistakes are those of a runtime and not of user code.
"""

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any
from uuid import uuid4

from unum_runtime.aws.invoker import LambdaInvoker
from unum_runtime.functions import task_function
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.naming import Key
from unum_runtime.store.dynamodb import DynamoStore

CHAOS = import_module("chaos")  # beside this file in the sandbox

CREATE, READ, INVOKE, STEP = DynamoStore.create, DynamoStore.read, LambdaInvoker.invoke, task_function.step
LATER_S = 3
PUT_OFF: list[tuple[Any, ...]] = []
"""Commits that wait until the next events are sent."""


def first(event: Any, context: Any) -> Any:
    CHAOS.note(event, context)
    return {**event, "stamp": CHAOS.stamp()}


second = first


def create(store: DynamoStore, key: Key, item: Mapping[str, Any], *, expires_at_s: int) -> Any:
    """Commit as the execution's name asks for."""
    variant = variant_of(key)
    is_end, is_first = "status" in item, key.sort == "000000001"
    if variant == "early-event" and is_first:
        PUT_OFF.append((store, key, item, expires_at_s))
        return None
    if variant == "foreign-name" and is_end:
        key = key._replace(sort="000000007")
    found = CREATE(store, key, dict(item), expires_at_s=expires_at_s)
    if (variant == "second-outcome" and is_first) or (variant == "second-end" and is_end):
        put(store, key, {**item, "value": json.dumps({"other": uuid4().hex})}, expires_at_s)
    if variant == "after-the-end" and is_end:
        rest = {name: value for name, value in item.items() if name != "status"}
        CREATE(store, key._replace(sort="000000003"), rest, expires_at_s=expires_at_s)
    return found


def read(store: DynamoStore, keys: Iterable[Key]) -> dict[Key, Any]:
    """Forget the outcome of the second step."""
    found = READ(store, keys)
    hidden = ("run-again", "other-input")
    return {key: item for key, item in found.items() if not (variant_of(key) in hidden and key.sort == "000000002")}


def invoke(invoker: LambdaInvoker, events: Sequence[tuple[str, bytes]]) -> None:
    """Send events with other contents, or again."""
    parsed = [(address, json.loads(payload)) for address, payload in events]
    variant, *_ = parsed[0][1].get("execution", [""])  # a request for a start, which is no event, has none
    if variant == "mixed":
        events = [(address, changed(event, stamp=CHAOS.stamp())) for address, event in parsed]
    INVOKE(invoker, events)
    while PUT_OFF:
        store, key, item, expires_at_s = PUT_OFF.pop()
        CREATE(store, key, dict(item), expires_at_s=expires_at_s)
    if variant in ("run-again", "other-input"):
        time.sleep(LATER_S)  # until the outcome is committed
        other = {"n": 99} if variant == "other-input" else {}
        INVOKE(invoker, [(address, changed(event, **other)) for address, event in parsed])


def step(runtime: Any, envelope: Envelope, **options: Any) -> None:
    """Drop the event of the second step in silence."""
    if envelope.name.execution.name != "silent" or envelope.name.step != 2:
        STEP(runtime, envelope, **options)


def variant_of(key: Key) -> str:
    return key.partition.partition("/")[2].partition(":")[0]


def changed(event: Mapping[str, Any], **fields: Any) -> bytes:
    return json.dumps({**event, "input": {**event["input"], **fields}}).encode()


def put(store: DynamoStore, key: Key, item: Mapping[str, Any], expires_at_s: int) -> None:
    """Write without a condition."""
    texts = {name: {"N": str(value)} if isinstance(value, int) else {"S": value} for name, value in item.items()}
    whole = {"pk": {"S": key.partition}, "sk": {"S": key.sort}, "ttl": {"N": str(expires_at_s)}, **texts}
    store.client.put_item(TableName=store.table, Item=whole)


for owner, name, replacement in (
    (DynamoStore, "create", create),
    (DynamoStore, "read", read),
    (LambdaInvoker, "invoke", invoke),
    (task_function, "step", step),
):
    setattr(owner, name, replacement)
