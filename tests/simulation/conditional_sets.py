"""Sets that conditional writes replace, as in Cosmos DB: other deliveries come between each read and its write."""

from collections.abc import Iterator
from typing import Any

from tests.simulation.listed_sets import ListedSets
from unum_runtime.features.document_stores.conditional import ConditionalStore, Document
from unum_runtime.model.naming import Key
from unum_runtime.store.base import Store


class Versions(ConditionalStore):
    """A store whose documents are logs of versions in `store`: of two writes of one version, the first wins."""

    place = "versions"

    def __init__(self, store: Store) -> None:
        self._store, self.clock = store, self

    def now_ms(self) -> int:
        """Return a time at which nothing has expired."""
        return 0

    def get(self, key: Key) -> Document | None:
        for (_, version), item in self._store.query(_log(key), newest=1).items():
            return Document(1, {}, frozenset(map(int, str(item["members"]).split())), int(version))
        return None

    def put(self, key: Key, document: Document, *, replaces: Document | None) -> bool:
        version = replaces.version + 1 if replaces else 0
        item: Any = {"members": " ".join(map(str, document.members or ()))}
        return self._store.create(Key(_log(key), f"{version:09d}"), item, expires_at_s=document.deletable_at_s) is None

    def documents(self, partition: str, *_newest: Any, **_before: Any) -> Iterator[tuple[Key, Document]]:
        """Refuse: the protocol finds sets by their keys, and lists none."""
        raise AssertionError(f"{partition}: a set is listed")

    def listed(self, partition: str, *_places: str, **_how: Any) -> Iterator[tuple[Key, Document]]:
        """Refuse as well."""
        raise AssertionError(f"{partition}: a set is listed")


class LostUpdates(Versions):
    """Takes a lost write for one that has won."""

    def put(self, key: Key, document: Document, *, replaces: Document | None) -> bool:
        super().put(key, document, replaces=replaces)
        return True


class ConditionalSets(ListedSets):
    """A store whose sets are such documents, all else being in `store`."""

    versions: type[Versions] = Versions

    def add(self, key: Key, *members: int, expires_at_s: int) -> frozenset[int]:
        """Replace the set, and mark it for readers."""
        found = self.versions(self._store).add(key, *members, expires_at_s=expires_at_s)
        self._store.create(key, {"set": 1}, expires_at_s=expires_at_s)
        return found

    def _list(self, key: Key) -> frozenset[int]:
        found = self.versions(self._store).get(key)
        return found.members or frozenset() if found else frozenset()


class LosingSets(ConditionalSets):
    """Such sets with lost updates."""

    versions = LostUpdates


def _log(key: Key) -> str:
    return f"{key.partition}/={key.sort}"
