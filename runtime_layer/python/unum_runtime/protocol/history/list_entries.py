"""Index entries of executions: the places of their starts and redrives, in order.

An entry does not say whether its execution has ended; see `start_records.last_step`.
"""

from collections.abc import Callable, Iterator, Mapping
from heapq import merge

from unum_runtime.cold_start.records import dataclass
from unum_runtime.model.checkpoint import Item
from unum_runtime.model.list_index import FIRST, LAST, PLACE, SHARDS, Kind, after, before, is_entry, partition
from unum_runtime.model.naming import Key
from unum_runtime.store.base import Index

PORTION = 1_000
"""Entries of one shard that are read at once, if the caller does not say how many it needs."""


def ignore(_key: Key, _item: Item) -> None:
    """Report nothing."""


@dataclass(frozen=True)
class Listed:
    """Index entries of one workflow.

    Attributes:
        index: the index of the workflow's store.
        workflow: name of the workflow.
        report: gets each entry in the workflow's partitions that is none of its own, or malformed; it is left out.
    """

    index: Index
    workflow: str
    report: Callable[[Key, Item], None] = ignore

    def newest(self, newest: str, size: int) -> Iterator[str]:
        """Yield the places of starts from `newest` on, newest first.

        Each shard is read in portions of half of `size`, which usually suffice for `size` places.

        Raises:
            NoIndex: the table has no index for lists.
            StoreError: the index could not be read.
        """
        return merge(*(self._newest(shard, newest, size // 2 + 1) for shard in range(SHARDS)), reverse=True)

    def oldest(self, kind: Kind, *, later_than: str = FIRST, newest: str = LAST) -> Iterator[str]:
        """Yield the places of entries of `kind` after `later_than` and up to `newest`, oldest first.

        Raises:
            NoIndex: the table has no index for lists.
            StoreError: the index could not be read.
        """
        return merge(*(self._oldest(kind, shard, later_than, newest) for shard in range(SHARDS)))

    def _newest(self, shard: int, newest: str, size: int) -> Iterator[str]:
        name = partition(self.workflow, Kind.STARTED, shard)
        while newest >= FIRST:
            found = self.index.list_items(name, newest=newest, limit=size)
            yield from self._places(Kind.STARTED, shard, found)
            if len(found) < size:
                return
            newest = before(_last(found))

    def _oldest(self, kind: Kind, shard: int, later_than: str, newest: str) -> Iterator[str]:
        name = partition(self.workflow, kind, shard)
        while after(later_than) <= newest:
            found = self.index.list_items(
                name, oldest=after(later_than), newest=newest, limit=PORTION, oldest_first=True
            )
            yield from dict.fromkeys(self._places(kind, shard, found))
            if len(found) < PORTION:
                return
            later_than = _last(found)

    def _places(self, kind: Kind, shard: int, found: Mapping[Key, Item]) -> Iterator[str]:
        for key, item in found.items():
            if is_entry(self.workflow, kind, shard, key, item):
                yield str(item[PLACE])
            else:
                self.report(key, item)


def _last(found: Mapping[Key, Item]) -> str:
    """Return the place of the last entry, valid or not."""
    return str(found[next(reversed([*found]))][PLACE])
