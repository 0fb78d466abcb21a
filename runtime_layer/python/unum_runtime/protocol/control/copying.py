"""Copy commits of wide fan-outs in parts that any later request resumes.

A part is one shard of a scope, with all scopes inside its branches. The copies of a part are made in parallel, each
create-if-absent, and all of them are stored before the next part begins. So the stored copies themselves say how far
an earlier request came: all parts before the last one with a copy are complete, and of that one a query tells what is
missing. Nothing else is written, so nothing can disagree with the copies.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from unum_runtime.errors import TimeIsShort
from unum_runtime.model.checkpoint import Checkpoint
from unum_runtime.model.naming import Scope, shard_partition
from unum_runtime.protocol.history.timeline import of_shard
from unum_runtime.protocol.runtime import Runtime

RESERVE_MS = 60_000
"""Time left in a delivery below which no further part begins: a part with scopes inside takes seconds."""

Copy: TypeAlias = Callable[[Runtime, Checkpoint], bool]
"""Commits a copy unless its name is taken; returns True if it is committed now."""


def leave_rest_if_short(rt: Runtime) -> None:
    """Raise TimeIsShort if too little time is left for another part."""
    if rt.remaining_ms() < RESERVE_MS:
        raise TimeIsShort("copies are left to another delivery; the same request again continues them")


def parts_left(rt: Runtime, target: Scope) -> range:
    """Return the shards of `target` that may lack copies, found from its stored copies."""
    filled = (shard for shard in reversed(range(1, target.shards)) if _has_copies(rt, target, shard))
    return range(next(filled, 0), target.shards)


def copy_branches(
    rt: Runtime, target: Scope, shard: int, branches: Sequence[Sequence[Checkpoint]], copy: Copy
) -> list[bool]:
    """Copy the steps of `branches` into `shard` of `target`, where they are missing.

    Args:
        rt: the runtime, which may make several copies at once.
        target: the scope of the copies.
        shard: the shard.
        branches: for each branch the commits under their new names, in order.
        copy: makes one copy.

    Returns:
        For each branch, True if all its copies are committed; False if it has another commit under one of the names.

    Raises:
        TimeIsShort: the copies are made, but too little time is left for more.
        StoreError: some copies may be missing; call it again.
    """
    items = rt.store.query(shard_partition(rt.workflow.name, target, shard))
    present = {found.name: found for found in of_shard(target, items)}
    absent = [step for steps in branches for step in steps if step.name not in present]
    made = rt.concurrently(partial(copy, rt), absent)
    if absent:  # only after new copies, so that each delivery comes further
        leave_rest_if_short(rt)
    is_committed = dict(zip((step.name for step in absent), made, strict=True))
    return [all(is_committed.get(step.name, present.get(step.name) == step) for step in steps) for steps in branches]


def _has_copies(rt: Runtime, target: Scope, shard: int) -> bool:
    return bool(rt.store.query(shard_partition(rt.workflow.name, target, shard), newest=1))
