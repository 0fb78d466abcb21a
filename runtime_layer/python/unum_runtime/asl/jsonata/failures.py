"""Errors of JSONata: their codes, and texts with values in JSON, never in Python's words."""

import re
from typing import Any

from unum_runtime.asl.jsonata.evaluation_limits import STACK_OVERFLOW, Runaway
from unum_runtime.asl.jsonata.library import JException, Node, Utils
from unum_runtime.asl.states_errors import excerpt

OWN_MESSAGE = frozenset({"D3137", "D3141"})
"""Codes of errors with a text from the expression itself."""

NO_MATCH = "T0410"
"""Code of an argument that does not match the function's signature."""

_MARK = re.compile(r"\{\{\{?\w+\}?\}\}")
_NOT_CALCULABLE = "D3137: The expression cannot be evaluated with these values."
_BARE = frozenset({"T0410", "T0411", "T0412", "S0208"})
"""Codes whose texts contain positions, and names of functions and types."""


class Failure(JException):  # type: ignore[misc] # the library has no types
    """Error with JSONata code, plus text written here."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__("D3137", -1, text)
        self.error = code


def describe(error: Exception) -> str:
    """Return JSONata code plus message text for an evaluation error."""
    if isinstance(error, RecursionError):
        return STACK_OVERFLOW
    if isinstance(error, Runaway):
        return str(error)
    if not isinstance(error, JException):
        return _NOT_CALCULABLE
    return f"{error.error}: {_text(error)}"


def _text(error: JException) -> str:
    template = JException.error_codes.get(error.error, "")
    if isinstance(error, Failure) or error.error in OWN_MESSAGE or not template:
        return str(error)
    values = iter((error.current, error.expected, error.extra))
    shown = str if error.error in _BARE else _shown
    # The library's messages have "Object" in place of JSONata's "function".
    return _MARK.sub(lambda _: shown(next(values, "")), template).replace(" Object ", " function ")


def _shown(value: Any) -> str:
    if value is None or isinstance(value, float) and value != value:  # noqa: PLR0124, RUF021 - NaN differs from itself
        return "undefined" if value is None else "NaN"
    return excerpt(_plain(value, 0))


_DEEP = 5
_MANY = 20


def _plain(value: Any, depth: int) -> Any:
    """Return an excerpt of `value` as JSON, limited by depth, array length and field count."""
    if value is Utils.NULL_VALUE or depth > _DEEP:
        return None
    if isinstance(value, list):
        return [_plain(inner, depth + 1) for inner in value[:_MANY]]
    if isinstance(value, dict):
        return {name: _plain(value[name], depth + 1) for name in list(value)[:_MANY]}
    if isinstance(value, float) and abs(value) == float("inf"):
        return "Infinity" if value > 0 else "-Infinity"
    return "function" if isinstance(value, Node) or not isinstance(value, str | bool | int | float) else value
