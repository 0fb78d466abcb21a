"""A look: whether the outcome of an invocation is committed, and whether anybody still needs it, in one request."""

from typing import TypeAlias

from unum_runtime.model.checkpoint import Item
from unum_runtime.model.naming import Name, checkpoint_key, join_keys
from unum_runtime.protocol.fanout.packing import find_packed, place_of
from unum_runtime.protocol.runtime import Runtime

Seen: TypeAlias = tuple[Item | None, list[Item]]
"""The outcome, if there is one; and what the fan-outs around it came to, the execution's stop included."""


def look(rt: Runtime, name: Name, state: str) -> Seen:
    """What is to be seen of the invocation `name` of `state`.

    Raises:
        InconsistentHistory: its branch has ended otherwise.
        StoreError: the store could not be read.
    """
    place = place_of(rt.workflow, state, name)
    own = checkpoint_key(rt.workflow.name, name) if place is None else place.key
    around = join_keys(rt.workflow.name, name)
    items = rt.store.read([own, *around])
    if not items:
        return None, []
    found = items.get(own) if place is None else find_packed(rt, place, name, items.get(own))
    return found, [items[key] for key in around if key in items]
