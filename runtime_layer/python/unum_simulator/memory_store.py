"""Store and objects in memory for tests and `unum run`; the reference implementation of both contracts."""

import threading
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from itertools import islice

from unum_runtime.clock import Clock, SystemClock
from unum_runtime.errors import StoreError
from unum_runtime.model.checkpoint import MEMBERS, OUTCOME, TOMBSTONE, Item
from unum_runtime.model.list_index import FIRST, LAST, PARTITION, PLACE
from unum_runtime.model.naming import Key
from unum_runtime.store.base import MAX_ITEM_BYTES


@dataclass
class MemoryStore:
    """Store in dictionaries behind one lock.

    Attributes:
        clock: current time for expiry checks.
    """

    clock: Clock = field(default_factory=SystemClock)
    _items: dict[Key, tuple[Item, int]] = field(default_factory=dict)
    _sets: dict[Key, tuple[frozenset[int], int]] = field(default_factory=dict)
    _leases: dict[Key, tuple[str, int]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def create(self, key: Key, item: Item, *, expires_at_s: int) -> Item | None:
        """See `Store.create`."""
        _check_size("create", key, item)
        with self._lock:
            present = self._live(key)
            if present is not None:
                return dict(present)
            self._items[key] = (dict(item), expires_at_s)
            return None

    def read(self, keys: Iterable[Key]) -> dict[Key, Item]:
        """See `Store.read`."""
        with self._lock:
            found = {key: self._set_item(key) if key in self._sets else self._live(key) for key in keys}
        return {key: dict(item) for key, item in found.items() if item is not None}

    def kept_items(self, partition: str) -> dict[Key, tuple[Item, int]]:
        """Return all items of `partition`, expired or not, each with its expiry, in seconds since 1970."""
        with self._lock:
            return {key: (dict(item), at_s) for key, (item, at_s) in self._items.items() if key.partition == partition}

    def query(self, partition: str, *, newest: int | None = None) -> dict[Key, Item]:
        """See `Store.query`."""
        with self._lock:
            keys = sorted(key for key in self._items if key.partition == partition and self._live(key) is not None)
            chosen = keys if newest is None else keys[::-1][:newest]
            return {key: dict(self._items[key][0]) for key in chosen}

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
        with self._lock:
            found = {key: dict(item) for key in self._items if (item := self._live(key)) is not None}
        listed = {key: item for key, item in found.items() if item.get(PARTITION) == partition and PLACE in item}
        chosen = [key for key, item in listed.items() if oldest <= str(item[PLACE]) <= newest]
        chosen.sort(key=lambda key: str(listed[key][PLACE]), reverse=not oldest_first)
        return {key: listed[key] for key in chosen[:limit]}

    def collect(self, keys: Iterable[Key]) -> None:
        """See `Store.collect`."""
        with self._lock:
            for key in keys:
                if key in self._sets:
                    self._sets[key] = (frozenset(), self._sets[key][1])  # empty but present: reads as a tombstone
                item = self._live(key)
                if item is not None:
                    left = {name: value for name, value in item.items() if name not in OUTCOME}
                    self._items[key] = ({**left, TOMBSTONE: 1}, self._items[key][1])

    def extend(self, key: Key, item: Item, *, unless: str, expires_at_s: int) -> tuple[bool, Item]:
        """See `Store.extend`."""
        with self._lock:
            present = self._live(key) or {}
            if unless in present:
                return False, dict(present)
            extended = present | item
            _check_size("extend", key, extended)
            self._items[key] = (extended, expires_at_s)
            return True, dict(extended)

    def add(self, key: Key, *members: int, expires_at_s: int) -> frozenset[int]:
        """See `Store.add`."""
        with self._lock:
            present, expiry = self._sets.get(key, (frozenset[int](), expires_at_s))
            grown = frozenset(members) if self._has_expired(expiry) else present | {*members}
            self._sets[key] = (grown, expires_at_s)
            return grown

    def acquire(self, key: Key, owner: str, *, expires_at_ms: int) -> str:
        """See `Store.acquire`."""
        with self._lock:
            present = self._owner(key)
            if present not in (None, owner):
                return present
            self._leases[key] = (owner, expires_at_ms)
            return owner

    def renew(self, key: Key, owner: str, *, expires_at_ms: int) -> bool:
        """See `Store.renew`."""
        with self._lock:
            if self._owner(key) != owner:
                return False
            self._leases[key] = (owner, expires_at_ms)
            return True

    def release(self, key: Key, owner: str) -> None:
        """See `Store.release`."""
        with self._lock:
            if self._owner(key) == owner:
                del self._leases[key]

    def replace(self, key: Key, item: Item, *, expires_at_s: int) -> None:
        """See `ErasableStore.replace`."""
        _check_size("replace", key, item)
        with self._lock:
            self._sets.pop(key, None)
            self._items[key] = (dict(item), expires_at_s)

    def page(self, partition: str, *, before: str, limit: int) -> dict[Key, Item]:
        """See `ErasableStore.page`."""
        found = self.query(partition, newest=len(self._items))
        return dict(islice(((key, item) for key, item in found.items() if key.sort < before), limit))

    def erase(self, partition: str, *, keep: Collection[str] = ()) -> int:
        """See `ErasableStore.erase`."""
        with self._lock:
            kept = (self._items, self._sets, self._leases)
            gone = {key for each in kept for key in each if key.partition == partition and key.sort not in keep}
            for key in gone:
                self._items.pop(key, None)
                self._sets.pop(key, None)
                self._leases.pop(key, None)
        return len(gone)

    def _owner(self, key: Key) -> str | None:
        owner, expires_at_ms = self._leases.get(key, (None, 0))
        return owner if self.clock.now_ms() < expires_at_ms else None

    def _live(self, key: Key) -> Item | None:
        item, expires_at_s = self._items.get(key, (None, 0))
        return None if item is None or self._has_expired(expires_at_s) else item

    def _set_item(self, key: Key) -> Item | None:
        """Return a set as an item, as in `read`; None if expired."""
        members, expires_at_s = self._sets[key]
        if self._has_expired(expires_at_s):
            return None
        return {MEMBERS: len(members)} if members else {TOMBSTONE: 1}

    def _has_expired(self, expires_at_s: int) -> bool:
        return expires_at_s * 1000 <= self.clock.now_ms()


def _check_size(operation: str, key: Key, item: Item) -> None:
    # As DynamoDB counts: UTF-8 bytes of names and values. Numbers are shorter there, so this check is never too lax.
    size = sum(len(str(part).encode()) for part in (*key, *item.keys(), *item.values()))
    if size > MAX_ITEM_BYTES:
        raise StoreError(f"{operation} {key}: expected at most {MAX_ITEM_BYTES} bytes, got an item of {size}")


@dataclass
class MemoryObjects:
    """Objects in a dictionary behind a lock."""

    _contents: dict[str, bytes] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def put(self, name: str, content: bytes) -> None:
        """See `Objects.put`."""
        with self._lock:
            self._contents[name] = content

    def get(self, names: Iterable[str]) -> dict[str, bytes]:
        """See `Objects.get`."""
        with self._lock:
            return {name: self._contents[name] for name in names if name in self._contents}

    def erase_folder(self, folder: str) -> None:
        """See `ErasableObjects.erase_folder`."""
        with self._lock:
            for name in [each for each in self._contents if each.startswith(f"{folder}/")]:
                del self._contents[name]
