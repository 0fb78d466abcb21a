"""Receipt of one execution: usage and least cost, from stored items.

Stored items prove writes and the duration of user code. They do not show reads, failed deliveries, attempts and
writes, function time beside user code, memory sizes, or items deleted or overwritten later: claims, pending tokens,
jobs and neighbour joins, arrivals in regions, memoized results. Eager collection empties completion sets: for each,
one addition and the emptying count.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from unum_compiler.cost.prices import list_prices
from unum_compiler.lambda_settings import DEFAULT_MEMORY_MB
from unum_runtime.model.checkpoint import MEMBERS, TOMBSTONE, Checkpoint, Item, Phase
from unum_runtime.model.list_index import stored_item
from unum_runtime.model.naming import (
    Execution,
    Key,
    Name,
    Scope,
    checkpoint_key,
    completion_key,
    failed_key,
    pack_at,
    root_key,
    scopes_around,
    shard_partition,
)
from unum_runtime.model.pack import ENDS
from unum_runtime.protocol.history.timeline import from_start, of_shard
from unum_runtime.protocol.runtime import DEFAULT_RETENTION_S
from unum_runtime.store.base import Store
from unum_runtime.store.dynamodb import EXPIRY
from unum_runtime.store.large_items import LargeItems
from unum_simulator.capacity import item_size, write_units

UNKNOWN = "reads, waits, claims, what came to nothing, and time beside user code"
"""Usage missing from receipts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReceipt:
    """Usage proved by stored steps.

    Attributes:
        tasks: committed Tasks, Waits and branches without a Task; copies by a redrive count as writes only.
        invocations: least number of invocations, the entry included; a function may continue with several Tasks.
        writes: writes of steps, completion sets and tombstones.
        write_units: write units of these; 1 for each set and tombstone.
        object_writes: writes of values too large for items.
        item_bytes: bytes of all steps, without such values.
        user_code_ms: duration of user code in committed attempts.
    """

    tasks: int
    invocations: int
    writes: int
    write_units: int
    object_writes: int
    item_bytes: int
    user_code_ms: int

    @property
    def usd(self) -> float:
        """Least cost, in US dollars, given minimum memory."""
        usd = list_prices().usd
        compute = self.user_code_ms / 1000 * DEFAULT_MEMORY_MB / 1024 * usd["lambda_gb_s"]
        stored = self.write_units * usd["dynamodb_write_unit"] + self.object_writes * usd["s3_put"]
        return self.invocations * usd["lambda_request"] + stored + compute


def stored_receipt(
    store: Store, workflow: str, execution_name: str, *, retention_s: int = DEFAULT_RETENTION_S
) -> StoredReceipt:
    """Return an execution's usage so far.

    Raises:
        ExecutionDoesNotExist: no execution has that name.
        StoreError: unreadable store.
    """
    checkpoints = from_start(store, workflow, execution_name)
    execution = checkpoints[0].name.execution
    items = [(checkpoint_key(workflow, each.name), stored_item(workflow, each)) for each in checkpoints]
    sets: list[Key] = []
    # The list grows while it is read, so scopes inside of branches are read as well.
    for scope in (checkpoint.opens for checkpoint in checkpoints if checkpoint.opens is not None):
        for shard in range(scope.shards):
            stored_there = store.query(shard_partition(workflow, scope, shard))
            items += stored_there.items()
            checkpoints += of_shard(scope, stored_there)
        sets += _set_keys(workflow, scope)
    stored = [_stored(store, execution, *each, retention_s) for each in items]
    beside = sum(map(_additions, store.read(sets).values()))
    committed = {checkpoint.name: checkpoint for checkpoint in checkpoints}
    # Copies by a redrive are writes; their Tasks ran, and were paid for, under their first names.
    own = [checkpoint for checkpoint in checkpoints[1:] if not _is_copy(checkpoint, committed)]
    fan_outs = {checkpoint.opens.state for checkpoint in checkpoints if checkpoint.opens is not None}
    tasks = [each for each in own if each.phase is Phase.LEFT and each.state not in fan_outs]
    # A first commit that is no Task was written by an invocation of its own.
    has_entry = len(checkpoints) > 1 and checkpoints[1] not in tasks
    return StoredReceipt(
        tasks=len(tasks),
        invocations=has_entry + sum(not each.fused for each in tasks),
        writes=sum(each.writes for each in stored) + beside,
        write_units=sum(each.write_units for each in stored) + beside,
        object_writes=sum(each.objects for each in stored),
        item_bytes=sum(each.size for each in stored),
        user_code_ms=sum(checkpoint.duration_ms for checkpoint in own),
    )


class _Stored(NamedTuple):
    """Writes of one item.

    Attributes:
        writes: number of writes; one per branch for a pack.
        write_units: their write units.
        objects: number of objects it refers to.
        size: bytes of the item.
    """

    writes: int
    write_units: int
    objects: int
    size: int


def _stored(store: Store, execution: Execution, key: Key, item: Item, retention_s: int) -> _Stored:
    small, objects = store.split(key, item) if isinstance(store, LargeItems) else (item, {})
    written_s = int(item.get("at", execution.started_ms)) // 1000
    size = item_size(key, small | {EXPIRY: written_s + retention_s})
    is_collected = TOMBSTONE in item
    if pack_at(key) is None:
        return _Stored(1 + is_collected, write_units(size) + is_collected, len(objects), size)
    branches = sum(end in item for end in ENDS)
    return _Stored(branches + is_collected, branches + is_collected, 0, size)


def _is_copy(checkpoint: Checkpoint, committed: Mapping[Name, Checkpoint]) -> bool:
    """Return True for a redrive's copy, which is older than the commit that opened a scope around it."""
    scopes = scopes_around(checkpoint.name.execution, checkpoint.name.frames)
    return any(
        checkpoint.committed_ms < committed[scope.origin].committed_ms for scope in scopes if scope.origin in committed
    )


def _set_keys(workflow: str, scope: Scope) -> list[Key]:
    """Return keys of all possible completion sets in `scope`: per shard, plus full shards or failures."""
    shards = [completion_key(workflow, scope, shard) for shard in range(scope.shards)]
    return [*shards, root_key(workflow, scope) if scope.shards > 1 else failed_key(workflow, scope)]


def _additions(item: Item) -> int:
    """Return writes of one set: one per member; if collected, at least one and the emptying."""
    return int(item.get(MEMBERS, 0)) + 2 * (TOMBSTONE in item)
