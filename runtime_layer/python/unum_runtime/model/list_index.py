"""How executions are listed: what their start records and the commits that end them carry for an index of the table.

Both attributes are part of writes that are made anyway. Entries of one kind lie in a few partitions, so that none takes
the writes of all executions, in the order in which the executions started. An execution has an entry for its start and
one for its end, at the same place: so whoever has a part of the starts finds the ends of just these.
"""

from enum import StrEnum

from unum_runtime.cold_start.digest import sha256
from unum_runtime.model.checkpoint import Checkpoint, Item, Status
from unum_runtime.model.naming import START_STEP, Execution, escape

INDEX = "executions"
"""Name of the global secondary index, with `PARTITION` and `PLACE` as its keys, and `PROJECTED` beside them."""

PARTITION, PLACE = "list", "list_at"
"""Attributes: which executions an entry is among, and where; both are text."""

PROJECTED = ("at", "ttl")
"""Attributes that a list needs of each item: when it was committed, and when it expires."""

SHARDS = 4
"""Partitions of each kind. DynamoDB takes 1,000 write units a second for one. Source: Amazon DynamoDB Developer Guide,
"Best practices for designing and using partition keys effectively"."""

FIRST, LAST = "0", "~"
"""Before and after every place."""


class Kind(StrEnum):
    """What entries say that are not of an execution's end; those of an end are named as its status."""

    STARTED = "STARTED"

    REDRIVEN = "REDRIVEN"
    """It goes on after an end. Which of its ends counts, or that none does, the times of the commits tell."""


def stored_item(workflow: str, checkpoint: Checkpoint) -> Item:
    """What is stored of `checkpoint`, one of `workflow`."""
    item, execution = checkpoint.to_item(), checkpoint.name.execution
    if checkpoint.ending is not None:
        return item | entry(workflow, execution, checkpoint.ending.status)
    if not checkpoint.name.frames and checkpoint.name.step == START_STEP:
        return item | entry(workflow, execution, Kind.STARTED)
    return item


def entry(workflow: str, execution: Execution, kind: Kind | Status) -> Item:
    """The attributes of an item that says `kind` of `execution`."""
    return {PARTITION: partition(workflow, kind, shard_of(execution)), PLACE: place(execution)}


def partition(workflow: str, kind: Kind | Status, shard: int) -> str:
    """The partition with all entries of one kind and shard."""
    return f"{escape(workflow)}/{kind}~{shard}"


def shard_of(execution: Execution) -> int:
    """Which shard has the entries of `execution`."""
    return int(sha256(execution.name.encode())[:2], 16) % SHARDS


def place(execution: Execution) -> str:
    """Where the entries of `execution` are in their partitions: by the time of its start, then by its name."""
    return f"{execution.started_ms:013d}/{execution.name}"


def execution_at(place: str) -> Execution:
    """The execution whose entries are at `place`."""
    started_ms, _, name = place.partition("/")
    return Execution(name, int(started_ms))


def before(place: str) -> str:
    """What comes after all places before `place`, and before `place` itself: names have no character up to ``~``."""
    return f"{place[:-1]}{chr(ord(place[-1]) - 1)}~"
