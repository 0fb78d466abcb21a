"""A store that counts the calls it is given, and passes them on."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from unum_runtime.model.checkpoint import Item
from unum_runtime.model.naming import Key
from unum_runtime.store.base import Store
from unum_simulator.memory_store import MemoryStore


@dataclass
class CountingStore:
    inner: Store = field(default_factory=MemoryStore)
    calls: Counter[str] = field(default_factory=Counter)
    keys_read: int = 0

    def create(self, key: Key, item: Item, *, expires_at_s: int) -> Item | None:
        self.calls["create"] += 1
        return self.inner.create(key, item, expires_at_s=expires_at_s)

    def read(self, keys: Iterable[Key]) -> dict[Key, Item]:
        self.calls["read"] += 1
        wanted = list(keys)
        self.keys_read += len(wanted)
        return self.inner.read(wanted)

    def query(self, partition: str, *, newest: int | None = None) -> dict[Key, Item]:
        self.calls["query"] += 1
        return self.inner.query(partition, newest=newest)

    def collect(self, keys: Iterable[Key]) -> None:
        self.calls["collect"] += 1
        self.inner.collect(keys)

    def extend(self, key: Key, item: Item, *, unless: str, expires_at_s: int) -> tuple[bool, Item]:
        self.calls["extend"] += 1
        return self.inner.extend(key, item, unless=unless, expires_at_s=expires_at_s)

    def add(self, key: Key, *members: int, expires_at_s: int) -> frozenset[int]:
        self.calls["add"] += 1
        return self.inner.add(key, *members, expires_at_s=expires_at_s)

    def acquire(self, key: Key, owner: str, *, expires_at_ms: int) -> str:
        self.calls["acquire"] += 1
        return self.inner.acquire(key, owner, expires_at_ms=expires_at_ms)

    def renew(self, key: Key, owner: str, *, expires_at_ms: int) -> bool:
        self.calls["renew"] += 1
        return self.inner.renew(key, owner, expires_at_ms=expires_at_ms)

    def release(self, key: Key, owner: str) -> None:
        self.calls["release"] += 1
        self.inner.release(key, owner)
