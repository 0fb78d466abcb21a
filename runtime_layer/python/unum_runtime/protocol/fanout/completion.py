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
    return _completes_scope(rt, scope, index // SHARD_SIZE, len(_add(rt, scope, index)))


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
    """Mark branches `ended` completed; per pack, return True if it completes the scope."""
    completes = []
    for number, indexes in groupby(ended, key=pack_of):
        pack: Item = {}
        for index in indexes:
            # The last mark returned the whole pack: a place that is filled there needs no write of its own.
            pack = pack if ENDS[index - first_of(number)] in pack else mark_completed(rt, scope, index)
        completes.append(is_full(pack, scope.pack_size(number)) and _add_full_pack(rt, scope, number))
    return completes


def _add_shards(rt: Runtime, scope: Scope, ended: Iterable[int]) -> list[bool]:
    """Add branches `ended` to their shards; per shard, return True if it completes the scope."""
    completes = []
    for shard, indexes in groupby(ended, key=lambda index: index // SHARD_SIZE):
        done: frozenset[int] = frozenset()
        for index in indexes:
            done = done if index in done else _add(rt, scope, index)
        completes.append(_completes_scope(rt, scope, shard, len(done)))
    return completes


def _add_full_pack(rt: Runtime, scope: Scope, pack: int) -> bool:
    """Add full `pack` to the completion set; return True if it completes all packs."""
    packs = replace(scope, size=scope.packs)
    # A single pack is its own completion set.
    return packs.size == 1 or _completes_scope(rt, packs, pack // SHARD_SIZE, len(_add(rt, packs, pack)))


def _add(rt: Runtime, scope: Scope, index: int) -> frozenset[int]:
    """Add `index` to its shard's set; return the set right after the addition."""
    key = completion_key(rt.workflow.name, scope, index // SHARD_SIZE)
    return rt.store.add(key, index, expires_at_s=rt.expires_at_s())


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
