"""Read an invocation's outcome and its surrounding scopes' outcomes in one request."""

from typing import TypeAlias

from unum_runtime.model.checkpoint import Item
from unum_runtime.model.naming import Key, Name, checkpoint_key, join_keys
from unum_runtime.protocol.fanout.packing import find_packed, place_of
from unum_runtime.protocol.runtime import Runtime

Found: TypeAlias = tuple[Item | None, list[Item]]
"""An item, None if it is absent; and the outcomes of the scopes around it, or the execution's stop record."""


def read_outcome(rt: Runtime, name: Name, state: str) -> Found:
    """Return invocation `name`'s committed outcome, with outcomes of settled scopes around it.

    Raises:
        InconsistentHistory: the branch has ended with another invocation.
        StoreError: the store could not be read.
    """
    place = place_of(rt.workflow, state, name) if rt.workflow.small_results else None
    if place is None:
        return read_in_scopes(rt, checkpoint_key(rt.workflow.name, name), name)
    pack, settled = read_in_scopes(rt, place.key, name)
    return find_packed(rt, place, name, pack), settled


def read_in_scopes(rt: Runtime, key: Key, name: Name) -> Found:
    """Return the item at `key`, with outcomes of settled scopes around `name`.

    Raises:
        StoreError: the store could not be read.
    """
    around = join_keys(rt.workflow.name, name)
    # Strongly consistent: a delivery that starts after a commit always sees it, so a later duplicate runs no user code.
    items = rt.store.read([key, *around])
    return items.get(key), [items[each] for each in around if each in items]
