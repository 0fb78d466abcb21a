"""Store in a Firestore database: a document for each item, lease, set and index entry.

Firestore decides races by preconditions on writes: ``exists=false`` creates, ``update_time`` replaces. Reads and
queries are strongly consistent. Sources: Firestore REST reference, "Precondition"; Google Cloud Firestore
documentation, "Understand reads and writes at scale".

Documents are in the collections `ITEMS` and `LISTED` below the document of their partition, which exists in name alone.
No query needs another index than the automatic one of the field `SORT`.

The documents:

* An item or lease: ``item`` with its attributes.
* A set: ``members``, with the time of the addition and the set's expiry by it for each member, in milliseconds.
* An index entry: ``item`` with its attributes for lists, ``partition`` and ``of`` with the key of the listed item.

All of them have `SORT` and `EXPIRY`. Every write of an item has all of its fields, so that nothing of a former one
stays.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, TypeAlias

from google.api_core.exceptions import Aborted, Conflict, FailedPrecondition, Forbidden, GoogleAPIError, NotFound
from google.cloud.firestore_v1.base_query import BaseQuery, FieldFilter

from unum_runtime.clock import Clock, SystemClock
from unum_runtime.cold_start.digest import sha256
from unum_runtime.errors import StoreDenied, StoreError
from unum_runtime.features.document_stores.conditional import (
    ROUNDS,
    Addition,
    ConditionalStore,
    Document,
    pause,
    set_of,
)
from unum_runtime.model.checkpoint import MEMBERS, Item
from unum_runtime.model.list_index import PARTITION, PLACE, PROJECTED
from unum_runtime.model.naming import Key

SORT, EXPIRY = "sort", "expires_at"
"""Fields of each document: its place in the partition, and the time at which a TTL policy may delete it."""

Fields: TypeAlias = dict[str, Any]

_ITEM, _LISTED_IN, _LISTED_AS = "item", "partition", "of"
_MEMBER = "m"
"""Prefix of members, because names of fields without quotes begin with a letter."""

_ESCAPES = {".": ".!", "/": ".~"}
"""Characters that ids of documents do not have, or not everywhere. Their order stays."""

_MAX_ID_BYTES = 1_500
"""Longest id. Source: Google Cloud Firestore documentation, "Quotas and limits"."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_NEVER_MS = 2**62
"""Expiry of documents of other writers that have none."""

_AFTER_NAMES = " ~"
"""End of a bound after all names of entries at one place: these go on with a space and hexadecimal digits."""

ROOT = "unum"
"""Collection that has all documents of a store."""

ITEMS, LISTED = "unum_items", "unum_listed"
"""Collections of items and of index entries. TTL policies name them, for all partitions at once."""

DELETED_AT_ONCE = 100
"""Documents that one request deletes, with their index entries. Requests are limited to 10 MiB. Source: Google Cloud
Firestore documentation, "Quotas and limits"."""

_LOST = (Conflict, FailedPrecondition, NotFound)
"""Errors of a failed precondition, or of a write that other writers crowded out, which is a `Conflict`, too."""


class Entry(NamedTuple):
    """Index entry.

    Attributes:
        partition: index partition.
        name: place and a digest of the listed item's key, in the order of places.
        fields: content of its document.
    """

    partition: str
    name: str
    fields: Fields


def document_id(name: str) -> str:
    """Return the id of the document called `name`, a partition or a sort key; ids have the order of short names."""
    # The first character keeps away from ids that Firestore reserves, such as "__a__".
    own = "=" + "".join(_ESCAPES.get(each, each) for each in name)
    return own if len(own.encode()) <= _MAX_ID_BYTES else f"#{sha256(name.encode())}"


def fields_of(key: Key, document: Document, now_ms: int) -> Fields:
    """Return the fields of the item, lease or set at `key`; its members were added at `now_ms`."""
    members = document.members
    added = None if members is None else additions(members, now_ms, document.expires_at_ms)
    return {SORT: key.sort, EXPIRY: as_time(document.expires_at_ms), _ITEM: document.item, MEMBERS: added}


def set_fields(key: Key, members: tuple[int, ...], now_ms: int, expires_at_ms: int) -> Fields:
    """Return the fields that are merged into the set at `key` to add `members`."""
    return {SORT: key.sort, EXPIRY: as_time(expires_at_ms), MEMBERS: additions(members, now_ms, expires_at_ms)}


