"""Items with texts of any size: large or expensive texts become separate objects.

The item then has a reference to the object, under the attribute's name plus `REFERENCE`. Only this module writes and
resolves references. Objects are written before the item that refers to them, so a stored reference always resolves. The
loser of a create leaves its object to expire, because the winner's item may refer to the same object.

An object's name contains its execution and the hash of its content. So the name alone is a complete reference, readers
can verify the content, and repeated writes of one text produce one object.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from unum_runtime.cold_start.digest import sha256
from unum_runtime.cold_start.records import dataclass, field, replace
from unum_runtime.errors import StoreError
from unum_runtime.model.checkpoint import REFERENCE, VALUES, Item
from unum_runtime.model.naming import Key, object_folder
from unum_runtime.store.base import Objects, Store

if TYPE_CHECKING:
    from unum_runtime.store.erasable import ErasableStore

LEAST_BYTES = 10_000
"""Smallest text, in bytes, that costs less as an object than in an item: items are billed by the KB, objects by the
request. `unum_compiler.cost.estimate.least_object_bytes` computes it from the list prices."""

MAX_EVENT_BYTES = 1_000_000
"""Maximum asynchronous payload. Source: AWS Lambda Developer Guide, "Lambda quotas"."""

DAY_S = 86_400


def object_lifetime_days(retention_s: int) -> int:
    """Return the lifetime of objects, in days, for items kept for `retention_s` seconds."""
    # One day more than the items: a delivery may write the item minutes after the object that it refers to.
    return -(-retention_s // DAY_S) + 1


@dataclass(frozen=True)
class LargeItems:
    """Store of items with texts of any size, for one workflow and one delivery.

    Attributes:
        store: store of the items.
        objects: store of the large texts.
        workflow: name of the workflow.
        least_bytes: smallest text that becomes an object, in UTF-8 bytes.
        event_bytes: largest event, in bytes.
        looks: True to look for an item before an object is written for it, see `looking`.
    """

    store: Store
    objects: Objects
    workflow: str
    least_bytes: int = LEAST_BYTES
    event_bytes: int = MAX_EVENT_BYTES
    looks: bool = False
    _written: set[str] = field(default_factory=set, repr=False, compare=False)

    def in_delivery(self) -> "LargeItems":
        """Return a copy for another delivery."""
        # It writes objects again: those of an earlier delivery expire earlier than the items of this one.
        return replace(self, _written=set())

    def looking(self) -> "LargeItems":
        """Return a copy for an event that may be late, and whose outcome nobody has read."""
        # If its execution was deleted, an object would bring data back, and functions cannot delete it.
        return replace(self, looks=True)

    def create(self, key: Key, item: Item, *, expires_at_s: int) -> Item | None:
        """See `Store.create`."""
        small, objects = self.split(key, item)
        if objects and self.looks and (found := self.read([key]).get(key)) is not None:
            return found
        for name, content in objects.items():
            self._put(name, content)
        winner = self.store.create(key, small, expires_at_s=expires_at_s)
        return None if winner is None else self._with_texts({key: winner})[key]

    def read(self, keys: Iterable[Key]) -> dict[Key, Item]:
        """See `Store.read`."""
        return self._with_texts(self.store.read(keys))

    def query(self, partition: str, *, newest: int | None = None) -> dict[Key, Item]:
        """See `Store.query`."""
        return self._with_texts(self.store.query(partition, newest=newest))

    def collect(self, keys: Iterable[Key]) -> None:
        """See `Store.collect`; objects stay until expiry, because other items may refer to them."""
        self.store.collect(keys)

    def extend(self, key: Key, item: Item, *, unless: str, expires_at_s: int) -> tuple[bool, Item]:
        """See `Store.extend`; added attributes are always small."""
        return self.store.extend(key, item, unless=unless, expires_at_s=expires_at_s)

    def add(self, key: Key, *members: int, expires_at_s: int) -> frozenset[int]:
        """See `Store.add`."""
        return self.store.add(key, *members, expires_at_s=expires_at_s)

    def acquire(self, key: Key, owner: str, *, expires_at_ms: int) -> str:
        """See `Store.acquire`."""
        return self.store.acquire(key, owner, expires_at_ms=expires_at_ms)

    def renew(self, key: Key, owner: str, *, expires_at_ms: int) -> bool:
        """See `Store.renew`."""
        return self.store.renew(key, owner, expires_at_ms=expires_at_ms)

    def release(self, key: Key, owner: str) -> None:
        """See `Store.release`."""
        self.store.release(key, owner)

    def replace(self, key: Key, item: Item, *, expires_at_s: int) -> None:
        """See `ErasableStore.replace`."""
        small, contents = self.split(key, item)
        for name, content in contents.items():
            self._put(name, content)
        # No cast, which would load the module `typing` in every cold start.
        store: ErasableStore = self.store  # type: ignore[assignment]
        store.replace(key, small, expires_at_s=expires_at_s)

    def store_text(self, partition: str, text: str) -> str:
        """Store `text` as an object of the execution with partition key `partition`; return the reference.

        Raises:
            StoreError: the object store did not answer.
        """
        content = text.encode()
        name = self._name(partition, content)
        self._put(name, content)
        return name

    def read_texts(self, references: Iterable[str]) -> dict[str, str]:
        """See the function `read_texts`."""
        return read_texts(references, self.objects.get)

    def split(self, key: Key, item: Item) -> tuple[Item, dict[str, bytes]]:
        """Return `item` with references in place of large texts, and the contents of the objects by name."""
        texts = {name: str(item[name]) for name in VALUES if name in item}
        large = {name: text.encode() for name, text in texts.items() if self._is_large(text)}
        if not large:
            return item, {}
        names = {name: self._name(key.partition, content) for name, content in large.items()}
        rest = {name: value for name, value in item.items() if name not in large}
        small = rest | {f"{name}{REFERENCE}": reference for name, reference in names.items()}
        return small, {names[name]: content for name, content in large.items()}

    def _put(self, name: str, content: bytes) -> None:
        if name not in self._written:
            self.objects.put(name, content)
            self._written.add(name)

    def _name(self, partition: str, content: bytes) -> str:
        return f"{object_folder(self.workflow, partition)}/{_digest(content)}"

    def _with_texts(self, items: Mapping[Key, Item]) -> dict[Key, Item]:
        """Return `items` with texts in place of references; read all objects together."""
        texts = self.read_texts(reference for item in items.values() for _, reference in references(item))
        return {key: _replace_references(item, texts) for key, item in items.items()} if texts else dict(items)

    def _is_large(self, text: str) -> bool:
        # A character has at most 4 bytes in UTF-8, so most texts need no encoding to be found small.
        return 4 * len(text) >= self.least_bytes and len(text.encode()) >= self.least_bytes


def references(item: Item) -> list[tuple[str, str]]:
    """Return attribute and object name of every reference in a stored item."""
    return [(name.removesuffix(REFERENCE), str(value)) for name, value in item.items() if name.endswith(REFERENCE)]


def resolve(item: Item, get: Callable[[Iterable[str]], Mapping[str, bytes]]) -> Item:
    """Return a stored `item` with texts in place of references; see `read_texts`."""
    return _replace_references(item, read_texts((reference for _, reference in references(item)), get))


def read_texts(references: Iterable[str], get: Callable[[Iterable[str]], Mapping[str, bytes]]) -> dict[str, str]:
    """Return the texts by reference, read with `get` of `Objects`.

    Raises:
        StoreError: an object is missing or has other content, or the object store did not answer.
    """
    names = list(dict.fromkeys(references))
    found = get(names) if names else {}
    return {name: _verify(name, found.get(name)) for name in names}


def _replace_references(item: Item, texts: Mapping[str, str]) -> Item:
    rest = {name: value for name, value in item.items() if not name.endswith(REFERENCE)}
    return rest | {name: texts[reference] for name, reference in references(item)}


def _digest(content: bytes) -> str:
    return sha256(content)


def _verify(name: str, content: bytes | None) -> str:
    if content is None:
        raise StoreError(f"object {name}: expected content, got none, although an item refers to it; was it deleted?")
    if _digest(content) != name.rpartition("/")[2]:
        raise StoreError(f"object {name}: expected content with the SHA-256 in its name, got {_digest(content)}")
    return content.decode()
