"""Batches of Map items. Source: specification, "Batching Items"."""

from collections.abc import Iterable, Iterator

from unum_runtime.asl.serialize import dumps
from unum_runtime.model.states import Json

MOST_BYTES = 256 * 1024
"""Maximum JSON text of a batch. Source: Step Functions Developer Guide, "ItemBatcher"."""

_ENVELOPE: dict[str, Json] = {"Items": []}


def batches(
    items: Iterable[Json], *, most_items: float | None, most_bytes: float | None, extra: dict[str, Json]
) -> list[Json]:
    """Return branch inputs with maximal batches of consecutive `items`, at least one item each.

    Args:
        items: items to distribute.
        most_items: maximum items of a batch; None or 0 for no limit. Step Functions accepts 0, as reported in 2026,
            though the specification asks for a positive integer.
        most_bytes: maximum JSON text of a branch's input, in bytes; None or 0 for `MOST_BYTES`.
        extra: fields of every input besides ``Items``.
    """
    room = (most_bytes or MOST_BYTES) - _size(extra | _ENVELOPE)
    return [extra | {"Items": batch} for batch in _group(items, most_items or None, room)]


def _group(items: Iterable[Json], most_items: float | None, room: float) -> Iterator[list[Json]]:
    batch: list[Json] = []
    used = 0
    for item in items:
        size = _size(item) + len(",")
        is_full = len(batch) == most_items or used + size - len(",") > room
        # An item larger than a whole batch gets a batch of its own, as in Step Functions.
        if batch and is_full:
            yield batch
            batch, used = [], 0
        batch.append(item)
        used += size
    if batch:
        yield batch


def _size(value: Json) -> int:
    return len(dumps(value).encode())