def additions(members: Any, now_ms: int, expires_at_ms: int) -> Fields:
    """Return the fields of `members` in a set."""
    return {f"{_MEMBER}{member}": [now_ms, expires_at_ms] for member in members}


def document_of(fields: Mapping[str, Any], version: Any) -> Document:
    """Read the fields of an item, lease, set or index entry; what no store writes is left out."""
    expires_at_ms = _milliseconds(fields.get(EXPIRY))
    if (added := fields.get(MEMBERS)) is None:
        return Document(expires_at_ms, _item(fields), version=version)
    read = [Addition(at, until, frozenset([int(name.removeprefix(_MEMBER))])) for name, (at, until) in added.items()]
    members, until_ms = set_of(read)
    # A collected set has no members, and keeps its expiry.
    return Document(until_ms if read else expires_at_ms, {}, members, version)


def entry_of(key: Key, document: Document | None) -> Entry | None:
    """Return the index entry of the item at `key`; None for what lists do not show."""
    if document is None or PARTITION not in document.item:
        return None
    place = str(document.item[PLACE])
    name = f"{place} {sha256(repr(key).encode())}"
    shown = {each: document.item[each] for each in (PARTITION, PLACE, *PROJECTED) if each in document.item}
    owner = {_LISTED_IN: key.partition, _LISTED_AS: key.sort}
    return Entry(
        str(document.item[PARTITION]),
        name,
        {SORT: name, EXPIRY: as_time(document.expires_at_ms), _ITEM: shown, **owner},
    )


def listed_key(fields: Mapping[str, Any]) -> Key:
    """Return the key of the item that an index entry lists."""
    return Key(str(fields.get(_LISTED_IN)), str(fields.get(_LISTED_AS)))


def last_name(place: str) -> str:
    """Return a bound between entries at `place` and entries at later places."""
    return place + _AFTER_NAMES


def as_time(milliseconds: int) -> datetime:
    """Return the timestamp for `milliseconds` since 1970."""
    return _EPOCH + timedelta(milliseconds=milliseconds)


def _milliseconds(value: Any) -> int:
    return (value - _EPOCH) // timedelta(milliseconds=1) if isinstance(value, datetime) else _NEVER_MS


def _item(fields: Mapping[str, Any]) -> Item:
    attributes = fields.get(_ITEM)
    found = attributes.items() if isinstance(attributes, dict) else ()
    return {name: value for name, value in found if isinstance(value, str | int) and not isinstance(value, bool)}


