"""The store in memory, with what a simulation needs beside the contract: copies, and a look at everything."""

from collections.abc import Iterator
from typing import Self

from unum_runtime.clock import Clock
from unum_runtime.model.checkpoint import OUTCOME
from unum_runtime.model.naming import Key
from unum_runtime.store.memory import MemoryStore

OUTCOME_FIELDS = frozenset(OUTCOME)


class SimulatedStore(MemoryStore):
    """A memory store that can be copied and compared."""

    def copy(self, clock: Clock) -> Self:
        """The same content, under another clock."""
        return type(self)(clock, dict(self._items), dict(self._sets), dict(self._leases))

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
        return hash((frozenset(items), frozenset(self._sets.items()), frozenset(self._leases.items())))
