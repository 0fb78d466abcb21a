"""Stores with a mistake each, which the contract has to find."""

import json
from collections.abc import Collection, Iterator
from typing import Any

from unum_azure.cosmos import CosmosStore
from unum_runtime.errors import StoreError
from unum_runtime.features.bucket_state import s3_names as names
from unum_runtime.features.bucket_state.s3 import S3Store
from unum_runtime.features.document_stores.conditional import ConditionalStore, Document
from unum_runtime.model.checkpoint import Item
from unum_runtime.model.naming import Key


class Unconditional(S3Store):
    """Writes without conditions."""

    def _write(self, name: str, content: bytes, **_condition: str) -> bool:
        return super()._write(name, content)


class Overwritten(S3Store):
    """Keeps the last addition to a set alone."""

    def add(self, key: Key, *members: int, expires_at_s: int) -> frozenset[int]:
        self._delete([name for name in self._list(names.item_name(key)) if "/" in name.rpartition("/=")[2]])
        return super().add(key, *members, expires_at_s=expires_at_s)


class Immortal(S3Store):
    """Leaves expiry to the bucket's lifecycle rules, which take days."""

    def _is_live(self, _document: Document) -> bool:
        return True


class Resurrected(S3Store):
    """Lets an expired set grow."""

    def add(self, key: Key, *members: int, expires_at_s: int) -> frozenset[int]:
        added = super().add(key, *members, expires_at_s=expires_at_s)
        return added.union(*(names.addition_of(name).members for name in self._list(names.item_name(key) + "/")))


class Unmarked(S3Store):
    """Does not mark sets, so that no reader finds them."""

    def _write(self, name: str, content: bytes, **condition: str) -> bool:
        is_marker = content and json.loads(content)["expires_at_ms"] == 0
        return is_marker or super()._write(name, content, **condition)


class Unlisted(S3Store):
    """Creates without an entry in the index."""

    def create(self, key: Key, item: Item, *, expires_at_s: int) -> Item | None:
        return ConditionalStore.create(self, key, item, expires_at_s=expires_at_s)


class EveryEntry(S3Store):
    """Lists entries without a look at their items."""

    def listed(self, partition: str, oldest: str, newest: str, **_how: Any) -> Iterator[tuple[Key, Document]]:
        for place, key in self._entries(partition, oldest, newest):
            yield key, Document(2**62, {"list": partition, "list_at": place, "at": 7})


class FirstPage(S3Store):
    """Reads the first page of a list alone."""

    def _pages(self, operation: str, prefix: str, after: str = "") -> Iterator[list[Any]]:
        yield next(super()._pages(operation, prefix, after))


class Nested(S3Store):
    """Takes objects whose names begin like those of a partition for its own."""

    def erase(self, partition: str, *, keep: Collection[str] = ()) -> int:
        whole = names.partition_name(partition).removesuffix("/=")
        doomed = [name for name in self._list(whole) if names.sort_in(name, partition) not in keep]
        self._delete(doomed)
        return len(doomed)


class LastWins(CosmosStore):
    """Writes without conditions."""

    def put(self, key: Key, document: Document, *, replaces: Document | None) -> bool:
        if replaces is None and super().put(key, document, replaces=None):
            return True
        body = self._body(key, document)
        self.container.replace_item(body["id"], body)
        return True


class Eternal(CosmosStore):
    """Leaves expiry to Cosmos DB."""

    def _is_live(self, _document: Document) -> bool:
        return True


class Revived(CosmosStore):
    """Adds to an expired set."""

    def _patch(self, key: Key, members: tuple[int, ...], expires_at_s: int) -> frozenset[int] | None:
        now_ms, self.clock.ms = self.clock.ms, 0  # type: ignore[attr-defined]  # the clock of the tests
        try:
            return super()._patch(key, members, expires_at_s)
        finally:
            self.clock.ms = now_ms  # type: ignore[attr-defined]


class Cropped(CosmosStore):
    """Adds only as many members as one patch takes."""

    def add(self, key: Key, *members: int, expires_at_s: int) -> frozenset[int]:
        return super().add(key, *members[:8], expires_at_s=expires_at_s)


class Unsorted(CosmosStore):
    """Reads partitions in the order of writes."""

    def _query(self, query: str, values: Any, **options: Any) -> Iterator[tuple[Key, Document]]:
        return super()._query(query.partition(" ORDER BY")[0], values, **options)


class Truncated(CosmosStore):
    """Erases what a first page has."""

    def documents(
        self, partition: str, newest: int | None, *, before: str | None = None
    ) -> Iterator[tuple[Key, Document]]:
        found = [*super().documents(partition, newest, before=before)]
        return iter(found[:50])


class Exclusive(CosmosStore):
    """Lists what is between two places alone."""

    def _query(self, query: str, values: Any, **options: Any) -> Iterator[tuple[Key, Document]]:
        return super()._query(query.replace("<=", "<"), values, **options)


class Absent(CosmosStore):
    """Takes an item that it cannot read for an absent one."""

    def get(self, key: Key) -> Document | None:
        try:
            return super().get(key)
        except StoreError:
            return None
