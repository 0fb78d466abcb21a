"""Filters in ``[?(...)]``, and lookup of keys for filters and definite paths.

Filters are functions with a text instead of a class for each kind, because each dataclass costs every cold start half a
millisecond.
"""

import json
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from unum_runtime.asl.numbers import is_number
from unum_runtime.cold_start.records import dataclass, field
from unum_runtime.model.ir import Json

Key: TypeAlias = str | int
"""Name of a field, or index of an item."""


@dataclass(frozen=True)
class Filter:
    """A condition on an object.

    Attributes:
        text: canonical text in a path.
        passes: function from an object to True if the condition holds.
    """

    text: str
    passes: Callable[[Mapping[str, Json]], bool] = field(compare=False)


def exists(keys: Sequence[Key]) -> Filter:
    """Return ``@.a``, which passes for every existing value, null and false included."""

    def passes(item: Mapping[str, Json]) -> bool:
        try:
            follow(keys, item)
        except LookupError:
            return False
        return True

    return Filter(_relative_path(keys), passes)


def compare(keys: Sequence[Key], relation: str, literal: Json) -> Filter:
    """Return ``@.a == 1``; a missing value differs from every literal, and has no order."""
    holds = RELATIONS[relation]

    def passes(item: Mapping[str, Json]) -> bool:
        try:
            value = follow(keys, item)
        except LookupError:
            return relation == "!="
        return holds(value, literal)

    shown = quote(literal) if isinstance(literal, str) else json.dumps(literal)
    return Filter(f"{_relative_path(keys)} {relation} {shown}", passes)


def negate(inner: Filter) -> Filter:
    """Return ``!(...)``."""
    return Filter(f"!({inner.text})", lambda item: not inner.passes(item))


def all_of(parts: Sequence[Filter]) -> Filter:
    """Return ``... && ...``."""
    return _combine(" && ", parts, lambda item: all(part.passes(item) for part in parts))


def any_of(parts: Sequence[Filter]) -> Filter:
    """Return ``... || ...``."""
    return _combine(" || ", parts, lambda item: any(part.passes(item) for part in parts))


def follow(keys: Sequence[Key], value: Json) -> Json:
    """Return the value at `keys` inside `value`.

    Raises:
        LookupError: no such value exists.
    """
    for key in keys:
        container: type[Any] = dict if isinstance(key, str) else list
        if not isinstance(value, container):  # Python would index a text, and find a character
            raise LookupError(key)  # noqa: TRY004 - a value of another type counts as missing
        value = value[key]
    return value


def brackets(*keys: Key) -> str:
    """Return the keys in bracket notation: ``['name']`` or ``[0,2]``."""
    return f"[{','.join(quote(key) if isinstance(key, str) else str(key) for key in keys)}]"


def quote(text: str) -> str:
    """Return the text as a path literal between apostrophes."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _combine(word: str, parts: Sequence[Filter], passes: Callable[[Mapping[str, Json]], bool]) -> Filter:
    return parts[0] if len(parts) == 1 else Filter(word.join(f"({part.text})" for part in parts), passes)


def _relative_path(keys: Sequence[Key]) -> str:
    return "@" + "".join(brackets(key) for key in keys)


def _equal(value: Json, literal: Json) -> bool:
    # In Python, True == 1; in JSON, they differ.
    return bool(value == literal) and isinstance(value, bool) == isinstance(literal, bool)


def _order_relation(relation: Callable[[Json, Json], bool]) -> Callable[[Json, Json], bool]:
    def holds(value: Json, literal: Json) -> bool:
        kind = _order_kind(value)
        return kind is not None and kind is _order_kind(literal) and relation(value, literal)

    return holds


def _order_kind(value: Json) -> type | None:
    if isinstance(value, str):
        return str
    return float if is_number(value) else None


RELATIONS: dict[str, Callable[[Json, Json], bool]] = {
    "==": _equal,
    "!=": lambda value, literal: not _equal(value, literal),
    "<": _order_relation(operator.lt),
    "<=": _order_relation(operator.le),
    ">": _order_relation(operator.gt),
    ">=": _order_relation(operator.ge),
}
"""Comparison operators of filters; values of different types are unequal and have no order."""
