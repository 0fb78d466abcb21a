"""Copy the commits of one part of a fan-out, several at once.

All copies of a part are stored before the next part begins, each create-if-absent. `walk` tells which part comes next,
and of that one a query tells what is missing.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from unum_runtime.json_text import to_text
from unum_runtime.model.checkpoint import Checkpoint, Item
from unum_runtime.model.deletion_notes import copies_key
from unum_runtime.model.naming import Name, Scope, shard_partition
from unum_runtime.protocol.history.timeline import of_shard
from unum_runtime.protocol.runtime import Runtime

Copy: TypeAlias = Callable[[Runtime, Checkpoint], bool]
"""Commits a copy unless its name is taken; returns True if it is committed now."""


def note_copies(rt: Runtime, name: Name, scope: Scope) -> None:
    """Note that copies of `scope` are stored before the step `name`, which opens it; another request may have.

    Whoever makes copies may die before that step. Only by this note does a deletion find them then.

    Raises:
        StoreError: unknown whether it is noted; nothing is copied yet.
    """
    opens = to_text([scope.state, scope.iteration, scope.generation, scope.size])
    item: Item = {"ir": rt.workflow.digest, "opens": opens}  # as in the step itself
    rt.store.create(copies_key(rt.workflow.name, name), item, expires_at_s=rt.expires_at_s())


def copy_branches(
    rt: Runtime, target: Scope, shard: int, branches: Sequence[Sequence[Checkpoint]], copy: Copy
) -> list[bool]:
    """Copy missing steps of `branches` into `shard` of `target`.

    Args:
        rt: the runtime, which may make several copies at once.
        target: the scope of the copies.
        shard: the shard.
        branches: for each branch the commits under their new names, in order.
        copy: makes one copy.

    Returns:
        For each branch, True if all its copies are committed; False if it has another commit under one of the names.

    Raises:
        StoreError: some copies may be missing; call it again.
    """
    items = rt.store.query(shard_partition(rt.workflow.name, target, shard))
    present = {found.name: found for found in of_shard(target, items)}
    absent = [step for steps in branches for step in steps if step.name not in present]
    made = rt.concurrently(partial(copy, rt), absent)
    is_committed = dict(zip((step.name for step in absent), made, strict=True))
    return [all(is_committed.get(step.name, present.get(step.name) == step) for step in steps) for steps in branches]
