"""Sources of a Map's items: ``Map.Item.Source`` of the context object.

Source: Step Functions Developer Guide, "Accessing execution data from the Context object", data for Map states.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter

from unum_runtime.model.states import Json

STATE_DATA = "STATE_DATA"
"""Source of items from the state's input."""


def with_sources(items: Iterable[tuple[str, Json]]) -> dict[str, Json]:
    """Return pairs of source and item as one value: the items, and runs of equal sources with their lengths."""
    pairs = list(items)
    runs = [[source, sum(1 for _ in run)] for source, run in groupby(pairs, itemgetter(0))]
    return {"Items": [item for _, item in pairs], "Sources": runs}


def item_fields(read: Json) -> list[dict[str, Json]]:
    """Return items that a reader has read, in the form of ``Map.Item`` without ``Index``.

    Args:
        read: array of items, whose sources are not known, or the value of `with_sources`.
    """
    if isinstance(read, list):
        return [{"Value": item} for item in read]
    return [
        {"Value": item, "Source": source} for item, source in zip(read["Items"], _each(read["Sources"]), strict=True)
    ]


def plain_item(item: dict[str, Json]) -> Json:
    """Return the branch input without ``ItemSelector``: the value, or the pair of key and value."""
    return {"Key": item["Key"], "Value": item["Value"]} if "Key" in item else item["Value"]


def _each(runs: Iterable[tuple[str, int]]) -> Iterator[str]:
    for source, length in runs:
        yield from [source] * length
