"""Packs, items with the small results of several branches: one write commits and completes a branch.

A pack has a slot for each of its branches, which is filled once with the end of the branch: a result in the pack; a
result in a checkpoint that was set aside before; or a checkpoint that counts by itself. An outcome that was set aside
counts only if the pack refers to it: the pack alone decides the outcome of the branch.
"""

from unum_runtime.model.checkpoint import PACKED_VALUES, TOMBSTONE, Checkpoint, Item, Phase, Success
from unum_runtime.model.naming import PACK_SIZE, Execution, Key, Name, aside_key, is_aside, key_in_shard, pack_at

MAX_ENTRY_BYTES = 120
"""Largest entry of a pack with its metadata: `PACK_SIZE` entries fit into one write unit."""

ENDS = tuple(f"e{slot}" for slot in range(PACK_SIZE))
"""Attributes with the ends of branches, by slot."""

STATE = "state"
"""Attribute with the state of all entries that name none."""

COUNTS, FAILS = "+", "-"

_DELIVERIES = tuple(f"d{slot}" for slot in range(PACK_SIZE))
"""Attributes with the records of deliveries, by slot."""

_FUSED = "f"
"""Suffix of the attempt's number for an outcome that was committed without an invocation of its own."""


def packed(checkpoint: Checkpoint, slot: int, state: str) -> Item | None:
    """Return a pack's attributes for a branch's last `checkpoint`; None above the size limit.

    Args:
        checkpoint: last checkpoint of the branch.
        slot: slot of the branch.
        state: state that the pack names.
    """
    if not isinstance(checkpoint.outcome, Success) or checkpoint.continuation.to_item():
        return None
    # Text in place of attributes, and the time since the start in place of the time: in 120 bytes for an entry, names
    # of attributes and thirteen digits would leave little room for the result.
    after_ms = checkpoint.committed_ms - checkpoint.name.execution.started_ms
    facts = (
        f"{checkpoint.name.step} {after_ms} {checkpoint.duration_ms} {checkpoint.attempt}{_FUSED * checkpoint.fused}"
    )
    if checkpoint.state != state:
        facts += f" {checkpoint.state}"
    value = checkpoint.outcome.text
    left = MAX_ENTRY_BYTES - len(facts.encode()) - len(value.encode())
    if left < 0:
        return None
    item: Item = {ENDS[slot]: facts, PACKED_VALUES[slot]: value}
    # The record of the delivery gives way to the result: a second write unit would cost more than it tells.
    record = checkpoint.delivery
    return item | {_DELIVERIES[slot]: record} if record and len(record.encode()) <= left else item


def marked(slot: int, *, counts: bool, aside: Name | None = None) -> Item:
    """Return a pack's attribute for a branch that ended with a checkpoint elsewhere.

    Args:
        slot: slot of the branch.
        counts: the branch counts as completed.
        aside: invocation of the outcome that was set aside; None for a checkpoint that counts by itself.
    """
    return {ENDS[slot]: (COUNTS if counts else FAILS) + ("" if aside is None else str(aside.step))}


def is_full(pack: Item, size: int) -> bool:
    """Return True if all `size` branches of `pack` count as completed."""
    ends = (str(pack.get(end, FAILS)) for end in ENDS[:size])
    return not any(end.startswith(FAILS) for end in ends)


def unpacked(items: dict[Key, Item], execution: Execution) -> dict[Key, Item]:
    """Return the checkpoints among all `items` of a shard's partition by their invocations' keys, in key order."""
    found: dict[Key, Item] = {}
    for key, item in items.items():
        if pack_at(key) is not None:
            # An entry without its value was set aside before. No entry refers to other items that were set aside: a
            # delivery that lost against another one wrote them, and they must not count.
            own = (entry(key, item, slot, execution) for slot in range(PACK_SIZE))
            for checkpoint, value in filter(None, own):
                outcome = items.get(aside_key(checkpoint)) if value is None else value
                found |= {} if outcome is None else {checkpoint: outcome}
        elif not is_aside(key):
            found[key] = item
    return dict(sorted(found.items()))


def entry(key: Key, pack: Item, slot: int, execution: Execution) -> tuple[Key, Item | None] | None:
    """Return the key of a branch's last invocation and its checkpoint's item, from the pack at `key`.

    Returns:
        None as the item if it was set aside; None if the pack has no outcome of the branch.
    """
    end, place = str(pack.get(ENDS[slot], COUNTS)), pack_at(key)
    if place is None or end in (COUNTS, FAILS):
        return None
    first, digest = place
    if end[0] in (COUNTS, FAILS):
        return key_in_shard(key.partition, first + slot, int(end[1:])), None
    step, after_ms, duration_ms, attempt, *state = end.split(" ", 4)
    value = PACKED_VALUES[slot]
    return key_in_shard(key.partition, first + slot, int(step)), {
        "state": state[0] if state else pack[STATE],
        "phase": Phase.LEFT,
        "ir": digest,
        "at": execution.started_ms + int(after_ms),
        "ms": int(duration_ms),
        "attempt": int(attempt.removesuffix(_FUSED)),
        "packed": 1,
        **({"fused": 1} if attempt.endswith(_FUSED) else {}),
        **({"dlv": pack[_DELIVERIES[slot]]} if _DELIVERIES[slot] in pack else {}),
        **({"value": pack[value]} if value in pack else {TOMBSTONE: 1}),
    }
