"""Comparison operators of Choice rules, as tests of one value (specification, Data-test expression).

Where types do not fit, a comparison is false, and so is that of true with 1.
"""

import operator
from collections.abc import Callable
from typing import TypeAlias

from unum_runtime.asl.jsonpath.wildcards import matcher
from unum_runtime.asl.timestamps import parse_timestamp
from unum_runtime.cold_start.records import dataclass
from unum_runtime.model.ir import Json

ValueTest: TypeAlias = Callable[[Json], bool]
"""Whether something holds for a value."""

_Kind: TypeAlias = Callable[[Json], Json]
"""The value as it is compared; None when it is of another type."""


@dataclass(frozen=True)
class Operator:
    """A comparison operator.

    Attributes:
        against: makes the test against the literal in the rule; raises ValueError when the literal is not allowed.
        compare: the same against a value found at run time; None if the operator has no form with ``Path``.
    """

    against: Callable[[Json], ValueTest]
    compare: Callable[[Json, Json], bool] | None = None


def _string(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: Json) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _boolean(value: Json) -> bool | None:
    return value if isinstance(value, bool) else None


def _comparison(kind: _Kind, relation: Callable[[Json, Json], bool], allowed: str) -> Operator:
    def against(literal: Json) -> ValueTest:
        right = _required(kind, literal, allowed)

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
        expected = _required(_boolean, literal, "true or false")
        return lambda value: holds(value) is expected

    return Operator(against)


def _string_matches(literal: Json) -> ValueTest:
    matches = matcher(_required(_string, literal, "a string"))
    return lambda value: isinstance(value, str) and matches(value)


def _required(kind: _Kind, literal: Json, allowed: str) -> Json:
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
    "IsNumeric": _type_test(lambda value: _number(value) is not None),
    "IsString": _type_test(lambda value: isinstance(value, str)),
    "IsBoolean": _type_test(lambda value: isinstance(value, bool)),
    "IsTimestamp": _type_test(lambda value: parse_timestamp(value) is not None),
}
"""Every operator that needs a value; ``IsPresent``, which does not, is no operator on values."""
