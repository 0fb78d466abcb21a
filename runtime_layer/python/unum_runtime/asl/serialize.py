"""JSON text of values returned by user code, like the Lambda runtime for Python but compact.

Tuples become arrays, ``Decimal`` becomes a number, and keys of type int, float, bool or None become strings.
What `unum_runtime.json_text` forbids is an error, because no other part of a workflow could read it.
"""

import math
from contextlib import suppress
from decimal import Decimal
from typing import Any

from unum_runtime.asl.places import element, member
from unum_runtime.errors import StatesError
from unum_runtime.json_text import MAX_DEPTH, foreign_to_text, is_utf8

_SCALARS = (str, int, float, bool, Decimal, type(None))
_KEYS = (str, int, float, bool, type(None))
_DOUBLE_BITS = 1024
"""Bits of the largest integers that a double holds."""


class NotSerializable(StatesError):
    """Value without JSON form, under Lambda's error name ``Runtime.MarshalError``."""

    def __init__(self, cause: str) -> None:
        super().__init__("Runtime.MarshalError", cause)


def dumps(value: Any, *, where: str = "$") -> str:
    """Return the compact JSON text of `value`.

    Args:
        value: any value.
        where: JSON path of `value`, for errors.

    Raises:
        NotSerializable: names a type without JSON form and its JSON path, for example ``$.items[3].when``.
    """
    try:
        return foreign_to_text(value)
    except (TypeError, ValueError) as error:
        # Only now search for the place: the search is much slower than the encoder, and most values are JSON.
        raise NotSerializable(_found_fault(value, where) or f"{where}: {error}") from None


def _found_fault(value: object, where: str) -> str | None:
    # The search nests deeper than the encoder: it may not reach a fault that the encoder has found.
    with suppress(RecursionError):
        return _fault(value, where, ())
    return None


_TOO_DEEP = f"nested too deeply to be JSON; return at most {MAX_DEPTH} levels"


def _fault(value: object, where: str, above: tuple[int, ...]) -> str | None:
    """Return the first problem at `where` or below; `above` holds the identities of the enclosing containers."""
    if isinstance(value, _SCALARS):
        return _scalar_fault(value, where)
    if len(above) == MAX_DEPTH:
        return f"{where}: {_TOO_DEEP}"
    if id(value) in above:
        return f"{where}: expected a tree, got a reference to an enclosing value; return a copy without the circle"
    if isinstance(value, dict):
        return _object_fault(value, where, (*above, id(value)))
    if isinstance(value, list | tuple):
        return _array_fault(value, where, (*above, id(value)))
    return f"{where}: {_type_name(value)} is not JSON; return str, int, float, bool, None, list or dict"


def _scalar_fault(value: object, where: str) -> str | None:
    if isinstance(value, float | Decimal) and not math.isfinite(value):
        return f"{where}: {value} is not JSON; return a finite number or None"
    if isinstance(value, int) and value.bit_length() >= _DOUBLE_BITS and not _is_double(value):
        return f"{where}: an integer of {value.bit_length()} bits is beyond the range of a double; return it as a text"
    if isinstance(value, str) and not is_utf8(value):
        return f"{where}: the text contains a lone surrogate, which is not Unicode; decode bytes with errors='replace'"
    return None


def _object_fault(value: dict[Any, Any], where: str, above: tuple[int, ...]) -> str | None:
    for key, item in value.items():
        place = member(where, key)
        if not isinstance(key, _KEYS):
            return f"{place}: a key of type {_type_name(key)} is not JSON; use str keys"
        fault = _scalar_fault(key, place) or _fault(item, place, above)
        if fault:
            return fault
    return None


def _array_fault(value: list[Any] | tuple[Any, ...], where: str, above: tuple[int, ...]) -> str | None:
    faults = (_fault(item, element(where, index), above) for index, item in enumerate(value))
    return next(filter(None, faults), None)


def _is_double(value: int) -> bool:
    try:
        float(value)
    except OverflowError:
        return False
    return True


def _type_name(value: object) -> str:
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
