"""Comparison operators of Choice rules. Source: specification, "Data-test expression".

A comparison of different types is false; true and 1 are different types.
"""

import operator
import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

from unum_runtime.asl.numbers import is_number
from unum_runtime.asl.timestamps import parse_timestamp
from unum_runtime.cold_start.records import dataclass
from unum_runtime.json_text import parse_foreign
from unum_runtime.model.states import Json

# Patterns of ``StringMatches``: ``*`` matches any text, ``\*`` and ``\\`` match the characters themselves.

_TOKEN = re.compile(r"\\(?P<escaped>[*\\])|(?P<open>\\)|(?P<star>\*)|(?P<text>[^*\\]+)", re.DOTALL)


def matcher(pattern: str) -> Callable[[str], bool]:
    """Return a function that matches texts with `pattern` in time proportional to their length.

    Raises:
        ValueError: a backslash without ``*`` or another backslash after it.
    """
    first, *middle = _pieces(pattern)
    if not middle:
        return lambda text: text == first
    last = middle.pop()
    return lambda text: _matches(text, first, middle, last)


def _pieces(pattern: str) -> list[str]:
    pieces = [""]
    for token in _TOKEN.finditer(pattern):
        if token["open"]:
            raise ValueError(f"character {token.start()}: expected * or another backslash after a backslash")
        if token["star"]:
            pieces.append("")
        else:
            pieces[-1] += token["escaped"] or token["text"]
    return pieces


def _matches(text: str, first: str, middle: Sequence[str], last: str) -> bool:
    end = len(text) - len(last)
    if not (text.startswith(first) and text.endswith(last)) or end < len(first):
        return False
    position = len(first)
    for piece in middle:  # the leftmost match of each piece leaves most text for the next, so no search goes back
        found = text.find(piece, position, end)
        if found < 0:
            return False
        position = found + len(piece)
    return True


ValueTest: TypeAlias = Callable[[Json], bool]
"""Function from a value to True if the test holds."""

_PLACEHOLDER = re.compile(r"\$\{[^{}]+\}")
_SCALAR = re.compile(r"true|false|-?\d+(\.\d+)?", re.ASCII)
_SAMPLES: tuple[tuple[str, Json], ...] = (("Numeric", 0), ("Boolean", True), ("Timestamp", "1970-01-01T00:00:00Z"))
"""A literal for each kind of operator whose literal is not any text."""

_Kind: TypeAlias = Callable[[Json], Json]
"""Function from a value to its comparable form; None for values of other types."""


@dataclass(frozen=True)
class Operator:
    """A comparison operator.

    Attributes:
        against: function from the literal in the rule to a test; raises ValueError for an invalid literal.
        compare: comparison of two values for the operator's form with ``Path``; None without that form.
    """

    against: Callable[[Json], ValueTest]
    compare: Callable[[Json, Json], bool] | None = None


def placeholder_or_literal(operator: str, literal: Json) -> Json:
    """Return `literal`, or a value that `operator` allows in place of a placeholder such as ``${Name}``."""
    is_placeholder = isinstance(literal, str) and _PLACEHOLDER.fullmatch(literal)
    return next((value for kind, value in _SAMPLES if is_placeholder and operator.startswith(kind)), literal)


def deployed(operator: str, literal: Json) -> Json:
    """Return `literal`, converted to a number or truth value if the deployment gave its text."""
    if isinstance(literal, str) and operator.startswith(("Numeric", "Boolean")) and _SCALAR.fullmatch(literal):
        return parse_foreign(literal)
    return literal


def _string(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: Json) -> float | None:
    return value if is_number(value) else None


def _boolean(value: Json) -> bool | None:
    return value if isinstance(value, bool) else None


def _comparison(kind: _Kind, relation: Callable[[Json, Json], bool], allowed: str) -> Operator:
    def against(literal: Json) -> ValueTest:
        right = _require(kind, literal, allowed)

        def holds(value: Json) -> bool:
            left = kind(value)
            return left is not None and relation(left, right)

        return holds

    def compare(value: Json, other: Json) -> bool:
        left, right = kind(value), kind(other)
        return left is not None and right is not None and relation(left, right)

    return Operator(against, compare)


def _type_test(holds: ValueTest) -> Operator:
    def against(literal: Json) -> ValueTest:
        expected = _require(_boolean, literal, "true or false")
        return lambda value: holds(value) is expected

    return Operator(against)


def _string_matches(literal: Json) -> ValueTest:
    matches = matcher(_require(_string, literal, "a string"))
    return lambda value: isinstance(value, str) and matches(value)


def _require(kind: _Kind, literal: Json, allowed: str) -> Json:
    value = kind(literal)
    if value is None:
        raise ValueError(f"expected {allowed}, got {literal!r}")
    return value


_RELATIONS: dict[str, Callable[[Json, Json], bool]] = {
    "Equals": operator.eq,
    "LessThan": operator.lt,
    "GreaterThan": operator.gt,
    "LessThanEquals": operator.le,
    "GreaterThanEquals": operator.ge,
}

_ORDERED: dict[str, tuple[_Kind, str]] = {
    "String": (_string, "a string"),
    "Numeric": (_number, "a number"),
    "Timestamp": (parse_timestamp, "a timestamp like '2016-03-14T01:59:00Z'"),
}

OPERATORS: dict[str, Operator] = {
    **{
        f"{name}{suffix}": _comparison(kind, relation, allowed)
        for name, (kind, allowed) in _ORDERED.items()
        for suffix, relation in _RELATIONS.items()
    },
    "BooleanEquals": _comparison(_boolean, operator.eq, "true or false"),
    "StringMatches": Operator(_string_matches),
    "IsNull": _type_test(lambda value: value is None),
    "IsNumeric": _type_test(is_number),
    "IsString": _type_test(lambda value: isinstance(value, str)),
    "IsBoolean": _type_test(lambda value: isinstance(value, bool)),
    "IsTimestamp": _type_test(lambda value: parse_timestamp(value) is not None),
}
"""All operators on values; ``IsPresent`` is missing, because it needs the path."""
