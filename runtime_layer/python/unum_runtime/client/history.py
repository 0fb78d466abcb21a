"""Reading an execution back from the store, without its workflow's definition."""

from collections.abc import Iterator

from unum_runtime.errors import ExecutionDoesNotExist
from unum_runtime.model.checkpoint import Checkpoint, Ending, Item, read_start_record
from unum_runtime.model.naming import (
    Execution,
    Frames,
    Key,
    Name,
    Scope,
    execution_partition,
    shard_partition,
    start_key,
)
from unum_runtime.store.base import Store


def start_record(store: Store, workflow: str, execution_name: str) -> Checkpoint:
    """The start record of an execution; its outcome is the execution's input.

    Raises:
        ExecutionDoesNotExist: there is none of that name.
    """
    key = start_key(workflow, execution_name)
    item = store.read([key]).get(key)
    if item is None:
        raise ExecutionDoesNotExist(
            f"workflow {workflow!r} has no execution {execution_name!r}: it never started, or its retention has passed"
        )
    return read_start_record(execution_name, item)


def last_step(store: Store, workflow: str, execution: Execution) -> Checkpoint | None:
    """The last step of the top level; None while there is none.

    It is the one that ends an execution: no other follows it.
    """
    newest = store.query(execution_partition(workflow, execution), newest=1)
    for key, item in newest.items():
        return Checkpoint.from_item(Name(execution, (), int(key.sort)), item)
    return None


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
