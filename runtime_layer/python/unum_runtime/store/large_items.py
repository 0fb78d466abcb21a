"""Items with texts of any size: what is too large for an item, or too dear in one, is an object of its own.

In place of such a text the item has a reference, under the name of the text's attribute and `REFERENCE`. This is the
only place that writes and follows references, so nobody else has to know of them. An object is there before the item
that refers to it. Whoever loses a create leaves its object behind, to expire: it may be the winner's as well.

An object is named for its execution and by the hash of its content. So the name is all that a reference needs, whoever
reads can tell whether the content is the one that was meant, and the same text is stored once, however often a delivery
refers to it.
"""

from collections.abc import Callable, Iterable, Mapping

from unum_runtime.cold_start.digest import sha256
from unum_runtime.cold_start.records import dataclass, field, replace
from unum_runtime.errors import StoreError
from unum_runtime.model.checkpoint import REFERENCE, VALUES, Item
from unum_runtime.model.naming import Key, object_folder
from unum_runtime.store.base import Store
from unum_runtime.store.objects import Objects

LEAST_BYTES = 10_000
"""From how many bytes on a text is cheaper as an object: an item costs by the KB, an object by the request. It is what
`unum_compiler.cost.estimate.least_object_bytes` computes from the list prices."""

MAX_EVENT_BYTES = 1_000_000
"""The largest asynchronous payload. Source: AWS Lambda Developer Guide, "Lambda quotas"."""

DAY_S = 86_400


