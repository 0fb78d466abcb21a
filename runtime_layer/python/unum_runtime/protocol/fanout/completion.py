"""Decide that a fan-out is complete: completion sets of branches, shards and packs.

Each scope has a set of completed branch indexes, cut into shards so that every item stays small. A scope of several
shards has a set of full shards above them. With packs, a full pack takes the place of its branches in these sets. Sets
only grow, and a second addition changes nothing. Each addition returns the set right after it, so at least one delivery
sees the scope complete. Every delivery that sees it continues, because an earlier one may have died before that.
"""

from collections.abc import Iterable
from itertools import groupby

from unum_runtime.cold_start.records import replace
from unum_runtime.model.checkpoint import Item
from unum_runtime.model.naming import SHARD_SIZE, Scope, completion_key, failed_key, first_of, pack_of, root_key
from unum_runtime.model.pack import ENDS, is_full
from unum_runtime.protocol.fanout.packing import is_packed, mark_completed
from unum_runtime.protocol.runtime import Runtime


def add_completed(rt: Runtime, scope: Scope, index: int, pack: Item | None = None) -> bool:
    """Add completed branch `index` to the completion set of `scope`.

    Args:
        rt: the runtime.
        scope: the fan-out.
        index: the branch.
        pack: current content of the branch's pack if it has the branch's entry; None if it may have none.

    Returns:
        True if the scope is complete right after the addition.
    """
    if rt.workflow.small_results and is_packed(rt.workflow, scope.state):
        number, filled = pack_of(index), pack or mark_completed(rt, scope, index)
        return is_full(filled, scope.pack_size(number)) and _add_full_pack(rt, scope, number)
    return _add_one(rt, scope, index)


def add_completed_again(rt: Runtime, scope: Scope, ended: Iterable[int]) -> bool:
    """Repeat additions of branches `ended`, in ascending order; return True if they complete the scope.

    Repairs sets after a delivery died between a branch's commit and the addition, or between two sets.
    """
    # A list: every shard and pack must be added, also after one of them has completed the scope.
    return any(_add_packs(rt, scope, ended) if is_packed(rt.workflow, scope.state) else _add_shards(rt, scope, ended))


def add_failed(rt: Runtime, scope: Scope, index: int, quorum: int) -> bool:
    """Add failed branch `index` to its scope's failures; return True if `quorum` successes became impossible."""
    failed = rt.store.add(failed_key(rt.workflow.name, scope), index, expires_at_s=rt.expires_at_s())
    return scope.size - len(failed) < quorum


def _add_packs(rt: Runtime, scope: Scope, ended: Iterable[int]) -> list[bool]:
    """Mark branches `ended` completed and add full packs; return True for an addition that completes the scope."""
    numbered = [(number, [*indexes]) for number, indexes in groupby(ended, key=pack_of)]
    is_filled = rt.concurrently(lambda each: _fill_pack(rt, scope, *each), numbered)
    full = [number for (number, _), is_now in zip(numbered, is_filled, strict=True) if is_now]
    return [bool(full)] if scope.packs == 1 else _add_shards(rt, replace(scope, size=scope.packs), full)


def _fill_pack(rt: Runtime, scope: Scope, number: int, indexes: Iterable[int]) -> bool:
    """Mark branches `indexes` of pack `number` completed; return True if the pack is full."""
    pack: Item = {}
    for index in indexes:
        # The last mark returned the whole pack: a place that is filled there needs no write of its own.
        pack = pack if ENDS[index - first_of(number)] in pack else mark_completed(rt, scope, index)
    return is_full(pack, scope.pack_size(number))


def _add_shards(rt: Runtime, scope: Scope, ended: Iterable[int]) -> list[bool]:
    """Add branches `ended` to their shards, one write for each; per shard, return True if it completes the scope."""
    return [
        _completes_scope(rt, scope, shard, len(_add(rt, scope, shard, *indexes)))
        for shard, indexes in groupby(ended, key=lambda index: index // SHARD_SIZE)
    ]


def _add_full_pack(rt: Runtime, scope: Scope, pack: int) -> bool:
    """Add full `pack` to the completion set; return True if it completes all packs."""
    packs = replace(scope, size=scope.packs)
    # A single pack is its own completion set.
    return packs.size == 1 or _add_one(rt, packs, pack)


def _add_one(rt: Runtime, scope: Scope, index: int) -> bool:
    shard = index // SHARD_SIZE
    return _completes_scope(rt, scope, shard, len(_add(rt, scope, shard, index)))


def _add(rt: Runtime, scope: Scope, shard: int, *indexes: int) -> frozenset[int]:
    """Add `indexes` to the set of their shard; return the set right after the addition."""
    key = completion_key(rt.workflow.name, scope, shard)
    return rt.store.add(key, *indexes, expires_at_s=rt.expires_at_s())


def _completes_scope(rt: Runtime, scope: Scope, shard: int, done: int) -> bool:
    """Return True if `shard` with `done` members completes `scope`; add full shards to the root set."""
    quorum = rt.workflow.fan_out(scope.state).quorum
    if quorum is not None:  # such a fan-out has one shard: more branches fail when they are opened
        return done >= quorum
    if done < scope.shard_size(shard):
        return False
    if scope.shards == 1:
        return True
    root = rt.store.add(root_key(rt.workflow.name, scope), shard, expires_at_s=rt.expires_at_s())
    return len(root) == scope.shards
