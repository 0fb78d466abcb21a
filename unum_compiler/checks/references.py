"""What the expressions of a state read: of the context object (``$$``, ``$states.context``), and of variables."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from unum_compiler.parsing.jsonata_fields import is_expression
from unum_compiler.parsing.tree import Choice, State, Work
from unum_runtime.asl.jsonpath.expressions import paths_of
from unum_runtime.asl.jsonpath.path_syntax import PathSyntaxError
from unum_runtime.asl.jsonpath.paths import Path
from unum_runtime.asl.places import element, member
from unum_runtime.model.ir import Json, Language

STATES = "states"
"""The variable of JSONata that everything but the workflow's own variables is in."""

_CONTEXT = f"{STATES}.context"
_LITERAL = ("Result",)


class Reference(NamedTuple):
    """A place at which the context object is read.

    Attributes:
        place: JSON path of the expression.
        field: the state's field that it is in.
        name: what is read, as far as it is certain, such as ``Execution.Id``; empty for all of it.
    """

    place: str
    field: str
    name: str


def references(state: State) -> Iterator[Reference]:
    """Everything that `state` reads of the context object."""
    read = _of_context if state.language is Language.JSONATA else _of_paths
    for where, field, key, text in _expressions(state):
        yield from (Reference(where, field, name) for name in read(key, text))


def variables(state: State) -> Iterator[tuple[str, str]]:
    """(place, name) of every variable that `state` reads; in JSONata also of every function that is none of its own."""
    for where, _, key, text in _expressions(state):
        if state.language is Language.JSONATA:
            names = dict.fromkeys(name.partition(".")[0] for name in _reads(text))
            yield from ((where, name) for name in names if name != STATES)
        else:
            yield from ((where, path.variable) for path in _paths(key, text) if path.variable is not None)


def parts(state: State) -> Iterator[tuple[Mapping[str, Json], str]]:
    """(fields, place) of `state` and of its rules or catchers, as far as they may hold expressions."""
    yield state.data, state.place
    if isinstance(state, Choice):
        yield from (({**rule.condition, **rule.data}, rule.place) for rule in state.rules)
    if isinstance(state, Work):
        yield from ((catcher.data, catcher.place) for catcher in state.catch)


def _expressions(state: State) -> Iterator[tuple[str, str, str, str]]:
    """(place, field of the state, name of the field that it is in, text) of whatever may be an expression."""
    for data, place in parts(state):
        for field, value in data.items():
            if field not in _LITERAL:
                for where, key, text in texts(value, member(place, field), field):
                    yield where, field, key, text


def texts(value: Json, place: str, key: str) -> Iterator[tuple[str, str, str]]:
    """(place, name of the field, text) of every text in `value`, which is in the field `key`."""
    if isinstance(value, dict):
        for name, child in value.items():
            yield from texts(child, member(place, name), name)
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from texts(child, element(place, index), key)
    elif isinstance(value, str):
        yield place, key, value


def _of_paths(key: str, text: str) -> Iterator[str]:
    """The way that each path in `text` takes into the context object, as far as it is certain."""
    return (".".join(map(str, path.keys or ())) for path in _paths(key, text) if path.is_context)


def _paths(key: str, text: str) -> tuple[Path, ...]:
    """The paths in `text`, if it is in a field that has some."""
    if not key.endswith((".$", "Path", "Variable")):
        return ()
    try:
        return paths_of(text)
    except PathSyntaxError:
        return ()  # reported where it is checked


def _of_context(_key: str, text: str) -> Iterator[str]:
    for name in _reads(text) if STATES in text else ():
        if name == STATES:
            yield ""
        elif f"{name}.".startswith(f"{_CONTEXT}."):
            yield name.removeprefix(_CONTEXT).removeprefix(".")


def _reads(text: str) -> list[str]:
    """What the expression `text` reads; nothing if it is none."""
    if not is_expression(text):
        return []
    from unum_runtime.asl.jsonata.check import reads  # noqa: PLC0415 - only where a definition needs it

    return sorted(reads(text))
