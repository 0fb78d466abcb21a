"""Which executions there are, newest first: pages of a list that an index of the table keeps, without a scan.

A page is a range of places. The starts in it, or the ends of one status, are read from their partitions; how each of
these executions is now, the entries of ends in the same range tell, so no execution is read for itself.

Source of the operation: AWS Step Functions API Reference, "ListExecutions".
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from heapq import merge
from itertools import groupby, islice
from typing import NamedTuple

from unum_runtime.client.pages import LARGEST_PAGE, new_token, token_content
from unum_runtime.client.records import moment
from unum_runtime.errors import InvalidToken
from unum_runtime.model.checkpoint import Status
from unum_runtime.model.listing import LAST, PLACE, SHARDS, Kind, before, execution_at, partition, shard_of
from unum_runtime.store.base import Index

LATER = (Status.SUCCEEDED, Kind.REDRIVEN, Status.FAILED, Status.TIMED_OUT, Status.ABORTED)
"""What may come after the start of an execution; after all but the first, too."""

_PLACE = re.compile(r"\d{13}/[A-Za-z0-9_-]{1,80}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedExecution:
    """An execution as a list shows it.

    Attributes:
        name: its name.
        status: running, or how it ended.
        started_at: when it was started.
        stopped_at: when it ended; None while it runs.
    """

    name: str
    status: Status
    started_at: datetime
    stopped_at: datetime | None


class ExecutionPage(NamedTuple):
    """A page of a list of executions.

    Attributes:
        executions: newest first; there may be fewer than were asked for, or none, though more follow.
        token: for the page after it; None if it is the last.
    """

    executions: tuple[ListedExecution, ...]
    token: str | None


class _Entry(NamedTuple):
    """What the index says of an execution at a time."""

    kind: Kind | Status
    at_ms: int

    @property
    def status(self) -> Status:
        """The execution's, if the entry is the latest."""
        return Status.RUNNING if isinstance(self.kind, Kind) else self.kind


_Entries = dict[str, _Entry]
"""The entry that counts, by its place; newest first."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The executions of one workflow.

    Attributes:
        index: of the workflow's store.
        workflow: its name.
    """

    index: Index
    workflow: str

    def page(self, status: Status | None, *, limit: int, token: str | None) -> ExecutionPage:
        """The executions with `status`, or all, from where `token` leads to.

        Nothing says of an execution that it runs but the lack of an end. So to find those that run, up to 1,000 starts
        are looked through for a page.

        Raises:
            InvalidToken: the token is of no page of this list.
            NoIndex: the table has no index for lists.
            StoreError: the index could not be read.
        """
        kind: Kind | Status = Kind.STARTED if status in (None, Status.RUNNING) else Status(status)
        size = LARGEST_PAGE if status is Status.RUNNING else limit
        newest = LAST if token is None else self._place(token, status)
        found = [*islice(self._newest(kind, newest, size), size + 1)]
        now = self._as_of_now(kind, dict(found[:size]))
        shown = [(place, entry) for place, entry in now.items() if status in (None, entry.status)]
        following = shown[limit:] or found[size:]
        return ExecutionPage(
            executions=tuple(_listed(place, entry) for place, entry in shown[:limit]),
            token=new_token(self.workflow, status, following[0][0]) if following else None,
        )

    def _place(self, token: str, status: Status | None) -> str:
        match token_content(token):
            case [self.workflow, wanted, str(place)] if wanted == status and _PLACE.fullmatch(place):
                return place
        raise InvalidToken(
            f"nextToken: expected what the page before returned, of {self.workflow!r} with the same status, "
            f"got {token!r}"
        )

    def _newest(self, kind: Kind | Status, newest: str, size: int) -> Iterator[tuple[str, _Entry]]:
        """All entries of `kind`, one for each execution; read in portions that do for `size` as a rule."""
        parts = (self._in_shard(kind, shard, newest, size // 2 + 1) for shard in range(SHARDS))
        return merge(*parts, reverse=True)

    def _in_shard(self, kind: Kind | Status, shard: int, newest: str, size: int) -> Iterator[tuple[str, _Entry]]:
        while True:
            items = self.index.listed(partition(self.workflow, kind, shard), newest=newest, limit=size)
            found: _Entries = {}
            for item in items:
                _keep_later(found, str(item[PLACE]), _Entry(kind, int(item["at"])))
            yield from found.items()
            if len(items) < size:
                return
            newest = before(str(items[-1][PLACE]))

    def _as_of_now(self, kind: Kind | Status, window: Mapping[str, _Entry]) -> _Entries:
        """The entries that count now in place of those of `kind` in `window`, in the same order."""
        now = dict(window)
        if kind is Status.SUCCEEDED:
            return now
        for shard, places in groupby(sorted(window, key=_shard), _shard):
            now |= self._later(kind, shard, sorted(places))
        return now

    def _later(self, kind: Kind | Status, shard: int, places: list[str]) -> _Entries:
        """What has come after entries of `kind` at `places`, which are in their order, of one shard."""
        first = Status.SUCCEEDED if kind is Kind.STARTED else Kind.REDRIVEN
        later = self._range(first, shard, places)
        if len(later) == (len(places) if kind is Kind.STARTED else 0):
            return later
        for other in (other for other in LATER if other is not first):
            for place, entry in self._range(other, shard, places).items():
                _keep_later(later, place, entry)
        return later

    def _range(self, kind: Kind | Status, shard: int, places: list[str]) -> _Entries:
        """The entries of `kind` at `places`."""
        name = partition(self.workflow, kind, shard)
        wanted, found = frozenset(places), _Entries()
        for item in self.index.listed(name, oldest=places[0], newest=places[-1]):
            if item[PLACE] in wanted:
                _keep_later(found, str(item[PLACE]), _Entry(kind, int(item["at"])))
        return found


def _keep_later(entries: _Entries, place: str, entry: _Entry) -> None:
    if place not in entries or entries[place].at_ms < entry.at_ms:
        entries[place] = entry


def _shard(place: str) -> int:
    return shard_of(execution_at(place))


def _listed(place: str, entry: _Entry) -> ListedExecution:
    execution = execution_at(place)
    return ListedExecution(
        name=execution.name,
        status=entry.status,
        started_at=moment(execution.started_ms),
        stopped_at=None if entry.status is Status.RUNNING else moment(entry.at_ms),
    )
