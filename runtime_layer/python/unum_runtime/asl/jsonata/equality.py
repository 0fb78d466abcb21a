"""Equality, order and truth of JSONata's values, in time that grows with their size. Each function counts its work.

Source: the reference implementation, JSONata 2.0.6. ``=`` and ``$distinct`` compare contents; ``in`` compares arrays,
objects and functions by identity; ``<`` and ``$sort`` compare texts by their UTF-16 code units.
"""

import math
from collections import Counter
from collections.abc import Callable, Hashable
from typing import Any

from unum_runtime.asl.jsonata.evaluation_limits import COPY, VISIT, Meter, current
from unum_runtime.asl.jsonata.library import Functions, Utils

_FEW = 8
"""Items that `is_among` looks through, without an index."""

_BEYOND_BASIC_PLANE = "\uffff"


def is_number(value: Any) -> bool:
    """Return True for numbers, including infinite values; Python counts bool as int."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def to_double(value: float) -> float:
    """Return `value` as double, JSONata's single number type."""
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def is_equal(one: Any, other: Any) -> bool:
    """Return True if two defined values have equal contents."""
    meter, todo = current(), [(one, other)]
    while todo:
        left, right = todo.pop()
        if isinstance(left, list) and isinstance(right, list):
            if left is right:
                continue
            if len(left) != len(right):
                return False
            meter.spend(VISIT * len(left))
            todo.extend(zip(left, right, strict=True))
        elif isinstance(left, dict) and isinstance(right, dict):
            if left is right:
                continue
            if left.keys() != right.keys():
                return False
            meter.spend(VISIT * len(left))
            todo.extend((value, right[name]) for name, value in left.items())
        elif identity(left) != identity(right):
            return False
    return True


def identity(value: Any) -> Hashable:
    """Return the key shared by values that JavaScript's operator ``===`` calls equal.

    It is valid as long as the value exists. A number that is not a number equals nothing.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return ("boolean", value)
    if isinstance(value, int | float):
        number = to_double(value)
        return number if number == number else object()  # noqa: PLR0124 - NaN differs from itself
    return ("identity", id(value))


def contents(value: Any) -> Hashable:
    """Return the key shared by values with equal contents."""
    if isinstance(value, list):
        current().spend(VISIT * len(value))
        return ("array", *map(contents, value))
    if isinstance(value, dict):
        current().spend(VISIT * len(value))
        return ("object", frozenset((name, contents(inner)) for name, inner in value.items()))
    return identity(value)


def is_among(value: Any, items: list[Any]) -> bool:
    """Return the result of operator ``in``, using an index for repeated searches in one array."""
    wanted = identity(value)
    if len(items) <= _FEW:
        return any(identity(item) == wanted for item in items)
    return wanted in _indexed("in", items, lambda: frozenset(map(identity, items)))


def count_index(position: int, size: int, indexes: list[Any]) -> int:
    """Return how often `indexes` select item `position`, using an index for repeated filters."""

    def places() -> Counter[int]:
        floors = (math.floor(index) for index in indexes)
        return Counter(place if place >= 0 else size + place for place in floors)

    return int(_indexed("[]", indexes, places, size)[position])


def _indexed(name: str, items: list[Any], index: Callable[[], Any], size: int | None = None) -> Any:
    meter = current()
    known, known_size, found = meter.indexes.get(name, (None, None, None))
    if known is not items or known_size != size:
        meter.spend(VISIT * len(items))
        found = index()
        meter.indexes[name] = items, size, found
    return found


def truth(value: Any) -> bool | None:
    """Return JSONata's boolean value; undefined gives None.

    A function counts as an object here; it is false as the argument of ``$boolean`` alone.
    """
    if value is None:
        return None
    if isinstance(value, list):
        current().spend(VISIT * len(value))
        return any(map(truth, value))
    if isinstance(value, str | dict | bool):
        return bool(value)
    if isinstance(value, int | float):
        return bool(Utils.is_numeric(value)) and value != 0
    return bool(Functions.is_lambda(value) or Utils.is_function(value))


def sort_key(text: str) -> Any:
    """Return a key with the order of UTF-16 code units, which differs from Python's beyond the basic plane."""
    return text.encode("utf-16-be", "surrogatepass")


def needs_sort_key(text: str) -> bool:
    """Return True if a comparison with `text` may differ from Python's."""
    return not text.isascii() and max(text) > _BEYOND_BASIC_PLANE


def compare(operator: Callable[[Any, Any], bool], one: Any, other: Any) -> bool:
    """Return the result of a comparison of two numbers or two texts."""
    if isinstance(one, str) and isinstance(other, str) and (needs_sort_key(one) or needs_sort_key(other)):
        return operator(sort_key(one), sort_key(other))
    return operator(one, other)


def spend_sorting(meter: Meter, items: list[Any]) -> None:
    """Count the work of sorting numbers or texts."""
    size = sum(map(len, items)) if items and isinstance(items[0], str) else 0
    meter.spend((COPY * len(items) + size) * len(items).bit_length())
