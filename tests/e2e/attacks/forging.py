"""Forged items at the real keys of executions, in every way that DynamoDB has; judged by what the table holds after."""

import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from botocore.exceptions import ClientError

from tests.e2e.attacks.world import STACK, World
from tests.e2e.conftest import until
from unum_runtime.errors import StartsPaused
from unum_runtime.model.checkpoint import Failure, Status, stop_record
from unum_runtime.model.naming import Execution, Key, Name, checkpoint_key, definition_partition, start_key
from unum_runtime.protocol.history.start_records import last_step

HOLD_S = 3_600
NOW, PAST, FAR = "now", "past", "far"
"""Expiries: that of the workflow's retention, one of yesterday, and one in a hundred years."""

Item = dict[str, Any]


@dataclass(frozen=True)
class Targets:
    """Executions of one workflow, and keys that belong to them.

    Attributes:
        workflow: construct id of the workflow.
        name: name of the workflow.
        running: an execution that waits, after its first Task.
        ended: an execution that has succeeded.
        charge: the item that counts the runs of its last Task.
        keys: key of an item, by its kind.
    """

    workflow: str
    name: str
    running: str
    ended: str
    charge: str
    keys: Mapping[str, Key] = field(default_factory=dict)


def targets(world: World, workflow: str) -> Targets:
    """Make executions to attack."""
    client = world.client(workflow)
    running, ended, charge = (uuid.uuid4().hex for _ in range(3))

    def is_started(name: str, value: Any) -> bool:
        with suppress(StartsPaused):
            client.start(value, name=name)
            return True
        return False

    # An attack before this one may have paused the workflow, and sandboxes know that for some seconds.
    until(lambda: is_started(running, {"hold_s": HOLD_S}))
    until(lambda: is_started(ended, {"hold_s": 0, "charge": charge}))
    until(lambda: bool([*client.steps(running)]))
    assert client.wait(ended, timeout_s=300).status is Status.SUCCEEDED
    name = client.workflow
    own, done = (_execution(client.store, name, each) for each in (running, ended))
    end = last_step(client.store, name, done)
    assert end is not None
    digest = end.digest
    partition = definition_partition(name, digest)
    definition = next(iter(client.store.query(partition)))
    keys = {
        "checkpoint": checkpoint_key(name, Name(own, (), 1)),
        "end": checkpoint_key(name, end.name),
        "stop": checkpoint_key(name, Name(own, (), 2)),
        "start": start_key(name, running),
        "pause": Key(start_key(name, "x").partition[:-1] + "~pauses", f"{int(time.time()) % 10**9:09d}"),
        "definition": definition,
        "branch": Key(checkpoint_key(name, Name(own, (), 1)).partition + "/M@2.0~0", "000000000.000000000"),
    }
    return Targets(workflow, name, running, ended, charge, keys)


def _execution(store: Any, workflow: str, name: str) -> Execution:
    return Execution(name, int(store.read([start_key(workflow, name)])[start_key(workflow, name)]["at"]))


def forged_item(world: World, found: Targets, kind: str) -> Item:
    """Return a changed or new item for a key of this kind."""
    key = found.keys[kind]
    kept = stored(world, key) or {"value": '"old"', "ttl": int(time.time()) + 86_400, "at": 1}
    if kind == "stop":
        execution = _execution(world.client(found.workflow).store, found.name, found.running)
        record = stop_record(Name(execution, (), 2), Failure("Forged", None), int(time.time() * 1000))
        kept = {**record.to_item(), "ttl": int(time.time()) + 86_400}
    field_ = "definition" if kind == "definition" else "value"
    return {**kept, "pk": key.partition, "sk": key.sort, field_: '"forged"'}


def stored(world: World, key: Key) -> Item | None:
    """The item at `key`, expired or not."""
    table = world.deployment.table(STACK, "FlowTable")
    found: Item | None = table.get_item(Key={"pk": key.partition, "sk": key.sort}, ConsistentRead=True).get("Item")
    return found


