"""Store in a Firestore database: a document for each item, lease, set and index entry.

Firestore decides races by preconditions on writes: ``exists=false`` creates, ``update_time`` replaces. Reads and
queries are strongly consistent. Sources: Firestore REST reference, "Precondition"; Google Cloud Firestore
documentation, "Understand reads and writes at scale".

Documents are in the collections `ITEMS` and `LISTED` below the document of their partition, which exists in name alone.
No query needs another index than the automatic one of the field `SORT`.
"""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

from google.api_core.exceptions import Aborted, Conflict, FailedPrecondition, Forbidden, GoogleAPIError, NotFound
from google.cloud.firestore_v1.base_query import BaseQuery, FieldFilter

from unum_google import firestore_documents as documents
from unum_google.firestore_documents import SORT, Entry, document_id, document_of, entry_of
from unum_runtime.clock import Clock, SystemClock
from unum_runtime.errors import StoreDenied, StoreError
from unum_runtime.features.document_stores.conditional import ROUNDS, ConditionalStore, Document, pause
from unum_runtime.model.naming import Key

ROOT = "unum"
"""Collection that has all documents of a store."""

ITEMS, LISTED = "unum_items", "unum_listed"
"""Collections of items and of index entries. TTL policies name them, for all partitions at once."""

DELETED_AT_ONCE = 100
"""Documents that one request deletes, with their index entries. Requests are limited to 10 MiB. Source: Google Cloud
Firestore documentation, "Quotas and limits"."""

_LOST = (Conflict, FailedPrecondition, NotFound)
"""Errors of a failed precondition, or of a write that other writers crowded out, which is a `Conflict`, too."""


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
        fields = documents.set_fields(key, members, self.clock.now_ms(), expires_at_s * 1000)
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
        batch, fields = self.client().batch(), documents.fields_of(key, document, self.clock.now_ms())
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
        for operator, bound in ((">=", oldest), ("<=", documents.last_name(newest))):
            entries = entries.where(filter=FieldFilter(SORT, operator, bound))
        for each in self._ordered(entries, limit, backwards=not oldest_first):
            yield documents.listed_key(each.to_dict()), _read(each)

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
