"""Reading an execution back from the store, without its workflow's definition."""

from collections.abc import Iterator

from unum_runtime.model.checkpoint import Checkpoint, Ending, Item
from unum_runtime.model.naming import (
    Execution,
    Frames,
    Key,
    Name,
    Scope,
    execution_partition,
    shard_partition,
)
from unum_runtime.protocol.record import last_step, start_record
from unum_runtime.store.base import Store

__all__ = ["ending", "last_step", "start_record", "steps"]


def ending(store: Store, workflow: str, execution: Execution) -> Ending | None:
    """How the execution ended; None while it runs."""
    last = last_step(store, workflow, execution)
    return last.ending if last else None


def steps(store: Store, workflow: str, execution: Execution) -> Iterator[Checkpoint]:
    """Every committed step, those inside a fan-out right after the step that opened it.

    Reads one partition for each shard of each fan-out, and nothing else.
    """
    items = store.query(execution_partition(workflow, execution))
    yield from _walk(store, workflow, ((Name(execution, (), int(key.sort)), item) for key, item in items.items()))


def _walk(store: Store, workflow: str, items: Iterator[tuple[Name, Item]]) -> Iterator[Checkpoint]:
    for name, item in items:
        checkpoint = Checkpoint.from_item(name, item)
        yield checkpoint
        if checkpoint.opens is not None:
            yield from _walk(store, workflow, _branches(store, workflow, checkpoint.opens))


def _branches(store: Store, workflow: str, scope: Scope) -> Iterator[tuple[Name, Item]]:
    for shard in range(scope.shards):
        for key, item in store.query(shard_partition(workflow, scope, shard)).items():
            yield _name(scope, key), item


def _name(scope: Scope, key: Key) -> Name:
    index, step = key.sort.split(".")
    frames: Frames = scope.branch(int(index))
    return Name(scope.execution, frames, int(step))
