"""Filters in ``[?(...)]``, and lookup of keys for filters and definite paths.

Filters are functions with a text instead of a class for each kind, because each dataclass costs every cold start half a
millisecond.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from unum_runtime.asl.numbers import is_number
from unum_runtime.cold_start.records import dataclass, field
from unum_runtime.json_text import to_ascii
from unum_runtime.model.states import Json

Key: TypeAlias = str | int
"""Name of a field, or index of an item."""


@dataclass(frozen=True)
class Filter:
    """A condition on an object.

    Attributes:
        text: canonical text in a path.
        passes: function from an object, and the value at the beginning of the path, to True if the condition holds.
    """

    text: str
    passes: Callable[[Mapping[str, Json], Json], bool] = field(compare=False)


@dataclass(frozen=True)
class Operand:
    """The right side of a comparison.

    Attributes:
        text: canonical text in a path.
        read: function from an object, and the value at the beginning of the path, to the value; raises LookupError for
            a missing value.
    """

    text: str
    read: Callable[[Mapping[str, Json], Json], Json] = field(compare=False)


def literal(value: Json) -> Operand:
    """Return the operand ``1``."""
    return Operand(quote(value) if isinstance(value, str) else to_ascii(value), lambda _item, _root: value)


def of_item(keys: Sequence[Key]) -> Operand:
    """Return the operand ``@.a``."""
    return Operand(_relative_path(keys), lambda item, _root: follow(keys, item))


def of_root(keys: Sequence[Key]) -> Operand:
    """Return the operand ``$.a``."""
    return Operand(_relative_path(keys, "$"), lambda _item, root: follow(keys, root))


def exists(keys: Sequence[Key]) -> Filter:
    """Return ``@.a``, which passes for every existing value, null and false included."""

    def passes(item: Mapping[str, Json], _root: Json) -> bool:
        try:
            follow(keys, item)
        except LookupError:
            return False
        return True

    return Filter(_relative_path(keys), passes)


def compare(keys: Sequence[Key], relation: str, operand: Operand) -> Filter:
    """Return ``@.a == 1``; a missing value differs from every value, also from a missing one, and has no order."""
    holds = RELATIONS[relation]

    def passes(item: Mapping[str, Json], root: Json) -> bool:
        try:
            return holds(follow(keys, item), operand.read(item, root))
        except LookupError:
            return relation == "!="

    return Filter(f"{_relative_path(keys)} {relation} {operand.text}", passes)


def negate(inner: Filter) -> Filter:
    """Return ``!(...)``."""
    return Filter(f"!({inner.text})", lambda item, root: not inner.passes(item, root))


def all_of(parts: Sequence[Filter]) -> Filter:
    """Return ``... && ...``."""
    return _combine(" && ", parts, lambda item, root: all(part.passes(item, root) for part in parts))


def any_of(parts: Sequence[Filter]) -> Filter:
    """Return ``... || ...``."""
    return _combine(" || ", parts, lambda item, root: any(part.passes(item, root) for part in parts))


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


def _combine(word: str, parts: Sequence[Filter], passes: Callable[[Mapping[str, Json], Json], bool]) -> Filter:
    return parts[0] if len(parts) == 1 else Filter(word.join(f"({part.text})" for part in parts), passes)


def _relative_path(keys: Sequence[Key], root: str = "@") -> str:
    return root + "".join(brackets(key) for key in keys)


def _equal(value: Json, other: Json) -> bool:
    # In Python, True == 1; in JSON, they differ.
    return bool(value == other) and isinstance(value, bool) == isinstance(other, bool)


def _order_relation(relation: Callable[[Json, Json], bool]) -> Callable[[Json, Json], bool]:
    def holds(value: Json, other: Json) -> bool:
        kind = _order_kind(value)
        return kind is not None and kind is _order_kind(other) and relation(value, other)

    return holds


def _order_kind(value: Json) -> type | None:
    if isinstance(value, str):
        return str
    return float if is_number(value) else None


RELATIONS: dict[str, Callable[[Json, Json], bool]] = {
    "==": _equal,
    "!=": lambda value, other: not _equal(value, other),
    "<": _order_relation(operator.lt),
    "<=": _order_relation(operator.le),
    ">": _order_relation(operator.gt),
    ">=": _order_relation(operator.ge),
}
"""Comparison operators of filters; values of different types are unequal and have no order."""
