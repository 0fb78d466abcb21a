"""Index entries of executions: a list, newest first, with the current status of each.

No execution is read. Its start and its ends are entries at one place of the index, so the entries of a range of places
give the status of every execution in the range.
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
"""Kinds of entries that may follow the start of an execution; all but the first may follow each other."""

PORTION = 1_000
"""Starts read at once in a search for running executions."""


class Entry(NamedTuple):
    """An index entry: start, redrive or end of an execution, with its time."""

    kind: Kind | Status
    at_ms: int

    @property
    def status(self) -> Status:
        """Status of the execution, given its latest entry."""
        return Status.RUNNING if isinstance(self.kind, Kind) else self.kind


Entries: TypeAlias = dict[str, Entry]
"""The latest entry of each execution by place; newest first."""


class Portion(NamedTuple):
    """A part of the running executions.

    Attributes:
        executions: the executions, newest first; may be empty.
        rest: place at which the next part begins; None after the last part.
    """

    executions: list[Execution]
    rest: str | None


@dataclass(frozen=True)
class Listed:
    """Index entries of one workflow.

    Attributes:
        index: the index of the workflow's store.
        workflow: name of the workflow.
    """

    index: Index
    workflow: str

    def running(self, *, oldest: str, newest: str) -> Iterator[Portion]:
        """Yield the running executions with places from `oldest` to `newest`, newest first.

        Only the lack of an end shows that an execution runs, so all starts are read.

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
        """Yield the entries of `kind`, one per execution, newest first.

        Each shard is read in portions of half of `size`, which usually suffice for `size` entries.
        """
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
        """Return the latest entries of the executions in `window`, whose entries have `kind`, in the same order."""
        now = dict(window)
        if kind is Status.SUCCEEDED:
            return now
        for shard, places in groupby(sorted(window, key=_shard), _shard):
            now |= self._later(kind, shard, sorted(places))
        return now

    def _later(self, kind: Kind | Status, shard: int, places: list[str]) -> Entries:
        """Return the later entries of executions with entries of `kind` at `places`: ascending, of one shard."""
        first = Status.SUCCEEDED if kind is Kind.STARTED else Kind.REDRIVEN
        later = self._range(first, shard, places)
        # One partition often suffices: all starts have succeeded, or no failed end was redriven.
        if len(later) == (len(places) if kind is Kind.STARTED else 0):
            return later
        for other in (other for other in LATER if other is not first):
            for place, entry in self._range(other, shard, places).items():
                _keep_later(later, place, entry)
        return later

    def _range(self, kind: Kind | Status, shard: int, places: list[str]) -> Entries:
        """Return the entries of `kind` at `places`."""
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
