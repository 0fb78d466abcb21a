"""Marks of deletions, in place of the commits that late and running deliveries would make.

A delivery of a Task with guard ``read`` or ``lease`` finds the mark of the top level before it runs user code. With
guard ``commit`` it asks nothing, and its commit creates an item. So in fan-outs with such a Task, each branch keeps a
mark in place of each of its steps, and one in place of its next step: the commit finds it, and nothing follows. Packs
and outcomes set aside have marks of their own. A mark has no data, and expires as the execution's name does.
"""

from collections.abc import Callable, Iterator, Mapping

from unum_runtime.model.checkpoint import Collected, Failure, Item, stop_record
from unum_runtime.model.ir import Workflow
from unum_runtime.model.list_index import PLACE
from unum_runtime.model.naming import (
    PACK_SIZE,
    SHARD_SIZE,
    Execution,
    Key,
    Name,
    Scope,
    aside_key,
    checkpoint_key,
    is_aside,
    pack_at,
    pack_key,
    pack_of,
    place_in_shard,
)
from unum_runtime.model.pack import ENDS, FAILS, STATE
from unum_runtime.model.states import Guard
from unum_runtime.protocol.fanout.packing import is_packed
from unum_runtime.protocol.planning.existing_start import DELETED, is_deleted
from unum_runtime.protocol.runtime import MAX_DELIVERY_MS, Runtime
from unum_runtime.store.erasable import ErasableStore

GONE = Failure(DELETED, None)
"""Outcome of marks, and of the start record of a deleted execution."""

OPENS = "opens"
"""Attribute of a step that opened a fan-out, with its size: it leads to what is inside."""


CLOSED = "closed"
"""Attribute of the last mark: time at which the first deletion was done, in milliseconds since 1970."""

QUIET_MS = MAX_DELIVERY_MS + 60_000
"""Time after which no delivery runs that began before a deletion; clocks differ by less than a minute."""


def marker(deleted_ms: int) -> Item:
    """Return the item of a mark; its key has the name."""
    # A tombstone already, so that late deliveries under eager collection leave it as it is.
    record = stop_record(Name(Execution("", 0), (), 0), GONE, deleted_ms)
    return record.saying(outcome=Collected(GONE)).to_item()


def is_due(last: Item, now_ms: int) -> bool:
    """Return True if `last`, the last step of an execution, is the mark of a deletion to be requested again."""
    if not is_deleted(last) or PLACE not in last:
        return False
    # The first request may still be at work, and leaves its rest to others, before it notes that it is done.
    return now_ms - QUIET_MS >= int(last.get(CLOSED, last["at"]))


def unguarded_fan_outs(definitions: Mapping[str, Workflow | None]) -> frozenset[str] | None:
    """Return the fan-outs in which a Task commits without a look at the store, and those around them.

    Returns:
        None if a definition is not known, so that any fan-out may have such a Task.
    """
    found: set[str] = set()
    for definition in definitions.values():
        if definition is None:
            return None
        for task in definition.tasks:
            scope = task.scope if task.guard is Guard.COMMIT else None
            while scope is not None:
                found.add(scope)
                scope = definition.states[scope].scope
    return frozenset(found)


class ShardMarks:
    """Marks of one shard of a fan-out.

    Attributes:
        rt: the runtime of the deletion.
        items: the store of items, in which references stay references.
        definitions: definitions of the execution, by digest.
        scope: the fan-out.
        deleted_ms: time of the marks.
        check_time: raises TimeIsShort if too little time is left.
    """

    def __init__(
        self,
        rt: Runtime,
        items: ErasableStore,
        definitions: Mapping[str, Workflow | None],
        scope: Scope,
        deleted_ms: int,
        check_time: Callable[[Runtime], None],
    ) -> None:
        self.rt, self.items, self.definitions, self.scope = rt, items, definitions, scope
        self.deleted_ms, self.workflow, self.check_time = deleted_ms, rt.workflow.name, check_time

    def put(self, shard: int, found: Mapping[Key, Item]) -> None:
        """Mark a shard's steps `found`, the next step of each branch, and its packs.

        The mark of a next step comes first: a branch whose last item is a mark has it.
        """
        last: dict[int, tuple[int, bool]] = {}
        for key, item in found.items():
            if pack_at(key) is None and not is_aside(key):
                index, step = place_in_shard(key)
                last[index] = max(last.get(index, (-1, False)), (step, is_deleted(item)))
        first = shard * SHARD_SIZE
        for index in range(first, first + self.scope.shard_size(shard)):
            self.check_time(self.rt)
            step, is_marked = last.get(index, (-1, False))
            if not is_marked:
                self._mark_next(index, step + 1)
        for key in self._pack_keys(shard, found):
            self.items.replace(key, self._pack_mark(), expires_at_s=self.rt.result_expires_at_s())
        for key, item in found.items():
            if pack_at(key) is None and not is_deleted(item):
                self.check_time(self.rt)
                self._replace(key, item)

    def _mark_next(self, index: int, step: int) -> None:
        """Mark the step that branch `index` commits next; a running delivery may be faster, by any number of steps."""
        overtaken: list[tuple[Key, Item]] = []
        while True:
            key = checkpoint_key(self.workflow, Name(self.scope.execution, self.scope.branch(index), step))
            if self.is_packed:
                self._replace(aside_key(key), {})
            winner = self.items.create(key, marker(self.deleted_ms), expires_at_s=self.rt.result_expires_at_s())
            if winner is None or is_deleted(winner):
                break
            overtaken.append((key, winner))
            step += 1
        for key, item in overtaken:
            self._replace(key, item)

    def _replace(self, key: Key, item: Item) -> None:
        kept = {OPENS: item[OPENS]} if OPENS in item else {}
        mark = {**marker(self.deleted_ms), **kept}
        self.items.replace(key, mark, expires_at_s=self.rt.result_expires_at_s())

    @property
    def is_packed(self) -> bool:
        """True if branches may end in packs."""
        return any(each is None or is_packed(each, self.scope.state) for each in self.definitions.values())

    def _pack_keys(self, shard: int, found: Mapping[Key, Item]) -> Iterator[Key]:
        """Yield the keys of packs that exist, and of those that a delivery may create."""
        known = {key for key in found if pack_at(key) is not None}
        first = shard * SHARD_SIZE
        for digest, definition in self.definitions.items():
            if definition is not None and is_packed(definition, self.scope.state):
                numbers = {pack_of(index) for index in range(first, first + self.scope.shard_size(shard))}
                known |= {pack_key(self.workflow, self.scope, number, digest) for number in numbers}
        return (key for key in sorted(known) if not is_deleted(found.get(key, {})))

    def _pack_mark(self) -> Item:
        """Return the item of a pack in which every branch has ended, and none counts."""
        return {**marker(self.deleted_ms), STATE: "", **dict.fromkeys(ENDS[:PACK_SIZE], FAILS)}
