"""Sources of a Map's items, ``Map.Item.Source`` of the context object, and batches of items.

Source: Step Functions Developer Guide, "Accessing execution data from the Context object", data for Map states;
specification, "Batching Items".
"""

from collections.abc import Iterable, Iterator
from itertools import groupby, repeat
from typing import Any

from unum_runtime.asl.serialize import dumps
from unum_runtime.model.states import Json

STATE_DATA = "STATE_DATA"
"""Source of items from the state's input."""

MOST_BYTES = 256 * 1024
"""Maximum JSON text of a batch. Source: Step Functions Developer Guide, "ItemBatcher"."""

_ENVELOPE: dict[str, Json] = {"Items": []}


class ObjectField(dict[str, "Json"]):
    """Item that is a field of a JSON object, with its ``Key`` and its ``Value``."""


def read_value(items: Iterable[tuple[str, Json]], *, has_sources: bool) -> Json:
    """Return pairs of source and item as one value.

    It is an array of items if nothing else is to be told. Otherwise, it is an object with ``Items``, with the runs of
    equal ``Sources`` and their lengths, and with those of ``Fields``: True for items that are fields of an object.
    """
    pairs = list(items)
    found: list[Json] = [item for _, item in pairs]
    kinds = [isinstance(item, ObjectField) for item in found]
    fields = {"Fields": _runs(kinds)} if any(kinds) else {}
    sources = {"Sources": _runs([source for source, _ in pairs])} if has_sources else {}
    return {"Items": found, **sources, **fields} if sources or fields else found


def _runs(values: list[Json]) -> list[Json]:
    return [[value, sum(1 for _ in run)] for value, run in groupby(values)]


def state_items(found: Json, *, takes_objects: bool) -> list[dict[str, Json]] | None:
    """Return items in the state's input, in the form of ``Map.Item`` without ``Index``; None if `found` has none.

    The items of an object are its fields. The Developer Guide ("ItemsPath") allows objects in every Map, but Step
    Functions was observed to fail in an inline Map, not in a distributed one.
    """
    if isinstance(found, list):
        return [{"Value": value, "Source": STATE_DATA} for value in found]
    if takes_objects and isinstance(found, dict):
        return [{"Key": key, "Value": value, "Source": STATE_DATA} for key, value in found.items()]
    return None


def item_fields(read: Json) -> list[dict[str, Json]]:
    """Return items that a reader has read, in the form of ``Map.Item`` without ``Index``.

    Args:
        read: value of `read_value`.
    """
    if isinstance(read, list):
        return [{"Value": item} for item in read]
    items = read["Items"]
    is_field = _each(read["Fields"]) if "Fields" in read else repeat(None, len(items))
    found = [dict(item) if own else {"Value": item} for item, own in zip(items, is_field, strict=True)]
    if "Sources" not in read:
        return found
    return [{**item, "Source": source} for item, source in zip(found, _each(read["Sources"]), strict=True)]


def plain_item(item: dict[str, Json]) -> Json:
    """Return the branch input without ``ItemSelector``: the value, or the pair of key and value."""
    return {"Key": item["Key"], "Value": item["Value"]} if "Key" in item else item["Value"]


def _each(runs: Iterable[tuple[Any, int]]) -> Iterator[Any]:
    for value, length in runs:
        yield from [value] * length


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
