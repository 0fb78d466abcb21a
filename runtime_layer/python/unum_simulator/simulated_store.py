"""An in-memory store that the simulation can copy, compare and inspect."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Self

from unum_runtime.clock import Clock
from unum_runtime.json_text import to_ascii
from unum_runtime.model.checkpoint import OUTCOME
from unum_runtime.model.naming import Key
from unum_runtime.model.states import Json
from unum_runtime.protocol.runtime import DEFAULT_RETENTION_S
from unum_runtime.store.large_items import DAY_S, object_lifetime_days
from unum_runtime.store.memory import MemoryStore

OUTCOME_FIELDS = frozenset(OUTCOME)


@dataclass
class SimulatedStore(MemoryStore):
    """A memory store with items and objects.

    Attributes:
        lasting_s: lifetime of an object after its last write, in seconds.
        announced: entries of status events, as text.
    """

    lasting_s: int = object_lifetime_days(DEFAULT_RETENTION_S) * DAY_S
    announced: frozenset[str] = frozenset()
    _objects: dict[str, tuple[bytes, int]] = field(default_factory=dict)

    def announce(self, entry: Mapping[str, Json]) -> None:
        """Keep a status event: the bus shares the copies and the digest of the store."""
        self.announced |= {to_ascii(entry, is_sorted=True)}

    def put(self, name: str, content: bytes) -> None:
        """See `Objects.put`."""
        self._objects[name] = (content, self.clock.now_ms() // 1000 + self.lasting_s)

    def get(self, names: Iterable[str]) -> dict[str, bytes]:
        """See `Objects.get`."""
        # S3's lifecycle rules delete expired objects; the store reports them as absent, like expired items.
        return {name: self._objects[name][0] for name in names if self.object_expiry(name)}

    def erase_folder(self, folder: str) -> None:
        """See `ErasableObjects.erase_folder`."""
        self._objects = {name: each for name, each in self._objects.items() if not name.startswith(f"{folder}/")}

    def object_expiry(self, name: str) -> int:
        """Return the object's expiry in seconds since 1970, or 0 for an absent object."""
        expires_at_s = self._objects.get(name, (b"", 0))[1]
        return 0 if self._has_expired(expires_at_s) else expires_at_s

    def copy(self, clock: Clock) -> Self:
        """Return a store with equal content and another clock."""
        # No constructor call: subclasses in tests have further arguments, and the search copies a store at
        # every move.
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.clock = clock
        other._items, other._sets = {**self._items}, {**self._sets}
        other._leases, other._objects = {**self._leases}, {**self._objects}
        return other

    def expiries(self) -> Iterator[tuple[Key, int]]:
        """Yield every present key with its expiry in seconds since 1970."""
        for kept in (self._items, self._sets):
            yield from ((key, expiry) for key, (_, expiry) in kept.items() if not self._has_expired(expiry))

    def uncollected(self) -> Iterator[Key]:
        """Yield every key with a stored outcome or a non-empty set."""
        for key, _ in self.expiries():
            if OUTCOME_FIELDS & self._items.get(key, ({}, 0))[0].keys() or self._sets.get(key, ((), 0))[0]:
                yield key

    def digest(self) -> int:
        """Return a hash of the content."""
        items = ((key, expiry, frozenset(item.items())) for key, (item, expiry) in self._items.items())
        kept = (self._sets, self._leases, self._objects)
        return hash((frozenset(items), self.announced, *(frozenset(each.items()) for each in kept)))