def restore(world: World, key: Key, item: Item | None) -> None:
    """Put back what was stored at `key`."""
    table = world.deployment.table(STACK, "FlowTable")
    if item is None:
        table.delete_item(Key={"pk": key.partition, "sk": key.sort})
    else:
        table.put_item(Item=item)


def _expiry(when: str, item: Item) -> int:
    return {NOW: int(item["ttl"]), PAST: int(time.time()) - 86_400, FAR: int(time.time()) + 100 * 365 * 86_400}[when]


def _put(table: Any, item: Item, when: str) -> None:
    table.put_item(Item={**item, "ttl": _expiry(when, item)})


def _update(table: Any, item: Item, when: str) -> None:
    values = {":v": '"forged"', ":t": _expiry(when, item)}
    names = {"#v": "definition" if "definition" in item else "value", "#t": "ttl"}
    table.update_item(
        Key={name: item[name] for name in ("pk", "sk")},
        UpdateExpression="SET #v = :v, #t = :t",
        ExpressionAttributeNames=names,
        ExpressionAttributeValues=values,
    )


def _delete(table: Any, item: Item, _when: str) -> None:
    table.delete_item(Key={name: item[name] for name in ("pk", "sk")})


def _batch_put(table: Any, item: Item, when: str) -> None:
    with table.batch_writer() as batch:
        batch.put_item(Item={**item, "ttl": _expiry(when, item)})


def _batch_delete(table: Any, item: Item, _when: str) -> None:
    with table.batch_writer() as batch:
        batch.delete_item(Key={name: item[name] for name in ("pk", "sk")})


VERBS: Mapping[str, tuple[Callable[[Any, Item, str], None], tuple[str, ...]]] = {
    "put": (_put, (NOW, PAST, FAR)),
    "update": (_update, (NOW, PAST, FAR)),
    "delete": (_delete, (NOW,)),
    "batch put": (_batch_put, (NOW, PAST)),
    "batch delete": (_batch_delete, (NOW,)),
}
"""Ways to write an item, each with the expiries that it is tried with."""


def changes(world: World, role: str, found: Targets) -> Iterator[tuple[str, str]]:
    """Try every verb at every key as `role`; yield kind and verb of what changed the table, and put it back."""
    table = world.session_of(role).resource("dynamodb").Table(world.deployment.outputs[STACK]["FlowTable"])
    for kind, key in found.keys.items():
        for verb, (attempt, expiries) in VERBS.items():
            for when in expiries:
                before = stored(world, key)
                if before is None and "delete" in verb:
                    restore(world, key, before := forged_item(world, found, kind))
                with suppress(ClientError):
                    attempt(table, forged_item(world, found, kind), when)
                if stored(world, key) != before:
                    yield kind, verb
                    restore(world, key, before)
        if kind in ("stop", "pause", "branch"):
            restore(world, key, None)


@dataclass(frozen=True)
class Seen:
    """Public view of the executions of one workflow."""

    status: Status
    output: Any
    running: Status
    charged: int
    listed: tuple[Any, ...]
    steps: int


def seen(world: World, found: Targets) -> Seen:
    """Return the owner's view of executions that must not change."""
    client = world.client(found.workflow)
    ended, running = client.describe(found.ended), client.describe(found.running)
    listed = [(each.name, each.status) for each in client.list(limit=1000).executions]
    return Seen(
        ended.status,
        ended.output,
        running.status,
        charged(world, found.charge),
        tuple(sorted(each for each in listed if each[0] in (found.ended, found.running))),
        len([*client.steps(found.ended)]),
    )


def charged(world: World, charge: str) -> int:
    """Return the number of charges by user code."""
    table = world.deployment.table(STACK, "Charges")
    item = table.get_item(Key={"key": charge}, ConsistentRead=True).get("Item", {})
    return int(item.get("n", Decimal(0)))
