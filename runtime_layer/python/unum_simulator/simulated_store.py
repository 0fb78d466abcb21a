"""An in-memory store that the simulation can copy, compare and inspect, and the AWS client's behaviour in its calls.

Source: Amazon DynamoDB API Reference, "BatchGetItem" (no isolation between items) and "Query" (pages).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Self, TypeAlias

from unum_runtime.clock import Clock
from unum_runtime.json_text import to_ascii
from unum_runtime.model.checkpoint import OUTCOME, Item
from unum_runtime.model.naming import Key
from unum_runtime.model.states import Json
from unum_runtime.protocol.runtime import DEFAULT_RETENTION_S
from unum_runtime.store.base import Store
from unum_runtime.store.large_items import DAY_S, object_lifetime_days
from unum_simulator.memory_store import MemoryStore
from unum_simulator.recorded_calls import Operation, Primitive

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


REPEATABLE = frozenset({Primitive.CREATE, Primitive.EXTEND})
"""Writes whose repetition meets their own effect as if another delivery had made it; all others are idempotent."""

MANY = 10**9

Items: TypeAlias = dict[Key, Item]


@dataclass(frozen=True, slots=True)
class FirstPart:
    """The first part of a split read; the second part is read at a later moment.

    Attributes:
        found: items of the first part.
        rest: keys of the second part; for a query, the last key of the first part.
    """

    found: Items
    rest: tuple[Key, ...]


def cuts(store: Store, operation: Operation) -> Iterator[int]:
    """Yield the ways to split a read: the number of items in the first part, negative if they are the last ones."""
    match operation.primitive:
        case Primitive.READ:
            size = len(operation.positional[0])
            yield from (cut for size_ in range(1, size) for cut in (size_, -size_))
        case Primitive.QUERY:
            # The last page may be full, so that another one follows, which is empty unless items came in between.
            yield from range(1, len(operation.on(store)) + 1)


def read_first(store: Store, operation: Operation, cut: int) -> FirstPart:
    """Return the first part of a read that is split at `cut`."""
    if operation.primitive is Primitive.QUERY:
        found: Items = operation.on(store)
        first = [*found][:cut]
        return FirstPart({key: found[key] for key in first}, (first[-1],))
    keys = operation.positional[0]
    now, later = (keys[:cut], keys[cut:]) if cut > 0 else (keys[cut:], keys[:cut])
    return FirstPart(store.read(now), later)


def read_rest(store: Store, operation: Operation, first: FirstPart) -> Items:
    """Return the whole answer of a split read, with the second part as of now."""
    if operation.primitive is Primitive.READ:
        return first.found | store.read(first.rest)
    newest: int | None = operation.named.get("newest")
    (last,) = first.rest
    found: Items = store.query(*operation.positional, newest=None if newest is None else MANY)
    following = [key for key in found if (key > last if newest is None else key < last)]
    return first.found | {key: found[key] for key in following[: None if newest is None else newest - len(first.found)]}
