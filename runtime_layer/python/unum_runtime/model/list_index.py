"""Attributes of start records and redrives for the index that lists executions.

They are part of writes that are needed anyway. Entries of one kind spread over a few partitions, ordered by the start
of their executions. The start's entry is the only one that an execution pays for: readers find its end in its last
step.
"""

import re
from enum import StrEnum

from unum_runtime.cold_start.digest import sha256
from unum_runtime.model.checkpoint import Checkpoint, Item
from unum_runtime.model.naming import NAME_PATTERN, START_STEP, Execution, Key, escape, execution_partition, start_key

INDEX = "executions"
"""Name of the global secondary index with keys `PARTITION` and `PLACE` and projected attributes `PROJECTED`."""

PARTITION, PLACE = "list", "list_at"
"""Text attributes of an entry: its partition and its place in it."""

PROJECTED = ("at", "ttl")
"""Projected attributes: the time of the commit, as in deployed indexes, which cannot change, and the expiry."""

SHARDS = 4
"""Partitions of each kind. DynamoDB takes 1,000 write units a second in one. Source: Amazon DynamoDB Developer Guide,
"Best practices for designing and using partition keys effectively"."""

FIRST, LAST = "0", "~"
"""Bounds before and after every place."""

_PRINTABLE = "".join(map(chr, range(ord("!"), ord("~") + 1)))

_PLACE = re.compile(rf"\d{{13}}/{NAME_PATTERN}")


class Kind(StrEnum):
    """Kind of an entry."""

    STARTED = "STARTED"

    REDRIVEN = "REDRIVEN"
    """Redrive after an end, or mark of a pending deletion, for searches that have seen the end."""


def stored_item(workflow: str, checkpoint: Checkpoint) -> Item:
    """Return the item of `checkpoint`, with an index entry for starts."""
    item = checkpoint.to_item()
    if not checkpoint.name.frames and checkpoint.name.step == START_STEP:
        return item | entry(workflow, checkpoint.name.execution, Kind.STARTED)
    return item


def entry(workflow: str, execution: Execution, kind: Kind) -> Item:
    """Return the attributes of an entry of `kind` for `execution`."""
    return {PARTITION: partition(workflow, kind, shard_of(execution)), PLACE: place(execution)}


def partition(workflow: str, kind: Kind, shard: int) -> str:
    """Return the partition of all entries of one kind and shard."""
    return f"{escape(workflow)}/{kind}~{shard}"


def shard_of(execution: Execution) -> int:
    """Return the shard of the entries of `execution`."""
    return int(sha256(execution.name.encode())[:2], 16) % SHARDS


def place(execution: Execution) -> str:
    """Return the place of the entries of `execution` in their partitions, ordered by start, then name."""
    # Thirteen digits reach the year 2286, and places of equal length sort as text like the times they stand for.
    return f"{execution.started_ms:013d}/{execution.name}"


def execution_at(place: str) -> Execution:
    """Return the execution with entries at `place`."""
    started_ms, _, name = place.partition("/")
    return Execution(name, int(started_ms))


def is_place(text: object) -> bool:
    """Return True if `text` is a place of an execution."""
    return isinstance(text, str) and _PLACE.fullmatch(text) is not None


def is_entry(workflow: str, kind: Kind, shard: int, key: Key, item: Item) -> bool:
    """Return True if the index entry `item`, found in the partition of `kind` and `shard`, is of the item at `key`.

    Workflows may share a table. IAM binds each one's writers to partition keys with its name, but not the attributes of
    the index. So an entry counts only if it is at the key that its own place gives.
    """
    place = item.get(PLACE)
    if not isinstance(place, str) or not is_place(place):
        return False
    execution = execution_at(place)
    if kind is Kind.STARTED:
        return key == start_key(workflow, execution.name) and shard == shard_of(execution)
    return key.partition == execution_partition(workflow, execution) and shard == shard_of(execution)


def after(place: str) -> str:
    """Return a bound right after `place`, before all larger places: no character of names is as small as ``!``."""
    return f"{place}!"


def before(place: str) -> str:
    """Return a bound before `place`, after all smaller places: no character of names is as large as ``~``."""
    kept = place[: len(place) - len(place.lstrip(_PRINTABLE))]
    if kept != place:  # no place of an execution, from somebody else
        return f"{kept}~" if place[len(kept)] > "~" else kept
    return f"{place[:-1]}{chr(ord(place[-1]) - 1)}~"
