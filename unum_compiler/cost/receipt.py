"""What one execution has used, as far as what it stored tells.

That tells what was written and how long user code ran. It does not tell what was read, which deliveries, tries and
writes came to nothing, how long functions ran beside user code, and how much memory they have; nor what was written to
be gone or overwritten later: claims, what waits for a token or a job or a neighbour, results that executions share.
Eager collection empties sets: one addition to each of these is counted, and that it was emptied.
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
)
from unum_runtime.model.pack import ENDS
from unum_runtime.protocol.history.timeline import from_start, of_shard, shards
from unum_runtime.protocol.runtime import DEFAULT_RETENTION_S
from unum_runtime.simulator.capacity import item_size, write_units
from unum_runtime.store.base import Store
from unum_runtime.store.dynamodb import EXPIRY
from unum_runtime.store.large_items import LargeItems

UNKNOWN = "reads, waits, claims, what came to nothing, and time beside user code"
"""What a receipt leaves out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReceipt:
    """What stored steps tell of their execution.

    Attributes:
        tasks: how many were committed, with Waits and branches without a Task, which commit in the place of one; what a
            redrive has copied is a write, and no Task.
        invocations: how many invocations they took at least, one before them included where there was one; a function
            may have gone on with several of its own.
        writes: of steps and of completion sets, and of tombstones in place of steps.
        write_units: of those; a set is taken for one, and so is a tombstone.
        object_writes: of values that are too large for items.
        item_bytes: of the steps, without those.
        user_code_ms: how long user code ran in the tries that were committed.
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
        """What that costs at least, in US dollars, if the functions have the least memory."""
        usd = list_prices().usd
        compute = self.user_code_ms / 1000 * DEFAULT_MEMORY_MB / 1024 * usd["lambda_gb_s"]
        stored = self.write_units * usd["dynamodb_write_unit"] + self.object_writes * usd["s3_put"]
        return self.invocations * usd["lambda_request"] + stored + compute


def stored_receipt(
    store: Store, workflow: str, execution_name: str, *, retention_s: int = DEFAULT_RETENTION_S
) -> StoredReceipt:
    """What the execution called `execution_name` has used so far.

    Raises:
        ExecutionDoesNotExist: there is none of that name.
        StoreError: the store could not be read.
    """
    checkpoints = from_start(store, workflow, execution_name)
    execution = checkpoints[0].name.execution
    items = [(checkpoint_key(workflow, each.name), stored_item(workflow, each)) for each in checkpoints]
    sets: list[Key] = []
    # The list grows while it is read, so scopes inside of branches are read as well.
    for scope in (checkpoint.opens for checkpoint in checkpoints if checkpoint.opens is not None):
        for shard in shards(store, workflow, scope):
            items += shard.items()
            checkpoints += of_shard(scope, shard)
        sets += _set_keys(workflow, scope)
    stored = [_stored(store, execution, *each, retention_s) for each in items]
    beside = sum(map(_additions, store.read(sets).values()))
    committed = {checkpoint.name: checkpoint for checkpoint in checkpoints}
    own = [checkpoint for checkpoint in checkpoints[1:] if not _is_copy(checkpoint, committed)]
    fan_outs = {checkpoint.opens.state for checkpoint in checkpoints if checkpoint.opens is not None}
    tasks = [each for each in own if each.phase is Phase.LEFT and each.state not in fan_outs]
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
    """What was written of one item.

    Attributes:
        writes: how often it was written; a pack once for each of its branches.
        write_units: of those.
        objects: how many it refers to.
        size: of the item, in bytes.
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
    """Whether it was copied by a redrive: then it is older than what opened a fan-out around it."""
    scopes = scopes_around(checkpoint.name.execution, checkpoint.name.frames)
    return any(
        checkpoint.committed_ms < committed[scope.origin].committed_ms for scope in scopes if scope.origin in committed
    )


def _set_keys(workflow: str, scope: Scope) -> list[Key]:
    """Where the sets of `scope` may be: of its shards, or of its packs, which are fewer; of those; of what failed."""
    shards = [completion_key(workflow, scope, shard) for shard in range(scope.shards)]
    return [*shards, root_key(workflow, scope) if scope.shards > 1 else failed_key(workflow, scope)]


def _additions(item: Item) -> int:
    """Writes of one set: for each member; or where it was collected, one at least, and that which emptied it."""
    return int(item.get(MEMBERS, 0)) + 2 * (TOMBSTONE in item)
