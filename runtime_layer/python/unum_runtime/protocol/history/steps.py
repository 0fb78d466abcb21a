"""How far an execution has come: what its top level and each branch of its fan-outs have committed, in order.

It is read without the definition, so that executions of any version can be looked at.
"""

from collections.abc import Iterable, Iterator

from unum_runtime.model.checkpoint import Checkpoint, Item
from unum_runtime.model.naming import (
    SHARD_SIZE,
    Execution,
    Key,
    Name,
    Scope,
    execution_partition,
    place_in_shard,
    shard_partition,
)
from unum_runtime.model.pack import unpacked
from unum_runtime.store.base import Store


def top_level(store: Store, workflow: str, execution: Execution) -> list[Checkpoint]:
    """The steps of the top level, without the start record."""
    items = store.query(execution_partition(workflow, execution))
    return [Checkpoint.from_item(Name(execution, (), int(key.sort)), item) for key, item in items.items()]


def branches(store: Store, workflow: str, scope: Scope) -> Iterator[list[Checkpoint]]:
    """The steps of each branch of `scope`, in the order of the branches; as many lists as the scope's size."""
    for shard in range(scope.shards):
        first = shard * SHARD_SIZE
        courses: list[list[Checkpoint]] = [[] for _ in range(scope.shard_size(shard))]
        found = store.query(shard_partition(workflow, scope, shard))
        for key, item in unpacked(found, scope.execution).items():
            checkpoint = of_branch(scope, key, item)
            courses[checkpoint.name.frames[-1].index - first].append(checkpoint)
        yield from courses


def everything(store: Store, workflow: str, steps: Iterable[Checkpoint]) -> Iterator[Checkpoint]:
    """`steps`, and right after each that opened a fan-out those inside that."""
    for checkpoint in steps:
        yield checkpoint
        if checkpoint.opens is not None:
            for branch in branches(store, workflow, checkpoint.opens):
                yield from everything(store, workflow, branch)


def of_branch(scope: Scope, key: Key, item: Item) -> Checkpoint:
    """The checkpoint `item` that is at `key` among those of a shard of `scope`."""
    index, step = place_in_shard(key)
    return Checkpoint.from_item(Name(scope.execution, scope.branch(index), step), item)
