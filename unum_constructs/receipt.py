"""What one execution has used, as far as its stored steps tell.

They tell what was written and how long user code ran. They do not tell what was read, which deliveries and tries came
to nothing, how long functions ran beside user code, and how much memory they have; nor what was written to be gone or
overwritten later: claims, what waits for a token or a job, results that executions share. Nor which branches have come
to their end, before their fan-out has succeeded: until then, no additions to its sets are counted.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace

from unum_constructs.cost import DEFAULT_MEMORY_MB
from unum_constructs.prices import list_prices
from unum_runtime.client import history
from unum_runtime.model.checkpoint import Checkpoint, Collected, Failure, Phase
from unum_runtime.model.listing import stored_item
from unum_runtime.model.naming import Name, Scope, checkpoint_key, scopes_around
from unum_runtime.model.pack import packed
from unum_runtime.protocol.runtime import DEFAULT_RETENTION_S
from unum_runtime.simulator.capacity import attributes_size, item_size, write_units
from unum_runtime.store.base import Store
from unum_runtime.store.dynamodb import EXPIRY
from unum_runtime.store.large import LargeItems

UNKNOWN = "reads, waits, claims, what came to nothing, and time beside user code"
"""What a receipt leaves out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReceipt:
    """What stored steps tell of their execution.

    Attributes:
        tasks: how many were committed; what a redrive has copied is a write, and no Task.
        invocations: how many invocations they took at least, one before them included where there was one; a function
            may have gone on with several of its own.
        writes: of steps and of completion sets, and of tombstones in place of steps.
        write_units: of those; a set is taken for one, and so is a tombstone.
        object_writes: of values that are too large for items.
        item_bytes: of the steps, without those; of one that is stored with others, its part.
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
    committed = {checkpoint.name: checkpoint for checkpoint in checkpoints}
    own = [checkpoint for checkpoint in checkpoints[1:] if not _is_copy(checkpoint, committed)]
    fan_outs = {checkpoint.opens.state for checkpoint in checkpoints if checkpoint.opens is not None}
    tasks = [each for each in own if each.phase is Phase.LEFT and each.state not in fan_outs]
    has_entry = len(checkpoints) > 1 and checkpoints[1] not in tasks
    additions = sum(_additions(scope, branches) for scope, branches in _branches(committed).items())
    beside = additions + sum(isinstance(checkpoint.outcome, Collected) for checkpoint in checkpoints)
    return StoredReceipt(
        tasks=len(tasks),
        invocations=has_entry + sum(not each.fused for each in tasks),
        writes=len(sizes) + beside,
        write_units=sum(map(write_units, sizes)) + beside,
        object_writes=sum(objects for _, objects in stored),
        item_bytes=sum(sizes),
        user_code_ms=sum(checkpoint.duration_ms for checkpoint in own),
    )


def _stored(store: Store, workflow: str, checkpoint: Checkpoint, retention_s: int) -> tuple[int, int]:
    """How much `checkpoint` takes of the item that it is stored in, and how many objects it refers to."""
    if checkpoint.is_packed:
        return attributes_size(packed(checkpoint, 0, checkpoint.state) or {}), 0
    key, item = checkpoint_key(workflow, checkpoint.name), stored_item(workflow, checkpoint)
    small, objects = store.split(key, item) if isinstance(store, LargeItems) else (item, {})
    expires_at_s = checkpoint.committed_ms // 1000 + retention_s
    return item_size(key, small | {EXPIRY: expires_at_s}), len(objects)


def _is_copy(checkpoint: Checkpoint, committed: Mapping[Name, Checkpoint]) -> bool:
    """Whether it was copied by a redrive: then it is older than what opened a fan-out around it."""
    scopes = scopes_around(checkpoint.name.execution, checkpoint.name.frames)
    return any(
        checkpoint.committed_ms < committed[scope.origin].committed_ms for scope in scopes if scope.origin in committed
    )


def _branches(committed: Mapping[Name, Checkpoint]) -> Mapping[Scope, Mapping[int, bool]]:
    """By scope that was joined, its branches by index, and whether each is packed."""
    found: dict[Scope, dict[int, bool]] = defaultdict(dict)
    for name, checkpoint in committed.items():
        if name.frames:
            scope = Scope.around(name.execution, name.frames)
            found[scope][name.frames[-1].index] = checkpoint.is_packed
    return {scope: branches for scope, branches in found.items() if _is_joined(scope, committed.get(scope.join))}


def _is_joined(scope: Scope, after: Checkpoint | None) -> bool:
    """Whether all branches of `scope` have ended, by the checkpoint `after` it: that of its join, or its own."""
    if after is None or after.is_stop:
        return False
    match after.outcome:
        case Failure() | Collected(failure=Failure()):
            return after.state != scope.state
    return after.state != scope.state or after.way.caught is None


def _additions(scope: Scope, branches: Mapping[int, bool]) -> int:
    """Writes to the sets of `scope`: of branches, unless they are in packs; of packs, and of shards."""
    beside = sum(not is_packed for is_packed in branches.values())
    if beside == len(branches):
        return beside + _full_shards(scope)
    return beside + (scope.packs if scope.packs > 1 else 0) + _full_shards(replace(scope, size=scope.packs))


def _full_shards(scope: Scope) -> int:
    """Shards that are added to the root; where there is one, it is the root."""
    return scope.shards if scope.shards > 1 else 0
