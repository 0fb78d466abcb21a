"""Kinds of JSONata expressions, and what each gives, written apart from the interpreter that the runtime has."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from unum_runtime.model.states import Json

UNDEFINED: Any = object()
"""JSONata's value of what does not exist."""


@dataclass(frozen=True)
class ExpressionKind:
    """A kind of expression.

    Attributes:
        text: the expression without its delimiters.
        value: its value for an input's field ``x``, which may be `UNDEFINED`.
    """

    text: str
    value: Callable[[Any], Any]


def _as_sequence(values: list[Json]) -> Any:
    """Return a sequence as JSONata gives it: nothing, one value, or an array."""
    return UNDEFINED if not values else values[0] if len(values) == 1 else values


def _b_of(value: Any) -> Any:
    if isinstance(value, list):
        found: list[Json] = []
        for each in value:
            inner = _b_of(each)
            found += [] if inner is UNDEFINED else inner if isinstance(inner, list) else [inner]
        return _as_sequence(found)
    return value["b"] if isinstance(value, dict) and "b" in value else UNDEFINED


def _first(value: Any) -> Any:
    if isinstance(value, list):
        return value[0] if value else UNDEFINED
    return value


def _array_of(value: Any) -> Any:
    if value is UNDEFINED:
        return []
    return [value]


def _with_field(value: Any) -> Any:
    return {} if value is UNDEFINED else {"k": value}


def _is_seven(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == 7


EXPRESSIONS = (
    ExpressionKind("$states.input.x", lambda x: x),
    ExpressionKind(" $states.input.x ", lambda x: x),
    ExpressionKind("$states.input.`x`", lambda x: x),
    ExpressionKind("$states.context.Execution.Input.x", lambda x: x),
    ExpressionKind("( $y := $states.input.x; $y )", lambda x: x),
    ExpressionKind("$states.input.x.b", _b_of),
    ExpressionKind("$states.input.x[0]", _first),
    ExpressionKind("[$states.input.x]", lambda x: _array_of(x) if not isinstance(x, list) else x),
    ExpressionKind('{"k": $states.input.x}', _with_field),
    ExpressionKind("$exists($states.input.x)", lambda x: x is not UNDEFINED),
    ExpressionKind("$states.input.x = 7", _is_seven),
    ExpressionKind("$states.input.x ? 3 : 4", lambda x: 3 if _is_truthy(x) else 4),
    ExpressionKind("$count($states.input.x)", lambda x: 0 if x is UNDEFINED else len(x) if isinstance(x, list) else 1),
    ExpressionKind("$type($states.input.x)", lambda x: UNDEFINED if x is UNDEFINED else _type_of(x)),
    ExpressionKind("function($y) { $y }", lambda _x: UNDEFINED),
    ExpressionKind("$states.input.nothing.x", lambda _x: UNDEFINED),
)


def _is_truthy(value: Any) -> bool:
    """Return `value` cast to a boolean by JSONata's rules, "Boolean Functions: $boolean()"."""
    if isinstance(value, list):
        return any(map(_is_truthy, value))
    return value is not UNDEFINED and bool(value)


def _type_of(value: Json) -> str:
    kinds = {type(None): "null", bool: "boolean", int: "number", float: "number", str: "string", list: "array"}
    return kinds.get(type(value), "object")
