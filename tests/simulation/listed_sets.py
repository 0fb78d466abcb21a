"""Sets as logs of additions, each written and then listed, as in S3: other deliveries come in between."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from unum_runtime.model.checkpoint import MEMBERS, Item
from unum_runtime.model.naming import Key
from unum_runtime.store.base import Objects, Store
from unum_simulator.scenario import Scenario


class ListedSets:
    """A store whose sets are items of `store`, one for each addition."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __getattr__(self, primitive: str) -> Any:
        return getattr(self._store, primitive)

    def add(self, key: Key, *members: int, expires_at_s: int) -> frozenset[int]:
        """Write an addition, then list them all, then mark the set for readers."""
        self._write(key, members, expires_at_s)
        found = self._list(key)
        self._store.create(key, {"set": 1}, expires_at_s=expires_at_s)
        return found

    def read(self, keys: Iterable[Key]) -> dict[Key, Item]:
        """Return items, and the sizes of sets that are marked."""
        found = self._store.read(keys)
        return {key: {MEMBERS: len(self._list(key))} if "set" in item else item for key, item in found.items()}

    def _write(self, key: Key, members: Iterable[int], expires_at_s: int) -> None:
        for member in members:
            self._store.create(Key(_log(key), f"{member:09d}"), {"at": 0}, expires_at_s=expires_at_s)

    def _list(self, key: Key) -> frozenset[int]:
        return frozenset(int(each.sort) for each in self._store.query(_log(key)))


class ListedBefore(ListedSets):
    """Lists before it writes: of the last two, neither may see the other."""

    def add(self, key: Key, *members: int, expires_at_s: int) -> frozenset[int]:
        found = self._list(key)
        self._write(key, members, expires_at_s)
        return found.union(members)


def _log(key: Key) -> str:
    return f"{key.partition}/={key.sort}"


@dataclass(frozen=True, kw_only=True, eq=False)
class ListedScenario(Scenario):
    """A scenario with such sets.

    Attributes:
        sets: kind of the sets.
    """

    sets: type[ListedSets] = ListedSets

    def protocol_store(self, store: Store, objects: Objects) -> Store:
        """See `Scenario.protocol_store`."""
        listed: Any = self.sets(super().protocol_store(store, objects))
        return listed
