"""Kinds of paths, and an evaluator that is written apart from the runtime's, to say what each leads to.

A definite path that leads nowhere has no value; an indefinite one has the array of what it finds, which may be empty.
Recorded error texts of Step Functions are those of the Java library JsonPath: values of a wrong kind follow its rules.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from unum_runtime.model.states import Json

NAMES = frozenset({"name", "index"})
"""Steps that lead to one value at most."""


class LeadsNowhere(Exception):
    """The path has no value in this input."""


@dataclass(frozen=True)
class PathKind:
    """A kind of path.

    Attributes:
        text: the path.
        steps: its steps, each with a kind and arguments.
        root: ``input``, ``context`` or ``function``, for an intrinsic function with one argument.
    """

    text: str
    steps: tuple[tuple[Json, ...], ...] = ()
    root: str = "input"

    @property
    def is_definite(self) -> bool:
        """True for a path that leads to one value at most."""
        return all(kind in NAMES for kind, *_ in self.steps)

    @property
    def is_reference(self) -> bool:
        """True for names and indexes from 0."""
        return self.is_definite and all(kind == "name" or step[0] >= 0 for kind, *step in self.steps)


X = ("name", "x")
B = ("name", "b")
PATHS = (
    PathKind("$"),
    PathKind("$.x", (X,)),
    PathKind("$['x']", (X,)),
    PathKind("$.x ", (X,)),
    PathKind("$.x.b", (X, B)),
    PathKind("$.x['b']", (X, B)),
    PathKind("$.x[0]", (X, ("index", 0))),
    PathKind("$.x[0].b", (X, ("index", 0), B)),
    PathKind("$.x[-1]", (X, ("index", -1))),
    PathKind("$.x[*]", (X, ("all",))),
    PathKind("$.x.*", (X, ("all",))),
    PathKind("$.x[*].b", (X, ("all",), B)),
    PathKind("$.x[*][0]", (X, ("all",), ("index", 0))),
    PathKind("$.x[0:2]", (X, ("elements", 0, 1))),
    PathKind("$.x[0,1]", (X, ("elements", 0, 1))),
    PathKind("$.x[:1]", (X, ("elements", 0))),
    PathKind("$..b", (("descend", "b"),)),
    PathKind("$.x[?(@.b == 1)]", (X, ("filter", "b", 1))),
    PathKind("$.x[?(@.b)]", (X, ("filter", "b", None))),
    PathKind("$$.Execution.Input.x", (X,), "context"),
    PathKind("$$.Execution.Input.x[*]", (X, ("all",)), "context"),
    PathKind("States.Array($.x)", (X,), "function"),
)


def value_at(path: PathKind, document: Json) -> Json:
    """Return the value of `path`.

    Raises:
        LeadsNowhere: it has none.
    """
    found = _follow([document], path.steps, upstream_definite=True)
    if path.root == "function":
        return found
    return found[0] if path.is_definite else found


def _follow(found: list[Json], steps: tuple[tuple[Json, ...], ...], *, upstream_definite: bool) -> list[Json]:
    for position, (kind, *arguments) in enumerate(steps):
        following: list[Json] = []
        for value in found:
            children = list(_children(value, kind, arguments))
            if not children and upstream_definite:
                # A whole that ends in an indefinite step is empty where a name before it is missing.
                if kind in NAMES and all(each in NAMES for each, *_ in steps[position:]):
                    raise LeadsNowhere
                if kind in NAMES and not (kind == "name" and isinstance(value, dict)):
                    raise LeadsNowhere
                if kind in ("elements", "filter") and not _is_applicable(value, kind):
                    raise LeadsNowhere
            following += children
        found = following
        upstream_definite = upstream_definite and kind in NAMES
    return found


def _is_applicable(value: Json, kind: Json) -> bool:
    """Return True if slices, unions and filters may be applied to `value`; to other kinds JsonPath refuses them."""
    return isinstance(value, list) or (kind == "filter" and isinstance(value, dict))


def _children(value: Json, kind: Json, arguments: list[Json]) -> Iterator[Json]:
    if kind == "name" and isinstance(value, dict):
        yield from (value[name] for name in arguments if name in value)
    elif kind in ("index", "elements") and isinstance(value, list):
        yield from (value[index] for index in arguments if -len(value) <= index < len(value))
    elif kind == "all" and isinstance(value, dict | list):
        yield from value.values() if isinstance(value, dict) else value
    elif kind == "filter":
        each = value if isinstance(value, list) else [value]
        yield from (item for item in each if _holds(item, *arguments))
    elif kind == "descend":
        yield from _descendants(value, str(arguments[0]))


def _holds(item: Json, name: Json, wanted: Json) -> bool:
    return isinstance(item, dict) and name in item and (wanted is None or item[name] == wanted)


def _descendants(value: Json, name: str) -> Iterator[Json]:
    if isinstance(value, dict):
        yield from (value[name] for _ in (0,) if name in value)
    for child in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _descendants(child, name)
