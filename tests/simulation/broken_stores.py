"""Stores that break one promise of their contract each, for planted mistakes."""

from collections.abc import Iterable

from unum_runtime.model.checkpoint import Item
from unum_runtime.model.naming import Key
from unum_simulator.simulated_store import SimulatedStore


class CountingStore(SimulatedStore):
    """Counts how often something was added, instead of keeping what."""

    def add(self, key: Key, *members: int, expires_at_s: int) -> frozenset[int]:
        present, _ = self._sets.get(key, (frozenset[int](), 0))
        counted = range(len(present), len(present) + len(members))
        return super().add(key, *counted, expires_at_s=expires_at_s)


class TransitionStore(SimulatedStore):
    """Tells of a full set only whoever fills it."""

    def add(self, key: Key, *members: int, expires_at_s: int) -> frozenset[int]:
        present, _ = self._sets.get(key, (frozenset[int](), 0))
        grown = super().add(key, *members, expires_at_s=expires_at_s)
        return frozenset() if present.issuperset(members) else grown


class OverwritingStore(SimulatedStore):
    """Creates without a condition."""

    def create(self, key: Key, item: Item, *, expires_at_s: int) -> Item | None:
        self._items.pop(key, None)
        return super().create(key, item, expires_at_s=expires_at_s)


class HalfReadingStore(SimulatedStore):
    """Takes keys that a batch did not process for absent ones."""

    def read(self, keys: Iterable[Key]) -> dict[Key, Item]:
        wanted = list(keys)
        return super().read(wanted[1:] if len(wanted) > 1 else wanted)


class DeletingStore(SimulatedStore):
    """Collects without leaving a tombstone."""

    def collect(self, keys: Iterable[Key]) -> None:
        for key in keys:
            self._items.pop(key, None)
            self._sets.pop(key, None)
