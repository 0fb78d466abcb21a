"""Conversion between JSON and the library's values, which distinguish null from undefined."""

import math
from typing import Any

from unum_runtime.asl.jsonata.evaluation_limits import check_tree
from unum_runtime.asl.jsonata.library import JException, Utils
from unum_runtime.json_text import is_utf8
from unum_runtime.model.states import Json

_EXACT = 2**53
"""Largest number up to which a double represents every integer exactly."""

_LONGEST = 10**21
"""Largest number without exponent. JSONata has doubles only, but the library computes with Python's long integers."""


class NotJson(TypeError):
    """Result with a function inside."""


def to_library(value: Json) -> Any:
    """Return a copy of `value` in the library's form; without the copy, an expression could change a shared value."""
    if isinstance(value, dict):
        return {name: to_library(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [to_library(inner) for inner in value]
    return Utils.NULL_VALUE if value is None else value


def from_library(result: Any) -> Json:
    """Return `result` as JSON; a number without fraction becomes an integer, as in AWS.

    Raises:
        NotJson: `result` is or contains a function.
        JException: `result` contains text that is not Unicode.
        Runaway: `result` contains too many values.
    """
    check_tree(result)
    return _from_library(result)


def _from_library(result: Any) -> Json:
    if isinstance(result, dict):
        return {_unicode(name): _from_library(inner) for name, inner in result.items()}
    if isinstance(result, list):  # the library's sequences are lists too
        return [_from_library(inner) for inner in result]
    if result is None or result is Utils.NULL_VALUE:
        return None
    if isinstance(result, float) or (isinstance(result, int) and abs(result) > _LONGEST):
        return _number(_double(result))
    if isinstance(result, str):
        return _unicode(result)
    if isinstance(result, bool | int):
        return result
    raise NotJson(type(result).__name__)


def _unicode(text: str) -> str:
    if text.isascii() or is_utf8(text):
        return text
    raise JException("D3137", -1, "the result contains a lone surrogate, which is not Unicode")


def _double(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)


def not_finite(value: float) -> str:
    """Return JavaScript's name of a number without JSON form."""
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _number(value: float) -> float | str:
    if not math.isfinite(value):
        return not_finite(value)
    return int(value) if value.is_integer() and abs(value) <= _EXACT else value
