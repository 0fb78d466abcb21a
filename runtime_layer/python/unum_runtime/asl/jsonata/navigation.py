"""Recursive access to nested fields and values, counting work.

An array may contain one array many times, so the values within it may be far more than its size tells.
"""

from collections.abc import Iterator
from typing import Any

from unum_runtime.asl.jsonata.evaluation_limits import COPY, MAX_ITEMS, VISIT, check_size, current
from unum_runtime.asl.jsonata.library import Utils


def lookup(value: Any, key: str) -> Any:
    """Return field `key`, searching nested arrays; None means undefined."""
    if isinstance(value, dict):
        return _field(value, key)
    if not isinstance(value, list):
        return None
    result = Utils.create_sequence()
    for item in _within(value):
        found = _field(item, key) if isinstance(item, dict) else None
        if isinstance(found, list):
            check_size(len(result) + len(found), MAX_ITEMS, "items")
            current().spend(COPY * len(found))
            result.extend(found)
        elif found is not None:
            result.append(found)
    return result


def _field(value: dict[str, Any], key: str) -> Any:
    found = value.get(key)
    return Utils.NULL_VALUE if found is None and key in value else found


def flatten(value: list[Any], into: list[Any]) -> None:
    """Append nested scalar and object values to `into`."""
    for item in _within(value):
        into.append(item)
        check_size(len(into), MAX_ITEMS, "items")


def keys(value: Any) -> Any:
    """Return field names, searching nested arrays."""
    if isinstance(value, dict):
        current().spend(VISIT * len(value))
        return Utils.create_sequence_from_iter(value)
    if not isinstance(value, list):
        return Utils.create_sequence()
    found: dict[str, None] = {}
    for item in _within(value):
        if isinstance(item, dict):
            current().spend(VISIT * len(item))
            found.update(dict.fromkeys(item))
    return Utils.create_sequence_from_iter(found)


def spread(value: Any) -> Any:
    """Implement ``$spread``: an object for each field."""
    if not isinstance(value, list | dict):
        return value
    result = Utils.create_sequence()
    result.sequence = not isinstance(value, list) or not value  # the items of an array come together as by $append
    for item in _within(value) if isinstance(value, list) else (value,):
        if isinstance(item, dict):
            check_size(len(result) + len(item), MAX_ITEMS, "items")
            current().spend(VISIT * len(item))
            result.extend({name: inner} for name, inner in item.items())
        else:
            result.append(item)
    return result


def is_array_of_numbers(items: list[Any]) -> bool:
    """Return True if all items are finite numbers."""
    meter = current()
    known, answer = meter.indexes.get("numbers", (None, False))
    if known is not items:
        meter.spend(VISIT * len(items))
        answer = Utils.is_array_of_numbers(items)
        meter.indexes["numbers"] = items, answer
    return bool(answer)


def _within(items: list[Any]) -> Iterator[Any]:
    """Yield leaf values, in order, from nested arrays."""
    meter, todo = current(), [iter(items)]
    meter.spend(VISIT * len(items))
    while todo:
        for item in todo[-1]:
            if isinstance(item, list):
                meter.spend(VISIT * len(item))
                todo.append(iter(item))
                break
            yield item
        else:
            todo.pop()
