"""Conditions in ``[?(...)]``, and the keys that they and definite paths follow.

Conditions are functions with a text, not a class for each kind: making a dataclass takes half a millisecond,
which every cold start would pay.
"""

import json
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from unum_runtime.cold_start.records import dataclass, field
from unum_runtime.model.ir import Json

Key: TypeAlias = str | int
"""The name of a field, or the index of an item."""


@dataclass(frozen=True)
class Filter:
    """A condition on an object.

    Attributes:
        text: how a path writes it.
        passes: whether it holds for an object.
    """

    text: str
    passes: Callable[[Mapping[str, Json]], bool] = field(compare=False)


def exists(keys: Sequence[Key]) -> Filter:
    """``@.a``: the value is there, be it null or false."""

    def passes(item: Mapping[str, Json]) -> bool:
        try:
            follow(keys, item)
        except LookupError:
            return False
        return True

    return Filter(_relative(keys), passes)


def compares(keys: Sequence[Key], relation: str, literal: Json) -> Filter:
    """``@.a == 1``; a value that is not there is unequal to all, and neither less nor greater."""
    holds = RELATIONS[relation]

    def passes(item: Mapping[str, Json]) -> bool:
        try:
            value = follow(keys, item)
        except LookupError:
            return relation == "!="
        return holds(value, literal)

    shown = quoted(literal) if isinstance(literal, str) else json.dumps(literal)
    return Filter(f"{_relative(keys)} {relation} {shown}", passes)


def negated(inner: Filter) -> Filter:
    """``!(...)``."""
    return Filter(f"!({inner.text})", lambda item: not inner.passes(item))


def all_of(parts: Sequence[Filter]) -> Filter:
    """``... && ...``."""
    return _joined(" && ", parts, lambda item: all(part.passes(item) for part in parts))


def any_of(parts: Sequence[Filter]) -> Filter:
    """``... || ...``."""
    return _joined(" || ", parts, lambda item: any(part.passes(item) for part in parts))


def follow(keys: Sequence[Key], value: Json) -> Json:
    """What lies in `value` at the end of `keys`.

    Raises:
        LookupError: nothing does.
    """
    for key in keys:
        container: type[Any] = dict if isinstance(key, str) else list
        if not isinstance(value, container):  # an index into a text would find a character
            raise LookupError(key)  # noqa: TRY004 - the value is data; its type is nobody's mistake
        value = value[key]
    return value


def bracketed(*keys: Key) -> str:
    """The keys in the bracket notation of paths: ``['name']`` or ``[0,2]``."""
    return f"[{','.join(quoted(key) if isinstance(key, str) else str(key) for key in keys)}]"


def quoted(text: str) -> str:
    """The text as a literal of paths, between apostrophes."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _joined(word: str, parts: Sequence[Filter], passes: Callable[[Mapping[str, Json]], bool]) -> Filter:
    return parts[0] if len(parts) == 1 else Filter(word.join(f"({part.text})" for part in parts), passes)


def _relative(keys: Sequence[Key]) -> str:
    return "@" + "".join(bracketed(key) for key in keys)


def _equal(value: Json, literal: Json) -> bool:
    # Python holds True == 1, JSON does not.
    return bool(value == literal) and isinstance(value, bool) == isinstance(literal, bool)


def _ordered(relation: Callable[[Json, Json], bool]) -> Callable[[Json, Json], bool]:
    def holds(value: Json, literal: Json) -> bool:
        kind = _order_kind(value)
        return kind is not None and kind is _order_kind(literal) and relation(value, literal)

    return holds


def _order_kind(value: Json) -> type | None:
    if isinstance(value, str):
        return str
    return float if isinstance(value, int | float) and not isinstance(value, bool) else None


RELATIONS: dict[str, Callable[[Json, Json], bool]] = {
    "==": _equal,
    "!=": lambda value, literal: not _equal(value, literal),
    "<": _ordered(operator.lt),
    "<=": _ordered(operator.le),
    ">": _ordered(operator.gt),
    ">=": _ordered(operator.ge),
}
"""Comparison operators of filters; values of different types are unequal and have no order."""