def object_lifetime_days(retention_s: int) -> int:
    """How many days objects have to last that items refer to which are kept for `retention_s` seconds.

    A day more than that, for a delivery may refer to an object some minutes after it has stored it.
    """
    return -(-retention_s // DAY_S) + 1


@dataclass(frozen=True)
class LargeItems:
    """A store whose items may have texts of any size, as one workflow sees it during one delivery.

    Attributes:
        store: keeps the items.
        objects: keeps their large texts.
        workflow: name of the workflow.
        least_bytes: from how many bytes on a text is an object, in UTF-8.
        event_bytes: how many bytes an event may have.
    """

    store: Store
    objects: Objects
    workflow: str
    least_bytes: int = LEAST_BYTES
    event_bytes: int = MAX_EVENT_BYTES
    _kept: set[str] = field(default_factory=set, repr=False, compare=False)

    def in_delivery(self) -> "LargeItems":
        """The same for another delivery, which stores objects anew: what an earlier one has stored expires earlier."""
        return replace(self, _kept=set())

    def create(self, key: Key, item: Item, *, expires_at_s: int) -> Item | None:
        """See `Store.create`."""
        small, objects = self.split(key, item)
        for name, content in objects.items():
            self._put(name, content)
        winner = self.store.create(key, small, expires_at_s=expires_at_s)
        return None if winner is None else self._whole({key: winner})[key]

    def read(self, keys: Iterable[Key]) -> dict[Key, Item]:
        """See `Store.read`."""
        return self._whole(self.store.read(keys))

    def query(self, partition: str, *, newest: int | None = None) -> dict[Key, Item]:
        """See `Store.query`."""
        return self._whole(self.store.query(partition, newest=newest))

    def collect(self, keys: Iterable[Key]) -> None:
        """See `Store.collect`; objects are left to expire, for other items may refer to them."""
        self.store.collect(keys)

    def extend(self, key: Key, item: Item, *, unless: str, expires_at_s: int) -> tuple[bool, Item]:
        """See `Store.extend`; what items are extended by is small."""
        return self.store.extend(key, item, unless=unless, expires_at_s=expires_at_s)

    def add(self, key: Key, member: int, *, expires_at_s: int) -> frozenset[int]:
        """See `Store.add`."""
        return self.store.add(key, member, expires_at_s=expires_at_s)

    def acquire(self, key: Key, owner: str, *, expires_at_ms: int) -> str:
        """See `Store.acquire`."""
        return self.store.acquire(key, owner, expires_at_ms=expires_at_ms)

    def renew(self, key: Key, owner: str, *, expires_at_ms: int) -> bool:
        """See `Store.renew`."""
        return self.store.renew(key, owner, expires_at_ms=expires_at_ms)

    def release(self, key: Key, owner: str) -> None:
        """See `Store.release`."""
        self.store.release(key, owner)

    def keep(self, partition: str, text: str) -> str:
        """Store `text` for the execution that has `partition`; the reference to it.

        Raises:
            StoreError: the objects did not answer.
        """
        content = text.encode()
        name = self._name(partition, content)
        self._put(name, content)
        return name

    def follow(self, references: Iterable[str]) -> dict[str, str]:
        """The texts that `references` stand for.

        Raises:
            StoreError: one is not there, or is not what was stored; or the objects did not answer.
        """
        return followed(references, self.objects.get)

    def split(self, key: Key, item: Item) -> tuple[Item, dict[str, bytes]]:
        """`item` as it is stored, and the contents of the objects that it refers to then."""
        texts = {name: str(item[name]) for name in VALUES if name in item}
        large = {name: text.encode() for name, text in texts.items() if self._is_large(text)}
        if not large:
            return item, {}
        names = {name: self._name(key.partition, content) for name, content in large.items()}
        rest = {name: value for name, value in item.items() if name not in large}
        small = rest | {f"{name}{REFERENCE}": reference for name, reference in names.items()}
        return small, {names[name]: content for name, content in large.items()}

    def _put(self, name: str, content: bytes) -> None:
        if name not in self._kept:
            self.objects.put(name, content)
            self._kept.add(name)

    def _name(self, partition: str, content: bytes) -> str:
        return f"{object_folder(self.workflow, partition)}/{_digest(content)}"

    def _whole(self, items: Mapping[Key, Item]) -> dict[Key, Item]:
        """`items` as they were before they were stored; all that they refer to is asked for at once."""
        texts = self.follow(reference for item in items.values() for _, reference in references(item))
        return {key: _with(texts, item) for key, item in items.items()} if texts else dict(items)

    def _is_large(self, text: str) -> bool:
        return 4 * len(text) >= self.least_bytes and len(text.encode()) >= self.least_bytes


def references(item: Item) -> list[tuple[str, str]]:
    """The references that a stored item has in place of texts: attribute and reference."""
    return [(name.removesuffix(REFERENCE), str(value)) for name, value in item.items() if name.endswith(REFERENCE)]


def resolved(item: Item, get: Callable[[Iterable[str]], Mapping[str, bytes]]) -> Item:
    """A stored `item` as it was before, by `get` of `Objects`.

    Raises:
        StoreError: see `followed`.
    """
    return _with(followed((reference for _, reference in references(item)), get), item)


def followed(references: Iterable[str], get: Callable[[Iterable[str]], Mapping[str, bytes]]) -> dict[str, str]:
    """The texts that `references` stand for, by `get` of `Objects`.

    Raises:
        StoreError: one is not there, or is not what was stored; or the objects did not answer.
    """
    names = list(dict.fromkeys(references))
    found = get(names) if names else {}
    return {name: _verified(name, found.get(name)) for name in names}


def _with(texts: Mapping[str, str], item: Item) -> Item:
    rest = {name: value for name, value in item.items() if not name.endswith(REFERENCE)}
    return rest | {name: texts[reference] for name, reference in references(item)}


def _digest(content: bytes) -> str:
    return sha256(content)


def _verified(name: str, content: bytes | None) -> str:
    if content is None:
        raise StoreError(f"object {name}: is not there, but something refers to it; was it deleted?")
    if _digest(content) != name.rpartition("/")[2]:
        raise StoreError(f"object {name}: expected content with the SHA-256 in its name, got {_digest(content)}")
    return content.decode()
