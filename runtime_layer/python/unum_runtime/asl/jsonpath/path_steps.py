"""The steps of a path, each of which leads from one JSON value to values inside it.

The rules are those of Jayway JsonPath, to which the specification refers (Paths). A step that does not fit a value
selects None, and one that fits but finds nothing selects an empty sequence: Jayway fails on the first and passes over
the second.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from unum_runtime.asl.jsonpath.filters import Filter, Key, bracketed
from unum_runtime.cold_start.records import dataclass, field
from unum_runtime.model.ir import Json

Select: TypeAlias = Callable[[Json], Sequence[Json] | None]


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step.

    Attributes:
        text: how a path writes it, in brackets.
        select: what it leads to.
        is_definite: it leads to one value at most.
        key: the name or index, if it is just one.
    """

    text: str
    select: Select = field(compare=False)
    is_definite: bool = False
    key: Key | None = None


def child(key: Key) -> Step:
    """``.name``, ``['name']`` or ``[0]``; a negative index counts from the end."""
    select = _field(key) if isinstance(key, str) else _at((key,))
    return Step(text=bracketed(key), select=select, is_definite=True, key=key)


def subset(names: Sequence[str]) -> Step:
    """``['a','b']`` at the end of a path: one object with those of the fields that exist."""

    def select(node: Json) -> Sequence[Json] | None:
        return ({name: node[name] for name in names if name in node},) if isinstance(node, dict) else None

    return Step(text=bracketed(*names), select=select, is_definite=True)


def children(names: Sequence[str]) -> Step:
    """``['a','b']`` inside a path: the value of each of the fields that exist."""

    def select(node: Json) -> Sequence[Json] | None:
        return [node[name] for name in names if name in node] if isinstance(node, dict) else None

    return Step(text=bracketed(*names), select=select)


def items(indexes: Sequence[int]) -> Step:
    """``[0,2]``: the items at those of the indexes that exist."""
    return Step(text=bracketed(*indexes), select=_at(indexes))


def between(start: int | None, stop: int | None) -> Step:
    """``[1:3]``: the items from start to before stop, where negative numbers count from the end."""
    bounds = ("" if bound is None else str(bound) for bound in (start, stop))
    return Step(text=f"[{':'.join(bounds)}]", select=lambda node: node[start:stop] if isinstance(node, list) else None)


def everything() -> Step:
    """``.*`` or ``[*]``: every field or item; nothing of a scalar."""
    return Step(text="[*]", select=lambda node: tuple(_inside(node)))


def where(condition: Filter) -> Step:
    """``[?(...)]``: the items that pass, or an object itself if it passes.

    Only objects pass: ``@`` does not stand for scalars in Step Functions (developer guide, Paths).
    """

    def select(node: Json) -> Sequence[Json] | None:
        if not isinstance(node, dict | list):
            return None
        candidates = node if isinstance(node, list) else [node]
        return [item for item in candidates if isinstance(item, dict) and condition.passes(item)]

    return Step(text=f"[?({condition.text})]", select=select)


def itself_where(condition: Filter) -> Step:
    """``[?(...)]`` after ``..``: an object itself if it passes; its array would select it a second time."""

    def select(node: Json) -> Sequence[Json]:
        return (node,) if isinstance(node, dict) and condition.passes(node) else ()

    return Step(text=f"[?({condition.text})]", select=select)


def everywhere(step: Step) -> Step:
    """``..step``: what the step selects in a value and in everything inside it, outer values first."""

    def select(node: Json) -> Sequence[Json]:
        return [found for inner in _descend(node) for found in step.select(inner) or ()]

    return Step(text=f"..{step.text}", select=select)


def _field(name: str) -> Select:
    return lambda node: (node[name],) if isinstance(node, dict) and name in node else None


def _at(indexes: Sequence[int]) -> Select:
    def select(node: Json) -> Sequence[Json] | None:
        if not isinstance(node, list):
            return None
        return [node[index] for index in indexes if -len(node) <= index < len(node)]

    return select


def _inside(node: Json) -> Iterator[Json]:
    if isinstance(node, dict):
        yield from node.values()
    elif isinstance(node, list):
        yield from node


def _descend(node: Json) -> Iterator[Json]:
    yield node
    for inner in _inside(node):
        yield from _descend(inner)