class FirestoreStore(ConditionalStore):
    """Store in one Firestore database, with an index.

    Args:
        client: function that returns the client, a ``google.cloud.firestore.Client``.
        clock: current time for expiry checks, because TTL policies delete documents up to a day later.
        root: collection that has all documents of the store.
    """

    def __init__(self, client: Callable[[], Any], clock: Clock | None = None, root: str = ROOT) -> None:
        self.client, self.clock, self.root = client, clock or SystemClock(), root
        self.place = f"firestore {root}"

    def add(self, key: Key, *members: int, expires_at_s: int) -> frozenset[int]:
        """See `Store.add`."""
        fields = set_fields(key, members, self.clock.now_ms(), expires_at_s * 1000)
        # Merged without a condition: branches that replaced the whole set would repeat each other's writes.
        self._insist(f"add {key}", lambda batch: batch.set(self._item(key), fields, merge=True))
        found = self.get(key)
        return (found.members if found else None) or frozenset()

    def erase(self, partition: str, *, keep: Collection[str] = ()) -> int:
        """See `ErasableStore.erase`."""
        found = [(key, document) for key, document in self.documents(partition, None) if key.sort not in keep]
        for first in range(0, len(found), DELETED_AT_ONCE):
            self._erase(partition, found[first : first + DELETED_AT_ONCE])
        return len(found)

    def get(self, key: Key) -> Document | None:
        """See `ConditionalStore.get`."""
        return self.get_all([key])[0]

    def get_all(self, keys: Collection[Key]) -> list[Document | None]:
        """See `ConditionalStore.get_all`."""
        if not keys:
            return []
        wanted = [self._item(key) for key in keys]
        with self._errors("get"):
            found = {each.reference.path: each for each in self.client().get_all(wanted) if each.exists}
        return [_read(found[each.path]) if each.path in found else None for each in wanted]

    def put(self, key: Key, document: Document, *, replaces: Document | None) -> bool:
        """See `ConditionalStore.put`."""
        batch, fields = self.client().batch(), fields_of(key, document, self.clock.now_ms())
        if replaces is None:
            batch.create(self._item(key), fields)
        else:
            unchanged = self.client().write_option(last_update_time=replaces.version)
            batch.update(self._item(key), fields, option=unchanged)
        self._move_entry(batch, entry_of(key, replaces), entry_of(key, document))
        try:
            with self._errors(f"put {key}", but=_LOST):
                batch.commit()
        except _LOST:
            return False
        return True

    def documents(
        self, partition: str, newest: int | None, *, before: str | None = None
    ) -> Iterator[tuple[Key, Document]]:
        """See `ConditionalStore.documents`."""
        items = self._partition(partition).collection(ITEMS)
        if before is not None:
            items = items.where(filter=FieldFilter(SORT, "<", before))
        for each in self._ordered(items, newest, backwards=newest is not None):
            yield Key(partition, each.get(SORT)), _read(each)

    def listed(
        self, partition: str, oldest: str, newest: str, *, oldest_first: bool, limit: int | None
    ) -> Iterator[tuple[Key, Document]]:
        """See `ConditionalStore.listed`."""
        entries = self._partition(partition).collection(LISTED)
        for operator, bound in ((">=", oldest), ("<=", last_name(newest))):
            entries = entries.where(filter=FieldFilter(SORT, operator, bound))
        for each in self._ordered(entries, limit, backwards=not oldest_first):
            yield listed_key(each.to_dict()), _read(each)

    def _ordered(self, query: Any, wanted: int | None, *, backwards: bool) -> Iterator[Any]:
        """Yield the documents of `query` in order, `wanted` in each request."""
        query = query.order_by(SORT, direction=BaseQuery.DESCENDING if backwards else BaseQuery.ASCENDING)
        if wanted is None:
            yield from self._stream(query)
            return
        size = max(1, wanted)
        page = [*self._stream(query.limit(size))]
        yield from page
        while len(page) == size:
            beyond = FieldFilter(SORT, "<" if backwards else ">", page[-1].get(SORT))
            page = [*self._stream(query.where(filter=beyond).limit(size))]
            yield from page

    def _stream(self, query: Any) -> Iterator[Any]:
        with self._errors("query"):
            yield from query.stream()

    def _erase(self, partition: str, doomed: Collection[tuple[Key, Document]]) -> None:
        def delete(batch: Any) -> None:
            for key, document in doomed:
                batch.delete(self._item(key))
                self._move_entry(batch, entry_of(key, document), None)

        self._insist(f"erase {partition}", delete)

    def _move_entry(self, batch: Any, old: Entry | None, new: Entry | None) -> None:
        """Write the index entry `new` in place of `old`; the batch changes item and entry together, or neither."""
        if old is not None and (new is None or old[:2] != new[:2]):
            batch.delete(self._entry(old))
        if new is not None and new != old:
            batch.set(self._entry(new), new.fields)

    def _insist(self, what: str, write: Callable[[Any], None]) -> None:
        """Commit writes without conditions; repeat them while other writers crowd them out."""
        for round_ in range(ROUNDS):
            batch = self.client().batch()
            write(batch)
            try:
                with self._errors(what, but=(Aborted,)):
                    batch.commit()
            except Aborted:
                pause(round_ + 1)
            else:
                return
        raise StoreError(f"{self.place} {what}: expected to write, got {ROUNDS} other writers before")

    @contextmanager
    def _errors(self, what: str, but: tuple[type[Exception], ...] = ()) -> Iterator[None]:
        """Raise errors of requests as `StoreError`, except those of the types `but`."""
        try:
            yield
        except but:
            raise
        except GoogleAPIError as error:
            kind = StoreDenied if isinstance(error, Forbidden) else StoreError
            raise kind(f"{self.place} {what}: {error}") from error

    def _partition(self, partition: str) -> Any:
        return self.client().collection(self.root).document(document_id(partition))

    def _item(self, key: Key) -> Any:
        return self._partition(key.partition).collection(ITEMS).document(document_id(key.sort))

    def _entry(self, entry: Entry) -> Any:
        return self._partition(entry.partition).collection(LISTED).document(document_id(entry.name))


def _read(snapshot: Any) -> Document:
    return document_of(snapshot.to_dict(), snapshot.update_time)
