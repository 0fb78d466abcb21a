"""Which executions an index lists, newest first, and how each of them is now.

Nothing is read of an execution itself: its start and its ends are entries at one place, so the entries of a range of
places tell of all executions in it.
"""

from collections.abc import Iterator, Mapping
from heapq import merge
from itertools import groupby, islice
from typing import TypeAlias

from unum_runtime.cold_start.records import NamedTuple, dataclass
from unum_runtime.model.checkpoint import Status
from unum_runtime.model.list_index import FIRST, PLACE, SHARDS, Kind, before, execution_at, partition, shard_of
from unum_runtime.model.naming import Execution
from unum_runtime.store.base import Index

LATER = (Status.SUCCEEDED, Kind.REDRIVEN, Status.FAILED, Status.TIMED_OUT, Status.ABORTED)
"""What may come after the start of an execution; after all but the first, too."""

PORTION = 1_000
"""How many starts are looked through at once for executions that run."""


class Entry(NamedTuple):
    """What the index says of an execution at a time."""

    kind: Kind | Status
    at_ms: int

    @property
    def status(self) -> Status:
        """The execution's, if the entry is the latest."""
        return Status.RUNNING if isinstance(self.kind, Kind) else self.kind


Entries: TypeAlias = dict[str, Entry]
"""The entry that counts, by its place; newest first."""


class Portion(NamedTuple):
    """A part of the executions that run.

    Attributes:
        executions: newest first; maybe none.
        rest: the place from which on the others are; None if there are none.
    """

    executions: list[Execution]
    rest: str | None


@dataclass(frozen=True)
class Listed:
    """The executions of one workflow that an index lists.

    Attributes:
        index: of the workflow's store.
        workflow: its name.
    """

    index: Index
    workflow: str

    def running(self, *, oldest: str, newest: str) -> Iterator[Portion]:
        """The executions that run, of those with places from `oldest` to `newest`; newest first.

        Nothing says of an execution that it runs but the lack of an end, so all starts are looked through.

        Raises:
            NoIndex: the table has no index for lists.
            StoreError: the index could not be read.
        """
        rest: str | None = newest
        while rest is not None:
            starts = dict(islice(self.newest(Kind.STARTED, rest, PORTION, oldest=oldest), PORTION))
            now = self.as_of_now(Kind.STARTED, starts)
            rest = before([*starts][-1]) if len(starts) == PORTION else None
            yield Portion([execution_at(place) for place in now if now[place].status is Status.RUNNING], rest)

    def newest(
        self, kind: Kind | Status, newest: str, size: int, *, oldest: str = FIRST
    ) -> Iterator[tuple[str, Entry]]:
        """All entries of `kind`, one for each execution; read in portions that do for `size` as a rule."""
        parts = (self._in_shard(kind, shard, (oldest, newest), size // 2 + 1) for shard in range(SHARDS))
        return merge(*parts, reverse=True)

    def _in_shard(
        self, kind: Kind | Status, shard: int, places: tuple[str, str], size: int
    ) -> Iterator[tuple[str, Entry]]:
        oldest, newest = places
        while True:
            items = self.index.list_items(
                partition(self.workflow, kind, shard), oldest=oldest, newest=newest, limit=size
            )
            found: Entries = {}
            for item in items:
                _keep_later(found, str(item[PLACE]), Entry(kind, int(item["at"])))
            yield from found.items()
            if len(items) < size:
                return
            newest = before(str(items[-1][PLACE]))

    def as_of_now(self, kind: Kind | Status, window: Mapping[str, Entry]) -> Entries:
        """The entries that count now in place of those of `kind` in `window`, in the same order."""
        now = dict(window)
        if kind is Status.SUCCEEDED:
            return now
        for shard, places in groupby(sorted(window, key=_shard), _shard):
            now |= self._later(kind, shard, sorted(places))
        return now

    def _later(self, kind: Kind | Status, shard: int, places: list[str]) -> Entries:
        """What has come after entries of `kind` at `places`, which are in their order, of one shard."""
        first = Status.SUCCEEDED if kind is Kind.STARTED else Kind.REDRIVEN
        later = self._range(first, shard, places)
        if len(later) == (len(places) if kind is Kind.STARTED else 0):
            return later
        for other in (other for other in LATER if other is not first):
            for place, entry in self._range(other, shard, places).items():
                _keep_later(later, place, entry)
        return later

    def _range(self, kind: Kind | Status, shard: int, places: list[str]) -> Entries:
        """The entries of `kind` at `places`."""
        name = partition(self.workflow, kind, shard)
        wanted = frozenset(places)
        found: Entries = {}
        for item in self.index.list_items(name, oldest=places[0], newest=places[-1]):
            if item[PLACE] in wanted:
                _keep_later(found, str(item[PLACE]), Entry(kind, int(item["at"])))
        return found


def _keep_later(entries: Entries, place: str, entry: Entry) -> None:
    if place not in entries or entries[place].at_ms < entry.at_ms:
        entries[place] = entry


def _shard(place: str) -> int:
    return shard_of(execution_at(place))
