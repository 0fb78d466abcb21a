"""Packs: items that hold the small results of several branches, so that one write commits and completes each.

A pack has a place for each of its branches, which is filled once, with how the branch ended: by a result that lies in
the pack; by one that has a checkpoint of its own, set aside before; or by a checkpoint that counts by itself. What is
set aside counts only if the pack says so: the pack alone decides what the branch came to.
"""

from unum_runtime.model.checkpoint import PACKED_VALUES, TOMBSTONE, Checkpoint, Item, Phase, Success
from unum_runtime.model.naming import PACK_SIZE, Execution, Key, Name, aside_key, is_aside, key_in_shard, pack_at

MAX_ENTRY_BYTES = 120
"""How large a result in a pack may be with what is said of it, so that `PACK_SIZE` of them make one write unit."""

ENDS = tuple(f"e{slot}" for slot in range(PACK_SIZE))
"""Attributes that say how branches ended, by their place."""

STATE = "state"
"""Attribute with the state whose results entries are that name none."""

COUNTS, FAILS = "+", "-"

_FUSED = "f"
"""Ends the number of the attempt where the outcome was committed without an invocation of its own."""


def packed(checkpoint: Checkpoint, slot: int, state: str) -> Item | None:
    """What a pack holds of a branch that ended with `checkpoint`; None where it has no room for that.

    Args:
        checkpoint: the last of its branch.
        slot: the branch's place.
        state: that the pack names.
    """
    if not isinstance(checkpoint.outcome, Success) or checkpoint.continuation.to_item():
        return None
    after_ms = checkpoint.committed_ms - checkpoint.name.execution.started_ms
    facts = (
        f"{checkpoint.name.step} {after_ms} {checkpoint.duration_ms} {checkpoint.attempt}{_FUSED * checkpoint.fused}"
    )
    if checkpoint.state != state:
        facts += f" {checkpoint.state}"
    value = checkpoint.outcome.text
    is_small = len(facts.encode()) + len(value.encode()) <= MAX_ENTRY_BYTES
    return {ENDS[slot]: facts, PACKED_VALUES[slot]: value} if is_small else None


def marked(slot: int, *, counts: bool, aside: Name | None = None) -> Item:
    """What a pack holds of a branch that ended with a checkpoint elsewhere.

    Args:
        slot: the branch's place.
        counts: whether the branch counts as completed.
        aside: the invocation whose outcome was set aside; None where the last checkpoint has a place of its own.
    """
    return {ENDS[slot]: (COUNTS if counts else FAILS) + ("" if aside is None else str(aside.step))}


def is_full(pack: Item, size: int) -> bool:
    """Whether all of the `size` branches of `pack` have ended, and count as completed."""
    ends = (str(pack.get(end, FAILS)) for end in ENDS[:size])
    return not any(end.startswith(FAILS) for end in ends)


def unpacked(items: dict[Key, Item], execution: Execution) -> dict[Key, Item]:
    """The checkpoints among all `items` of a shard's partition, each under its invocation's key, in their order."""
    found: dict[Key, Item] = {}
    for key, item in items.items():
        if pack_at(key) is not None:
            own = (entry(key, item, slot, execution) for slot in range(PACK_SIZE))
            for checkpoint, value in filter(None, own):
                outcome = items.get(aside_key(checkpoint)) if value is None else value
                found |= {} if outcome is None else {checkpoint: outcome}
        elif not is_aside(key):
            found[key] = item
    return dict(sorted(found.items()))


def entry(key: Key, pack: Item, slot: int, execution: Execution) -> tuple[Key, Item | None] | None:
    """What the pack at `key` says of a branch: the key of its last invocation, and the checkpoint's item.

    Returns:
        None as the item where that was set aside; None at all where the pack has no outcome of the branch.
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
        **({"value": pack[value]} if value in pack else {TOMBSTONE: 1}),
    }
