"""Context object reads (``$$``, ``$states.context``) and variable reads in a state's expressions."""

from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import NamedTuple

from unum_compiler.parsing.holes import fill, is_any_path, is_known, texts
from unum_compiler.parsing.jsonata_fields import fill_query, is_expression
from unum_compiler.parsing.tree import Choice, State, Work
from unum_runtime.asl.jsonpath.expressions import list_paths
from unum_runtime.asl.jsonpath.path_syntax import PathSyntaxError
from unum_runtime.asl.jsonpath.paths import Path
from unum_runtime.asl.places import member
from unum_runtime.model.states import Json, Language

STATES = "states"
"""JSONata's variable for everything except the workflow's own variables."""

_CONTEXT = f"{STATES}.context"
_LITERAL = ("Result",)
_PATH_FIELDS = (".$", "Path", "Variable")


class Reference(NamedTuple):
    """One context object read.

    Attributes:
        place: JSON path of the expression.
        field: field of the state that has the expression.
        name: certain part of the path that is read, such as ``Execution.Id``; empty for the whole object.
    """

    place: str
    field: str
    name: str


def references(state: State) -> Iterator[Reference]:
    """Yield every read of the context object by `state`."""
    read = _context_variables if state.language is Language.JSONATA else _context_paths
    for where, field, key, text in _expressions(state):
        yield from (Reference(where, field, name) for name in read(key, text))


def expression_texts(state: State) -> Iterator[str]:
    """Yield the texts of all expressions of `state`."""
    yield from (text for _, _, _, text in _expressions(state))


def variables(state: State) -> Iterator[tuple[str, str]]:
    """Yield (place, name) of variables that `state` reads; in JSONata also unknown functions."""
    for where, _, key, text in _expressions(state):
        if state.language is Language.JSONATA:
            names = dict.fromkeys(filter(is_known, (name.partition(".")[0] for name in _reads(text))))
            yield from ((where, name) for name in names if name != STATES)
        else:
            names = dict.fromkeys(path.variable or "" for path in _paths(key, text))
            yield from ((where, name) for name in names if name and is_known(name))


def path_expressions(state: State) -> Iterator[tuple[str, str]]:
    """Yield (place, text) of every path and intrinsic function of `state`."""
    if state.language is Language.JSONPATH:
        yield from ((where, text) for where, _, key, text in _expressions(state) if key.endswith(_PATH_FIELDS))


def parts(state: State) -> Iterator[tuple[Mapping[str, Json], str]]:
    """Yield (fields, place) of `state`, its rules and catchers, if expressions are possible there."""
    yield state.data, state.place
    if isinstance(state, Choice):
        yield from (({**rule.condition, **rule.data}, rule.place) for rule in state.rules)
    if isinstance(state, Work):
        yield from ((catcher.data, catcher.place) for catcher in state.catch)


def _expressions(state: State) -> Iterator[tuple[str, str, str, str]]:
    """Yield (place, state's field, innermost field, text) of potential expressions."""
    for data, place in parts(state):
        for field, value in data.items():
            if field not in _LITERAL:
                for where, key, text in texts(value, member(place, field), field):
                    yield where, field, key, text


def _context_paths(key: str, text: str) -> Iterator[str]:
    """Return certain beginnings of context object paths in `text`."""
    for path in _paths(key, text):
        keys = path.keys or ()
        # The deployment chooses the rest of a path with a hole, which may be any part of the context object.
        if path.is_context or any(map(is_any_path, keys)):
            yield ".".join(map(str, takewhile(is_known, keys))) if path.is_context else ""


def _paths(key: str, text: str) -> tuple[Path, ...]:
    """Return the paths in `text` if its field's name allows paths."""
    # Specification, "Payload Template": other fields hold literal text, even if it looks like a path.
    if not key.endswith(_PATH_FIELDS):
        return ()
    try:
        return list_paths(fill(text, list_paths))
    except PathSyntaxError:
        return ()  # `parsing.data_flow_fields` reports it


def _context_variables(_key: str, text: str) -> Iterator[str]:
    for name in _reads(text) if STATES in text else ():
        if name == STATES:
            yield ""
        elif f"{name}.".startswith(f"{_CONTEXT}."):
            yield name.removeprefix(_CONTEXT).removeprefix(".")


def _reads(text: str) -> list[str]:
    """Return the names that the expression `text` reads; empty for other text."""
    if not is_expression(text):
        return []
    from unum_compiler.jsonata.check import variables_read  # noqa: PLC0415 - only where a definition needs it

    return sorted(variables_read(fill_query(text)))
