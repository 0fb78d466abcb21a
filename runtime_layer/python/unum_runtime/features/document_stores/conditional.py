"""Store on any database with conditional replacement of one document.

Every primitive reads a document with its version and writes it again under the condition that this version, or none, is
still there. Whoever loses a race reads again. Subclasses implement reads and the conditional write of documents.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

from unum_runtime.clock import Clock
from unum_runtime.cold_start.records import dataclass
from unum_runtime.errors import StoreError
from unum_runtime.model.checkpoint import MEMBERS, OUTCOME, TOMBSTONE, Item
from unum_runtime.model.list_index import FIRST, LAST
from unum_runtime.model.naming import Key
from unum_runtime.store.base import MAX_ITEM_BYTES

ROUNDS = 200
"""Maximum number of attempts to replace one document. Each lost attempt is another writer's success, so only a crowd
larger than any completion set needs more."""

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.002, 0.2
"""Bounds of the pause after a lost attempt, so that a crowd of writers spreads."""

PARALLEL_READS = 16
"""Concurrent requests for documents, which these databases read one by one."""

OWNER = "owner"


class Addition(NamedTuple):
    """One addition to a set; additions are ordered by time.

    Attributes:
        at_ms: time of the addition, in milliseconds since 1970.
        expires_at_ms: expiry of the whole set by this addition, likewise.
        members: added members.
    """

    at_ms: int
    expires_at_ms: int
    members: frozenset[int]


def set_of(additions: Iterable[Addition]) -> tuple[frozenset[int], int]:
    """Return the members that `additions` make in order of time, and the set's expiry in milliseconds since 1970."""
    members, expires_at_ms = frozenset[int](), 0
    for each in sorted(additions):  # of several at one time, the one that lasts longest counts
        # An expired set begins empty: its old members belong to an execution of the same name before.
        members = each.members | (members if each.at_ms < expires_at_ms else frozenset())
        expires_at_ms = each.expires_at_ms
    return members, expires_at_ms


