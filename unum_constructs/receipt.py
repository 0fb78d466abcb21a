"""What one execution has used, as far as its stored steps tell.

They tell what was written and how long user code ran. They do not tell what was read, which deliveries and tries came
to nothing, how long functions ran beside user code, and how much memory they have.
"""

from dataclasses import dataclass, replace

from unum_constructs.cost import DEFAULT_MEMORY_MB
from unum_constructs.prices import list_prices
from unum_runtime.client import history
from unum_runtime.model.checkpoint import Checkpoint, Phase
from unum_runtime.model.listing import stored_item
from unum_runtime.model.naming import Scope, checkpoint_key
from unum_runtime.protocol.runtime import DEFAULT_RETENTION_S
from unum_runtime.simulator.capacity import item_size, write_units
from unum_runtime.store.base import Store
from unum_runtime.store.dynamodb import EXPIRY
from unum_runtime.store.large import LargeItems

UNKNOWN = "reads, what came to nothing, and time beside user code"
"""What a receipt leaves out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReceipt:
    """What stored steps tell of their execution.

    Attributes:
        tasks: how many were committed.
        invocations: how many invocations they took at least; a function may have gone on with several of its own.
        writes: of steps and of completion sets.
        write_units: of those; a set is taken for one.
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
    record = history.start_record(store, workflow, execution_name)
    checkpoints = [record, *history.steps(store, workflow, record.name.execution)]
    stored = [_stored(store, workflow, checkpoint, retention_s) for checkpoint in checkpoints]
    sizes = [size for size, _ in stored]
    scopes = [checkpoint.opens for checkpoint in checkpoints if checkpoint.opens is not None]
    completed = {checkpoint.name.frames for checkpoint in checkpoints if checkpoint.is_packed}
    packing = {frames[-1].state for frames in completed}
    beside = {checkpoint.name.frames for checkpoint in checkpoints} - completed - {()}
    additions = len(beside) + sum(_full_sets(scope, is_packed=scope.state in packing) for scope in scopes)
    fan_outs = {scope.state for scope in scopes}
    tasks = [each for each in checkpoints[1:] if each.phase is Phase.LEFT and each.state not in fan_outs]
    return StoredReceipt(
        tasks=len(tasks),
        invocations=sum(not each.fused for each in tasks),
        writes=len(sizes) + additions,
        write_units=sum(map(write_units, sizes)) + additions,
        object_writes=sum(objects for _, objects in stored),
        item_bytes=sum(sizes),
        user_code_ms=sum(checkpoint.duration_ms for checkpoint in checkpoints),
    )


def _stored(store: Store, workflow: str, checkpoint: Checkpoint, retention_s: int) -> tuple[int, int]:
    """The size of the item that `checkpoint` is stored as, and how many objects it refers to."""
    key, item = checkpoint_key(workflow, checkpoint.name), stored_item(workflow, checkpoint)
    small, objects = store.split(key, item) if isinstance(store, LargeItems) else (item, {})
    expires_at_s = checkpoint.committed_ms // 1000 + retention_s
    return item_size(key, small | {EXPIRY: expires_at_s}), len(objects)


def _full_sets(scope: Scope, *, is_packed: bool) -> int:
    """Writes to the sets of what is full: packs, if the scope has several, and shards, if it has several."""
    counted = replace(scope, size=scope.packs) if is_packed else scope
    packs = counted.size if is_packed and counted.size > 1 else 0
    return packs + (counted.shards if counted.shards > 1 else 0)
