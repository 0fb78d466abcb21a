"""Run-time values in graphs, and conditions on them, written with Python operators.

``out["total"] > 100`` is no truth value but a `Condition`, which becomes a rule of a Choice state. A comparison holds
only between values of one type, and otherwise as in Python: the text ``"5"`` is neither equal to nor less than the
number 7, and ``True`` does not equal 1. Reading a missing field fails the state with ``States.Runtime``, except in
`Reference.exists`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NoReturn, TypeAlias

from unum_runtime.json_text import to_ascii
from unum_runtime.model.states import Json

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_QUOTE = re.compile(r"(['\\])")

Literal: TypeAlias = str | int | float | bool | datetime | None


@dataclass(frozen=True, eq=False)
class Condition:
    """A rule of a Choice state without its target; ``&``, ``|`` and ``~`` combine conditions.

    Attributes:
        rule: rule in the Amazon States Language.
    """

    rule: Mapping[str, Json]

    def __and__(self, other: "Condition") -> "Condition":
        return _all_of("And", self, other)

    def __or__(self, other: "Condition") -> "Condition":
        return _all_of("Or", self, other)

    def __invert__(self) -> "Condition":
        return Condition({"Not": self.rule})

    def __bool__(self) -> NoReturn:
        message = "a condition has no truth value before the workflow runs; combine conditions with &, | and ~, "
        raise TypeError(f"{message}in parentheses, and write (a < x) & (x < b) instead of a < x < b")


@dataclass(frozen=True, eq=False)
class Expression:
    """A value computed on entering a state.

    Attributes:
        text: expression in the Amazon States Language.
    """

    text: str

    def __bool__(self) -> NoReturn:
        raise TypeError(f"{self.text}: has no truth value before the workflow runs; compare it, as in (it == True)")

    def __str__(self) -> NoReturn:
        remedy = 'make it of call("Format", "... {} ...", it)'
        raise TypeError(f"{self.text}: is no text before the workflow runs; in place of an f-string, {remedy}")


@dataclass(frozen=True, eq=False)
class Reference(Expression):
    """A location such as ``out["pages"][0]``."""

    def __getitem__(self, key: str | int) -> "Reference":
        if isinstance(key, bool) or not isinstance(key, str | int):
            raise TypeError(f"{self.text}: expected a field's name or an index, got {key!r}")
        return Reference(f"{self.text}{_step(key)}")

    def __iter__(self) -> NoReturn:
        raise TypeError(f"{self.text}: its items are not known before the workflow runs; use map or fold")

    def __contains__(self, item: object) -> NoReturn:
        raise TypeError(f"{self.text}: what is in it is not known before the workflow runs; use exists or one_of")

    def __hash__(self) -> int:
        return hash(self.text)

    def __eq__(self, other: "Reference | Literal") -> Condition:  # type: ignore[override] # builds, does not compare
        return self._equals(other)

    def __ne__(self, other: "Reference | Literal") -> Condition:  # type: ignore[override] # the same
        return ~self._equals(other)

    def __lt__(self, other: "Reference | Literal") -> Condition:
        return self._ordered("LessThan", other)

    def __le__(self, other: "Reference | Literal") -> Condition:
        return self._ordered("LessThanEquals", other)

    def __gt__(self, other: "Reference | Literal") -> Condition:
        return self._ordered("GreaterThan", other)

    def __ge__(self, other: "Reference | Literal") -> Condition:
        return self._ordered("GreaterThanEquals", other)

    def exists(self) -> Condition:
        """Return a condition that holds for present values, including null."""
        return self._rule("IsPresent", value=True)

    def matches(self, pattern: str) -> Condition:
        """Return a condition that holds for text like `pattern`, in which ``*`` stands for any characters."""
        return self._rule("StringMatches", pattern)

    def one_of(self, *values: Literal) -> Condition:
        """Return a condition for equality with one value out of `values`.

        Raises:
            ValueError: `values` is empty.
        """
        if not values:
            raise ValueError(f"{self.text}.one_of: expected at least one value, got none")
        first, *others = (self._equals(value) for value in values)
        return _all_of("Or", first, *others) if others else first

    def _equals(self, other: "Reference | Literal") -> Condition:
        if other is None:
            return self._rule("IsNull", value=True)
        if isinstance(other, Reference):
            # A Choice has an operator per type. The type is unknown before the workflow runs, so test each of them.
            kinds = [self._rule(f"{kind}EqualsPath", other.text) for kind in ("Numeric", "String", "Boolean")]
            return _all_of("Or", *kinds, (self == None) & (other == None))  # noqa: E711 - builds a condition
        return self._rule(f"{_kind(other)}Equals", _literal(other))

    def _ordered(self, relation: str, other: "Reference | Literal") -> Condition:
        if isinstance(other, Reference):
            kinds = (self._rule(f"{kind}{relation}Path", other.text) for kind in ("Numeric", "String"))
            return _all_of("Or", *kinds)
        if other is None or isinstance(other, bool):
            raise TypeError(f"{self.text}: expected a number, text or time to order by, got {other!r}")
        return self._rule(f"{_kind(other)}{relation}", _literal(other))

    def _rule(self, operator: str, value: Json) -> Condition:
        return Condition({"Variable": self.text, operator: value})


out = Reference("$")
"""The output of the previous node, which is the input of the node that uses it."""


def var(name: str) -> Reference:
    """Return the variable called `name`, which a previous node must set."""
    return Reference(f"${name}")


def call(function: str, *arguments: Expression | str | float | None) -> Expression:
    """Return an intrinsic function call, such as ``call("MathAdd", out["count"], 1)``.

    Args:
        function: name of the function without ``States.``.
        arguments: expressions, numbers, text, truth values or None.
    """
    return Expression(f"States.{function}({', '.join(map(_argument, arguments))})")


def payload(value: Any) -> Json:
    """Return `value` as a payload template: names of fields with an expression end in ``.$``.

    Raises:
        ValueError: an expression is at a place that allows none.
    """
    match value:
        case dict():
            return dict(_field(key, item) for key, item in value.items())
        case list() | tuple():
            return [payload(item) for item in value]
        case Expression():
            raise ValueError(f"{value.text}: expected an expression as a field's value; write {{'name': ...}}")
        case _:
            return _literal(value)


def _field(key: Any, value: Any) -> tuple[str, Json]:
    if not isinstance(key, str):
        raise TypeError(f"expected text as the name of a field, got {key!r}")
    if key.endswith(".$"):
        raise ValueError(f"{key!r}: expected a name that does not end in .$, which marks expressions")
    if isinstance(value, list | tuple) and any(isinstance(item, Expression) for item in value):
        value = call("Array", *value)
    return (f"{key}.$", value.text) if isinstance(value, Expression) else (key, payload(value))


def _step(key: str | int) -> str:
    if isinstance(key, int):
        return f"[{key}]"
    return f".{key}" if _NAME.fullmatch(key) else f"[{_quoted(key)}]"


def _argument(value: Expression | str | float | None) -> str:
    if isinstance(value, Expression):
        return value.text
    if isinstance(value, str):
        return _quoted(value)
    if value is None or isinstance(value, int | float):
        return to_ascii(value)
    raise ValueError(f"expected an expression, a number, text, True, False or None as argument, got {value!r}")


def _quoted(text: str) -> str:
    return "'" + _QUOTE.sub(r"\\\1", text) + "'"


def _kind(value: Literal) -> str:
    match value:
        case bool():
            return "Boolean"
        case int() | float():
            return "Numeric"
        case str():
            return "String"
        case datetime():
            return "Timestamp"
    raise TypeError(f"expected a number, text, time, True, False, None or a reference, got {value!r}")


def _literal(value: Any) -> Json:
    if isinstance(value, datetime):
        return timestamp(value)
    if value is None or isinstance(value, str | int | float):
        return value
    raise TypeError(f"expected an expression, a time or JSON, got {value!r}")


def timestamp(moment: datetime) -> str:
    """Return `moment` as a timestamp of the Amazon States Language.

    Raises:
        ValueError: `moment` has no time zone.
    """
    if moment.tzinfo is None:
        raise ValueError(f"expected a time with its time zone, such as datetime(..., tzinfo=UTC); got {moment!r}")
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _all_of(connective: str, *conditions: Condition) -> Condition:
    """Return the combination of `conditions`, without nesting equal connectives."""
    rules = [inner for each in conditions for inner in each.rule.get(connective, [each.rule])]
    return Condition({connective: rules})
