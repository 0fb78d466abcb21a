"""Context object reads (``$$``, ``$states.context``) and variable reads in a state's expressions; checks of variables.

Source of the rules: AWS Step Functions Developer Guide, "Passing data between states with variables".
"""

from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import NamedTuple

from unum_compiler.parsing.holes import fill, is_any_path, is_known, texts
from unum_compiler.parsing.jsonata_fields import fill_query, is_expression
from unum_compiler.parsing.tree import Catcher, Choice, Map, Scope, State, Work, scopes_inside
from unum_compiler.problems import Report, shown
from unum_runtime.asl.jsonpath.path_syntax import PathSyntaxError
from unum_runtime.asl.jsonpath.paths import Path
from unum_runtime.asl.jsonpath.templates import list_paths
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


MAX_NAME_CHARACTERS = 80
_DYNAMIC = ".$"


def check_variables(machine: Scope, report: Report) -> None:
    """Report variables with an invalid name, and assignments to variables of an outer scope."""
    _check_scope(machine, {}, report)


def _check_scope(scope: Scope, outer: Mapping[str, str], report: Report) -> None:
    """Check assignments in `scope`; `outer` holds first assignments of outer variables."""
    own: dict[str, str] = {}
    for state in scope.states.values():
        caught = frozenset(
            place for rule in _catchers(state) for _, place in _names(rule.data, rule.place, state.language)
        )
        for name, place in _assigned(state):
            # Step Functions accepts a variable of a catcher in a branch: the branch's own value ends with the branch.
            if place not in caught:
                own.setdefault(name, place)
            if fault := _fault(name):
                report.mistake(place, f"{shown(name)} cannot be the name of a variable: {fault}")
            if name in outer:
                message = f"the variable {shown(name)} belongs to the outer scope, which assigns it at {outer[name]}"
                report.mistake(place, f"{message}; rename one, or return the value in the output")
    visible = {**own, **outer}
    for state in scope.states.values():
        for inner in scopes_inside(state):
            _check_scope(inner, visible, report)


def unassigned(machine: Scope) -> Iterator[tuple[str, str, frozenset[str]]]:
    """Yield (name, place, visible names) of every read of a variable that no visible state assigns."""
    return _unassigned(machine, frozenset())


def _unassigned(scope: Scope, outer: frozenset[str]) -> Iterator[tuple[str, str, frozenset[str]]]:
    visible = outer | {name for state in scope.states.values() for name, _ in _assigned(state)}
    for state in scope.states.values():
        yield from ((name, place, visible) for place, name in variables(state) if name not in visible)
        # Step Functions runs branches of a distributed Map as executions of their own, without outer variables.
        inside = frozenset() if isinstance(state, Map) and state.distributed else visible
        for inner in scopes_inside(state):
            yield from _unassigned(inner, inside)


def _assigned(state: State) -> Iterator[tuple[str, str]]:
    """Yield (name, place) of every variable that `state` assigns."""
    yield from _names(state.data, state.place, state.language)
    rules = state.rules if isinstance(state, Choice) else _catchers(state)
    for rule in rules:
        yield from _names(rule.data, rule.place, state.language)


def _catchers(state: State) -> tuple[Catcher, ...]:
    return state.catch if isinstance(state, Work) else ()


def _names(data: Mapping[str, Json], place: str, language: Language) -> Iterator[tuple[str, str]]:
    table = data.get("Assign")
    for key in table if isinstance(table, dict) else ():
        name = key.removesuffix(_DYNAMIC) if language is Language.JSONPATH else key
        yield name, member(member(place, "Assign"), key)


def _fault(name: str) -> str | None:
    if not name.isidentifier():
        return "expected letters, digits and underscores, and no digit at the beginning"
    if len(name) > MAX_NAME_CHARACTERS:
        return f"expected at most {MAX_NAME_CHARACTERS} characters, got {len(name)}"
    return "it is reserved" if name == STATES else None