@dataclass(frozen=True)
class Document:
    """Stored item, set or lease.

    Attributes:
        expires_at_ms: expiry, in milliseconds since 1970.
        item: attributes; that of a lease is its owner.
        members: members of a set; None for items and leases.
        version: version that a conditional write names; None before the document is stored.
    """

    expires_at_ms: int
    item: Item
    members: frozenset[int] | None = None
    version: Any = None

    @property
    def deletable_at_s(self) -> int:
        """Time at which the database may delete the document, in seconds since 1970."""
        return -(-self.expires_at_ms // 1000)  # rounded up: a lease lasts to the end of its last second's part

    def to_json(self) -> dict[str, Any]:
        """Return the document's form in JSON."""
        own = {} if self.members is None else {MEMBERS: sorted(self.members)}
        return {"expires_at_ms": self.expires_at_ms, "item": self.item, **own}

    @classmethod
    def from_json(cls, value: Any, version: Any) -> "Document":
        """Read the form of `to_json`."""
        members = value.get(MEMBERS)
        return cls(int(value["expires_at_ms"]), value["item"], None if members is None else frozenset(members), version)


Change: TypeAlias = Callable[[Document | None], Document | None]
"""Function of the live document that returns its replacement, or None to leave it as it is."""


class ConditionalStore(ABC):
    """Store of documents that are replaced conditionally.

    Attributes:
        clock: current time for expiry checks.
        place: name of the database in errors.
    """

    clock: Clock
    place: str

    @abstractmethod
    def get(self, key: Key) -> Document | None:
        """Return the document at `key`, expired or not; None if absent. Reads are strongly consistent.

        Raises:
            StoreError: the database did not answer.
        """

    def get_all(self, keys: Collection[Key]) -> list[Document | None]:
        """Return what `get` returns for each of `keys`; databases that read several at once do so here."""
        return in_parallel(self.get, keys)

    @abstractmethod
    def put(self, key: Key, document: Document, *, replaces: Document | None) -> bool:
        """Write `document` if `key` still has the version of `replaces`; None means no document yet.

        Returns:
            False if the condition failed.

        Raises:
            StoreError: the database refused or did not answer; the document may be written or not.
        """

    @abstractmethod
    def documents(
        self, partition: str, newest: int | None, *, before: str | None = None
    ) -> Iterator[tuple[Key, Document]]:
        """Yield the items of `partition` in sort key order, or in reverse order if `newest` is given.

        Args:
            partition: partition key.
            newest: number of documents that the caller probably needs.
            before: sort key that is greater than those of all documents; None for any.

        Raises:
            StoreError: the database did not answer.
        """

    @abstractmethod
    def listed(
        self, partition: str, oldest: str, newest: str, *, oldest_first: bool, limit: int | None
    ) -> Iterator[tuple[Key, Document]]:
        """Yield the items of an index partition, ordered by place; see `Index.list_items`.

        `limit` is the number of documents that the caller probably needs.
        """

    def create(self, key: Key, item: Item, *, expires_at_s: int) -> Item | None:
        """See `Store.create`."""
        _check_size("create", key, item)
        new = Document(expires_at_s * 1000, item)
        # Most creates win, so the first attempt does not read before.
        is_new, found = self._change(key, lambda present: None if present else new, expects_none=True)
        return None if is_new else dict(found.item) if found else {}

    def read(self, keys: Iterable[Key]) -> dict[Key, Item]:
        """See `Store.read`."""
        wanted = list(dict.fromkeys(keys))
        found = zip(wanted, self.get_all(wanted), strict=True)
        return {key: _as_item(each) for key, each in found if each and self._is_live(each)}

    def query(self, partition: str, *, newest: int | None = None) -> dict[Key, Item]:
        """See `Store.query`."""
        found = self.documents(partition, newest)
        live = ((key, dict(each.item)) for key, each in found if each.members is None and self._is_live(each))
        return dict(islice(live, newest))

    def page(self, partition: str, *, before: str, limit: int) -> dict[Key, Item]:
        """See `ErasableStore.page`."""
        found = self.documents(partition, limit, before=before)
        live = ((key, dict(each.item)) for key, each in found if each.members is None and self._is_live(each))
        return dict(islice(live, limit))

    def list_items(
        self,
        partition: str,
        *,
        oldest: str = FIRST,
        newest: str = LAST,
        limit: int | None = None,
        oldest_first: bool = False,
    ) -> dict[Key, Item]:
        """See `Index.list_items`."""
        found = self.listed(partition, oldest, newest, oldest_first=oldest_first, limit=limit)
        return dict(islice(((key, dict(each.item)) for key, each in found if self._is_live(each)), limit))

    def collect(self, keys: Iterable[Key]) -> None:
        """See `Store.collect`."""
        for key in keys:
            self._change(key, _collected)

    def extend(self, key: Key, item: Item, *, unless: str, expires_at_s: int) -> tuple[bool, Item]:
        """See `Store.extend`."""

        def extended(present: Document | None) -> Document | None:
            whole = {**(present.item if present else {}), **item}
            _check_size("extend", key, whole)
            return Document(expires_at_s * 1000, whole)

        is_added, found = self._change(
            key, lambda present: None if present and unless in present.item else extended(present)
        )
        return is_added, dict(found.item) if found else {}

    def add(self, key: Key, *members: int, expires_at_s: int) -> frozenset[int]:
        """See `Store.add`."""

        def grown(present: Document | None) -> Document:
            old = present.members if present else None
            return Document(expires_at_s * 1000, {}, (old or frozenset()).union(members))

        _, found = self._change(key, grown)
        return found.members or frozenset() if found else frozenset()

    def acquire(self, key: Key, owner: str, *, expires_at_ms: int) -> str:
        """See `Store.acquire`."""
        lease = Document(expires_at_ms, {OWNER: owner})
        _, found = self._change(
            key, lambda present: lease if present is None or _is_of(present, owner) else None, expects_none=True
        )
        return str(found.item[OWNER]) if found else owner

    def renew(self, key: Key, owner: str, *, expires_at_ms: int) -> bool:
        """See `Store.renew`."""
        lease = Document(expires_at_ms, {OWNER: owner})
        return self._change(key, lambda present: lease if _is_of(present, owner) else None)[0]

    def release(self, key: Key, owner: str) -> None:
        """See `Store.release`."""
        # The lease expires now instead of a deletion: permission to write suffices.
        ended = Document(self.clock.now_ms(), {OWNER: owner})
        self._change(key, lambda present: ended if _is_of(present, owner) else None)

    def replace(self, key: Key, item: Item, *, expires_at_s: int) -> None:
        """See `ErasableStore.replace`."""
        _check_size("replace", key, item)
        self._change(key, lambda _present: Document(expires_at_s * 1000, item))

    def _change(self, key: Key, change: Change, *, expects_none: bool = False) -> tuple[bool, Document | None]:
        """Replace the document at `key` as `change` says; return True and the new one, or False and the present one.

        `expects_none` leaves out the first read.

        Raises:
            StoreError: the database refused or did not answer, or other writers won every attempt.
        """
        present = None if expects_none else self.get(key)
        for round_ in range(ROUNDS):
            # An expired document is replaced as if it were absent, but under its version: nobody else may do so.
            live = present if present and self._is_live(present) else None
            new = change(live)
            if new is None:
                return False, live
            if self.put(key, new, replaces=present):
                return True, new
            if round_:
                pause(round_)
            present = self.get(key)
        raise StoreError(f"{self.place} {key}: expected to replace it, got {ROUNDS} other writers before")

    def _is_live(self, document: Document) -> bool:
        return self.clock.now_ms() < document.expires_at_ms


def in_parallel(read: Callable[[Any], Any], wanted: Collection[Any]) -> list[Any]:
    """Call `read` for each key in `wanted`, `PARALLEL_READS` at a time."""
    if len(wanted) < 2:  # noqa: PLR2004 - threads cost more than one request saves
        return [read(each) for each in wanted]
    with ThreadPoolExecutor(PARALLEL_READS) as pool:
        return list(pool.map(partial(read), wanted))


def _check_size(operation: str, key: Key, item: Item) -> None:
    # As DynamoDB counts, so that every store takes the same items: UTF-8 bytes of names and values.
    size = sum(len(str(part).encode()) for part in (*key, *item.keys(), *item.values()))
    if size > MAX_ITEM_BYTES:
        raise StoreError(f"{operation} {key}: expected at most {MAX_ITEM_BYTES} bytes, got an item of {size}")


def _as_item(document: Document) -> Item:
    if document.members is None:
        return dict(document.item)
    return {MEMBERS: len(document.members)} if document.members else {TOMBSTONE: 1}


def _collected(present: Document | None) -> Document | None:
    if present is None:
        return None
    if present.members is not None:
        return Document(present.expires_at_ms, {}, frozenset())
    left = {name: value for name, value in present.item.items() if name not in OUTCOME}
    return Document(present.expires_at_ms, {**left, TOMBSTONE: 1})


def _is_of(lease: Document | None, owner: str) -> bool:
    return lease is not None and lease.item.get(OWNER) == owner


def pause(round_: int) -> None:
    """Wait after the lost attempt `round_`, for a random time, so that other writers come first."""
    from random import uniform  # noqa: PLC0415 - loaded only after a lost race

    time.sleep(uniform(0, min(LONGEST_PAUSE_S, FIRST_PAUSE_S * round_)))  # noqa: S311 - jitter needs no secrecy
