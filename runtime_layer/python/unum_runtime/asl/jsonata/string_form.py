"""Text form of values in ``$string`` and ``&``. Source: https://docs.jsonata.org, "String functions"."""

import math
from collections.abc import Iterable
from decimal import Context, Decimal
from typing import Any

from unum_runtime.asl.jsonata.equality import to_double
from unum_runtime.asl.jsonata.evaluation_limits import spend_tree
from unum_runtime.asl.jsonata.library import JException, Node, Utils
from unum_runtime.asl.jsonata.values import not_finite
from unum_runtime.json_text import quoted as _quoted

_LONG = 10**15
_DIGITS = Context(prec=15)
"""Significant digits of a number: 0.1 + 0.2 becomes "0.3", and 2**53 + 1 becomes "9007199254740990"."""

_WITH_EXPONENT = 1e21
_INDENT = "  "


def to_string(value: Any, is_pretty: bool | None = None) -> str | None:  # noqa: FBT001 - a parameter of ``$string``
    """Return JSON text for all values except strings and None (undefined), which stay unchanged.

    Raises:
        JException: `value` contains an infinite number.
    """
    if isinstance(value, Utils.JList) and value.outer_wrapper:
        value = value[0]
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float) and not math.isfinite(value):
        return not_finite(value)
    if Utils.is_function(value) or isinstance(value, Node):
        return ""
    if isinstance(value, list | dict):
        spend_tree(value)
    return _json(value, "\n" if is_pretty else None)


def _json(value: Any, line: str | None) -> str:
    """Return JSON text; `line` is the line break with the indent around `value`, None for a single line."""
    if isinstance(value, str):
        return _quoted(value)
    inner = None if line is None else line + _INDENT
    if isinstance(value, dict):
        colon = ":" if line is None else ": "
        return _join("{}", (_quoted(key) + colon + _json(item, inner) for key, item in value.items()), line, inner)
    if isinstance(value, list):
        return _join("[]", (_json(item, inner) for item in value), line, inner)
    return _scalar(value)


def _join(brackets: str, parts: Iterable[str], line: str | None, inner: str | None) -> str:
    inside = f",{inner or ''}".join(parts)
    return brackets[0] + (f"{inner or ''}{inside}{line or ''}" if inside else "") + brackets[1]


def _scalar(value: Any) -> str:
    if value is None or value is Utils.NULL_VALUE:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return _number(value)
    return '""'  # a function


def _number(value: float) -> str:
    if isinstance(value, int) and -_LONG < value < _LONG:
        return str(value)
    value = to_double(value)
    if not math.isfinite(value):
        raise JException("D1001", -1, value)
    digits = _DIGITS.create_decimal(Decimal(value)).normalize()
    is_plain = abs(value) < _WITH_EXPONENT and digits == digits.to_integral_value()
    return format(digits, "f") if is_plain else str(digits).lower()
