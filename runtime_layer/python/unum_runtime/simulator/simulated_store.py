"""The store in memory, with what a simulation needs beside the contract: copies, and a look at everything."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Self

from unum_runtime.clock import Clock
from unum_runtime.model.checkpoint import OUTCOME
from unum_runtime.model.naming import Key
from unum_runtime.protocol.runtime import DEFAULT_RETENTION_S
from unum_runtime.store.large_items import DAY_S, object_lifetime_days
from unum_runtime.store.memory import MemoryStore

OUTCOME_FIELDS = frozenset(OUTCOME)


@dataclass
class SimulatedStore(MemoryStore):
    """A memory store, with objects beside the items, that can be copied and compared.

    Attributes:
        lasting_s: how long an object lasts from when it was stored last, in seconds.
    """

    lasting_s: int = object_lifetime_days(DEFAULT_RETENTION_S) * DAY_S
    _objects: dict[str, tuple[bytes, int]] = field(default_factory=dict)

    def put(self, name: str, content: bytes) -> None:
        """See `Objects.put`."""
        self._objects[name] = (content, self.clock.now_ms() // 1000 + self.lasting_s)

    def get(self, names: Iterable[str]) -> dict[str, bytes]:
        """See `Objects.get`."""
        return {name: self._objects[name][0] for name in names if self.object_expiry(name)}

    def object_expiry(self, name: str) -> int:
        """From when on the object will be absent, in seconds since 1970; 0 if it is."""
        expires_at_s = self._objects.get(name, (b"", 0))[1]
        return 0 if self._passed(expires_at_s) else expires_at_s

    def copy(self, clock: Clock) -> Self:
        """The same content, under another clock."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.clock = clock
        other._items, other._sets = {**self._items}, {**self._sets}
        other._leases, other._objects = {**self._leases}, {**self._objects}
        return other

    def expiries(self) -> Iterator[tuple[Key, int]]:
        """Every key that is not absent, and from when on it will be, in seconds since 1970."""
        for kept in (self._items, self._sets):
            yield from ((key, expiry) for key, (_, expiry) in kept.items() if not self._passed(expiry))

    def uncollected(self) -> Iterator[Key]:
        """Every key at which an outcome is still kept, or a set that is not empty."""
        for key, _ in self.expiries():
            if OUTCOME_FIELDS & self._items.get(key, ({}, 0))[0].keys() or self._sets.get(key, ((), 0))[0]:
                yield key

    def digest(self) -> int:
        """A number that tells whether two stores have the same content."""
        items = ((key, expiry, frozenset(item.items())) for key, (item, expiry) in self._items.items())
        kept = (self._sets, self._leases, self._objects)
        return hash((frozenset(items), *(frozenset(each.items()) for each in kept)))
