"""Store in an S3 bucket: an object for each item, lease, index entry, and addition to a set.

S3 decides races by conditions on writes: `If-None-Match: *` creates, `If-Match` replaces. Reads and lists after a write
show it. Sources: Amazon S3 User Guide, "Add preconditions to S3 operations with conditional requests" and "Amazon S3
data consistency model". Objects expire by their content, and lifecycle rules of the bucket delete them later.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice
from typing import Any

from unum_runtime.clock import Clock, SystemClock
from unum_runtime.errors import StoreDenied, StoreError
from unum_runtime.features.bucket_state import s3_names as names
from unum_runtime.features.document_stores.conditional import (
    PARALLEL_READS,
    Addition,
    ConditionalStore,
    Document,
    in_parallel,
    set_of,
)
from unum_runtime.json_text import parse_json, to_ascii
from unum_runtime.model.checkpoint import Item
from unum_runtime.model.list_index import PARTITION, PLACE
from unum_runtime.model.naming import Key
from unum_runtime.store.base import BUCKET
from unum_runtime.wire.call_errors import call_errors, error_code, store_error

_MISSING = ("NoSuchKey", "404")
_LOST = ("PreconditionFailed", "ConditionalRequestConflict", "412", "409", *_MISSING)
"""Error names of a failed condition. S3 also refuses a write during another one, or if the object has been deleted."""

DELETED_AT_ONCE = 1_000
"""Maximum number of objects in one request. Source: Amazon S3 API Reference, "DeleteObjects"."""

_NEW_SET = Document(0, {}, frozenset())
"""Content of the object that marks a set, before the set is collected."""


class S3Store(ConditionalStore):
    """Store in one bucket, with an index.

    Args:
        client: function that returns the S3 client, of boto3 or botocore.
        bucket: bucket name.
        clock: current time for expiry checks, because lifecycle rules delete objects only after days.
    """

    def __init__(self, client: Callable[[], Any], bucket: str, clock: Clock | None = None) -> None:
        self.client, self.bucket, self.clock = client, bucket, clock or SystemClock()
        self.place = f"{BUCKET}{bucket}"

    def create(self, key: Key, item: Item, *, expires_at_s: int) -> Item | None:
        """See `Store.create`."""
        # Before the item, so that no list misses it. Lists leave out entries whose item is absent or has another place,
        # as after a lost create.
        for entry in _entry_names(key, item):
            self._write(entry, b"")
        return super().create(key, item, expires_at_s=expires_at_s)

    def add(self, key: Key, *members: int, expires_at_s: int) -> frozenset[int]:
        """See `Store.add`."""
        name = names.item_name(key)
        addition = Addition(self.clock.now_ms(), expires_at_s * 1000, frozenset(members))
        self._write(names.addition_name(name, addition), b"")
        found = [*self._list(name)]
        if name not in found:
            # Readers would take the set for absent. Only an acknowledged addition must be visible, so it comes last.
            self._write(name, _content(_NEW_SET), IfNoneMatch="*")
        return set_of(map(names.addition_of, _additions(name, found)))[0]

    def replace(self, key: Key, item: Item, *, expires_at_s: int) -> None:
        """See `ErasableStore.replace`."""
        entries = _entry_names(key, item)
        for entry in entries:
            self._write(entry, b"")
        self._delete_entries([key], keep=entries)
        super().replace(key, item, expires_at_s=expires_at_s)

    def erase(self, partition: str, *, keep: Collection[str] = ()) -> int:
        """See `ErasableStore.erase`."""
        found = {name: names.sort_in(name, partition) for name in self._versions(names.partition_name(partition))}
        doomed = {name: sort for name, sort in found.items() if sort not in keep}
        keys = {Key(partition, sort) for sort in doomed.values()}
        # Entries go first: without its item, a later deletion could not find one.
        self._delete_entries(keys)
        self._delete_versions(names.partition_name(partition), doomed)
        return len(keys)

    def get(self, key: Key) -> Document | None:
        """See `ConditionalStore.get`."""
        name = names.item_name(key)
        found = self._read(name)
        if found is None or found.members is None:
            return found
        additions = _additions(name, self._list(name))
        members, expires_at_ms = set_of(map(names.addition_of, additions))
        # Without additions it is collected, or its additions have expired and are deleted.
        expires_at_ms = expires_at_ms if additions else found.expires_at_ms
        return Document(expires_at_ms, {}, members, (found.version[0], additions))

    def put(self, key: Key, document: Document, *, replaces: Document | None) -> bool:
        """See `ConditionalStore.put`."""
        etag, additions = replaces.version if replaces else (None, ())
        condition = {"IfMatch": etag} if replaces else {"IfNoneMatch": "*"}
        if not self._write(names.item_name(key), _content(document), **condition):
            return False
        self._delete(additions)  # of a set that is collected or replaced
        return True

    def documents(
        self, partition: str, newest: int | None, *, before: str | None = None
    ) -> Iterator[tuple[Key, Document]]:
        """See `ConditionalStore.documents`."""
        found = [each for each in self._list(names.partition_name(partition)) if not names.is_addition(each, partition)]
        sorts = sorted((names.sort_in(name, partition) for name in found), reverse=newest is not None)
        keys = (Key(partition, sort) for sort in sorts if before is None or sort < before)
        return ((key, each) for _, key, each in self._documents((("", key) for key in keys), newest))

    def listed(
        self, partition: str, oldest: str, newest: str, *, oldest_first: bool, limit: int | None
    ) -> Iterator[tuple[Key, Document]]:
        """See `ConditionalStore.listed`."""
        entries = self._entries(partition, oldest, newest)
        # S3 lists in one direction only: a list from the newest reads the names of all entries first.
        ordered = entries if oldest_first else reversed([*entries])
        for place, key, document in self._documents(iter(ordered), limit):
            if document.item.get(PARTITION) == partition and document.item.get(PLACE) == place:
                yield key, document

    def _entries(self, partition: str, oldest: str, newest: str) -> Iterator[tuple[str, Key]]:
        """Yield places and keys of the entries between two places, both inclusive, in order."""
        prefix = names.entries_name(partition)
        for name in self._list(prefix, after=prefix + oldest):
            place, key = names.entry_of(name, partition)
            if place > newest:
                return
            yield place, key

    def _documents(self, places: Iterator[tuple[str, Key]], wanted: int | None) -> Iterator[tuple[str, Key, Document]]:
        """Yield the existing documents of `places` in order; read as many together as the caller probably needs."""
        at_once = PARALLEL_READS if wanted is None else max(1, min(wanted, PARALLEL_READS))
        while batch := [*islice(places, at_once)]:
            found = in_parallel(self._read, [names.item_name(key) for _, key in batch])
            yield from ((*each, document) for each, document in zip(batch, found, strict=True) if document)

    def _read(self, name: str) -> Document | None:
        """Return the content of an item's object."""
        try:
            found = self.client().get_object(Bucket=self.bucket, Key=name)
            return Document.from_json(parse_json(found["Body"].read()), (found["ETag"], ()))
        except call_errors() as error:
            if error_code(error) in _MISSING:
                return None
            failed = store_error(f"GetObject {self.place}/{name}", error)
            # Without permission to list the whole bucket, S3 answers so where an object is absent, too.
            # Source: Amazon S3 API Reference, "GetObject".
            if isinstance(failed, StoreDenied) and name not in self._list(name):
                return None
            raise failed from error

    def _write(self, name: str, content: bytes, **condition: str) -> bool:
        """Write an object; return False if the condition failed."""
        try:
            self.client().put_object(
                Bucket=self.bucket, Key=name, Body=content, ContentType="application/json", **condition
            )
        except call_errors() as error:
            if condition and error_code(error) in _LOST:
                return False
            raise store_error(f"PutObject {self.place}/{name}", error) from error
        return True

    def _list(self, prefix: str, after: str = "") -> Iterator[str]:
        """Yield the names of all objects with `prefix` that come after the name `after`, in order."""
        return (each["Key"] for page in self._pages("list_objects_v2", prefix, after) for each in page)

    def _pages(self, operation: str, prefix: str, after: str = "") -> Iterator[list[Any]]:
        query = {"Bucket": self.bucket, "Prefix": prefix, **({"StartAfter": after} if after else {})}
        try:
            for page in self.client().get_paginator(operation).paginate(**query):
                yield [each for kind in ("Contents", "Versions", "DeleteMarkers") for each in page.get(kind, ())]
        except call_errors() as error:
            raise store_error(f"{operation} {self.place}/{prefix}", error) from error

    def _versions(self, prefix: str) -> Iterator[str]:
        return (each["Key"] for page in self._pages("list_object_versions", prefix) for each in page)

    def _delete_entries(self, keys: Iterable[Key], keep: Collection[str] = ()) -> None:
        """Delete the index entries of the items at `keys` with all versions, except those with names in `keep`."""
        for _, key, found in self._documents((("", key) for key in keys), None):
            for name in _entry_names(key, found.item):
                if name not in keep:
                    self._delete_versions(name, [name])

    def _delete_versions(self, prefix: str, doomed: Collection[str]) -> None:
        """Delete all versions of the objects `doomed`, whose names have `prefix`."""
        # All are listed before the first is deleted: a page begins after the last version of the one before.
        pages = self._pages("list_object_versions", prefix)
        found = [each for page in pages for each in page if each["Key"] in doomed]
        self._delete_objects([{name: each[name] for name in ("Key", "VersionId")} for each in found])

    def _delete(self, doomed: Iterable[str]) -> None:
        self._delete_objects([{"Key": name} for name in doomed])

    def _delete_objects(self, objects: list[dict[str, str]]) -> None:
        for first in range(0, len(objects), DELETED_AT_ONCE):
            doomed: Any = {"Objects": objects[first : first + DELETED_AT_ONCE], "Quiet": True}
            try:
                refused = self.client().delete_objects(Bucket=self.bucket, Delete=doomed)
            except call_errors() as error:
                raise store_error(f"DeleteObjects {self.place}", error) from error
            for each in refused.get("Errors", ()):
                raise StoreError(f"DeleteObjects {self.place}/{each['Key']}: {each['Code']}: {each['Message']}")


def _entry_names(key: Key, item: Item) -> tuple[str, ...]:
    """Return the name of the index entry of the item at `key`, if it has one."""
    return (names.entry_name(str(item[PARTITION]), str(item[PLACE]), key),) if PARTITION in item else ()


def _content(document: Document) -> bytes:
    return to_ascii(document.to_json(), is_compact=True).encode()


def _additions(set_name: str, found: Iterable[str]) -> tuple[str, ...]:
    """Return the names among `found` of the additions to one set, and to none whose name begins with its name."""
    return tuple(name for name in found if name.startswith(f"{set_name}/"))
