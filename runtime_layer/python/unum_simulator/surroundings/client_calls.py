"""Behaviour of the AWS client in one call of the store: reads in several requests, and writes that it repeats.

Source: Amazon DynamoDB API Reference, "BatchGetItem" (no isolation between items) and "Query" (pages).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from unum_runtime.model.checkpoint import Item
from unum_runtime.model.naming import Key
from unum_runtime.store.base import Store
from unum_simulator.recorded_calls import Operation, Primitive

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
