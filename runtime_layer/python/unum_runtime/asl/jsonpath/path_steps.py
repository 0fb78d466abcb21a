"""Path steps: functions from one JSON value to selected values inside it.

The rules are Jayway JsonPath's, as the specification requires ("Paths"). A step that does not fit the type of a value
selects None, a step that fits but finds nothing selects an empty sequence: the first is an error in every path, the
second only in definite paths.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from unum_runtime.asl.jsonpath.filters import Filter, Key, brackets
from unum_runtime.cold_start.records import dataclass, field
from unum_runtime.model.states import Json

Select: TypeAlias = Callable[[Json, Json], Sequence[Json] | None]
"""Function from a value, and the value at the beginning of the path, to the selected values."""


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
