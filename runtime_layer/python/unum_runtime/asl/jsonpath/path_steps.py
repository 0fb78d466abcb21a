"""Path steps: functions from one JSON value to selected values inside it.

The rules are Jayway JsonPath's, as the specification requires ("Paths"). A step that does not fit the type of a value
selects None, a step that fits but finds nothing selects an empty sequence: the first is an error in every path, the
second only in definite paths.

Filters in ``[?(...)]``, and lookup of keys for filters and definite paths.

Filters are functions with a text instead of a class for each kind, because each dataclass costs every cold start half a
millisecond.
"""

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from unum_runtime.asl.numbers import is_number
from unum_runtime.cold_start.records import dataclass, field
from unum_runtime.json_text import to_ascii
from unum_runtime.model.states import Json

Key: TypeAlias = str | int
"""Name of a field, or index of an item."""

Select: TypeAlias = Callable[[Json, Json], Sequence[Json] | None]
"""Function from a value, and the value at the beginning of the path, to the selected values."""


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


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step.

    Attributes:
        text: canonical text, in brackets.
        select: function from a value, and the value at the beginning of the path, to the selected values.
        is_definite: True if the step selects at most one value.
        key: single name or index; None for other steps.
        inside: step that a descent takes from each value inside; None for other steps.
    """

    text: str
    select: Select = field(compare=False)
    is_definite: bool = False
    key: Key | None = None
    inside: "Step | None" = None


def child(key: Key) -> Step:
    """Return ``.name``, ``['name']`` or ``[0]``; a negative index counts from the end."""
    select = _field(key) if isinstance(key, str) else _items_at((key,))
    return Step(text=brackets(key), select=select, is_definite=True, key=key)


def subset(names: Sequence[str]) -> Step:
    """Return ``['a','b']`` at the end of a path: one object with the existing fields."""

    def select(node: Json, _root: Json) -> Sequence[Json] | None:
        return ({name: node[name] for name in names if name in node},) if isinstance(node, dict) else None

    return Step(text=brackets(*names), select=select, is_definite=True)


def children(names: Sequence[str]) -> Step:
    """Return ``['a','b']`` inside a path: the values of the existing fields."""

    def select(node: Json, _root: Json) -> Sequence[Json] | None:
        return [node[name] for name in names if name in node] if isinstance(node, dict) else None

    return Step(text=brackets(*names), select=select)


def items(indexes: Sequence[int]) -> Step:
    """Return ``[0,2]``: the items at the existing indexes."""
    return Step(text=brackets(*indexes), select=_items_at(indexes))


def slice_items(start: int | None, stop: int | None) -> Step:
    """Return ``[1:3]``: the items from `start` to before `stop`; negative numbers count from the end."""
    bounds = ("" if bound is None else str(bound) for bound in (start, stop))
    return Step(
        text=f"[{':'.join(bounds)}]", select=lambda node, _root: node[start:stop] if isinstance(node, list) else None
    )


def wildcard() -> Step:
    """Return ``.*`` or ``[*]``: every field or item; nothing of a scalar."""
    return Step(text="[*]", select=lambda node, _root: tuple(_children_of(node)))


def filter_items(condition: Filter) -> Step:
    """Return ``[?(...)]``: all passing items of an array, or a passing object itself.

    Only objects pass, because ``@`` never refers to a scalar. Source: Step Functions Developer Guide, "Paths".
    """

    def select(node: Json, root: Json) -> Sequence[Json] | None:
        if not isinstance(node, dict | list):
            return None
        candidates = node if isinstance(node, list) else [node]
        return [item for item in candidates if isinstance(item, dict) and condition.passes(item, root)]

    return Step(text=f"[?({condition.text})]", select=select)


def filter_itself(condition: Filter) -> Step:
    """Return ``[?(...)]`` after ``..``: a passing object itself; its array must not select it a second time."""

    def select(node: Json, root: Json) -> Sequence[Json]:
        return (node,) if isinstance(node, dict) and condition.passes(node, root) else ()

    return Step(text=f"[?({condition.text})]", select=select)


def descend(step: Step) -> Step:
    """Return ``..step``: selections of `step` in a value and in all values inside it, outer values first."""

    def select(node: Json, root: Json) -> Sequence[Json]:
        return [found for inner in descendants(node) for found in step.select(inner, root) or ()]

    return Step(text=f"..{step.text}", select=select, inside=step)


def descendants(*nodes: Json) -> Iterator[Json]:
    """Yield each of `nodes`, followed by all values inside it, outer values first."""
    todo = [iter(nodes)]
    while todo:
        for node in todo[-1]:
            yield node
            if isinstance(node, dict | list):
                todo.append(_children_of(node))
                break
        else:
            todo.pop()


def _field(name: str) -> Select:
    def select(node: Json, _root: Json) -> Sequence[Json] | None:
        if not isinstance(node, dict):
            return None
        return (node[name],) if name in node else ()

    return select


def _items_at(indexes: Sequence[int]) -> Select:
    def select(node: Json, _root: Json) -> Sequence[Json] | None:
        if not isinstance(node, list):
            return None
        return [node[index] for index in indexes if -len(node) <= index < len(node)]

    return select


def _children_of(node: Json) -> Iterator[Json]:
    if isinstance(node, dict):
        yield from node.values()
    elif isinstance(node, list):
        yield from node
