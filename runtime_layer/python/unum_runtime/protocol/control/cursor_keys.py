"""Keys of the cursors of walks, beside the items of their executions; see `unum_runtime.protocol.control.walk`."""

from collections.abc import Iterable

from unum_runtime.model.naming import Execution, Key, execution_partition

_WALKS = "/walks/"


def is_cursor(key: Key) -> bool:
    """Return True for a cursor, which expires before its execution: without it, a walk only takes longer."""
    return _WALKS in key.partition


def walk_partition(workflow: str, execution: Execution, purpose: str) -> str:
    """Return the partition of the cursors of a walk through an execution's scopes; see `walk`."""
    return f"{execution_partition(workflow, execution)}{_WALKS}{purpose}"


def walk_key(partition: str, begun_ms: int, path: Iterable[int]) -> Key:
    """Return the key of a cursor in `partition`, ordered by the walk's begin, then by progress: the path of its part.

    The path is shard, place in it, shard, ..., shard. An empty path stands for the end of the walk and comes last.
    """
    return Key(partition, f"{begun_ms:015d}.{'.'.join(f'{place:012d}' for place in path) or 'end'}")
