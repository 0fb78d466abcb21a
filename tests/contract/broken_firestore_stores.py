"""Firestore stores with a mistake each, which the contract has to find."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from unum_google.firestore import Entry, FirestoreStore, fields_of, set_fields
from unum_runtime.features.document_stores.conditional import Document
from unum_runtime.model.naming import Key


class Overwriting(FirestoreStore):
    """Replaces whatever there is."""

    def put(self, key: Key, document: Document, *, replaces: Document | None) -> bool:  # noqa: ARG002 - the mistake
        self._item(key).set(fields_of(key, document, self.clock.now_ms()))
        return True


class CreatingAlone(FirestoreStore):
    """Has a condition on creates, and none on replacements."""

    def put(self, key: Key, document: Document, *, replaces: Document | None) -> bool:
        return super().put(key, document, replaces=None if replaces is None else self.get(key))


class LastAddition(FirestoreStore):
    """Writes an addition to a set in place of the set."""

    def add(self, key: Key, *members: int, expires_at_s: int) -> frozenset[int]:
        self._item(key).set(set_fields(key, members, self.clock.now_ms(), expires_at_s * 1000))
        return (found.members if (found := self.get(key)) else None) or frozenset()


class Undead(FirestoreStore):
    """Leaves expiry to the TTL policy, which takes a day."""

    def _is_live(self, _document: Document) -> bool:
        return True


class WithoutEntries(FirestoreStore):
    """Writes no index entries."""

    def _move_entry(self, batch: Any, old: Entry | None, new: Entry | None) -> None:
        """Do nothing."""


class LastingEntries(FirestoreStore):
    """Leaves the index entries of what is replaced."""

    def _move_entry(self, batch: Any, _old: Entry | None, new: Entry | None) -> None:
        super()._move_entry(batch, None, new)


class OnePage(FirestoreStore):
    """Reads the first page alone."""

    def _ordered(self, query: Any, wanted: int | None, *, backwards: bool) -> Iterator[Any]:
        found = super()._ordered(query, wanted, backwards=backwards)
        return found if wanted is None else islice(found, wanted)


class Unordered(FirestoreStore):
    """Leaves the order to Firestore, which has that of ids."""

    def _ordered(self, query: Any, _wanted: int | None, *, backwards: bool) -> Iterator[Any]:  # noqa: ARG002 - as named there
        yield from self._stream(query)
