"""Workflow variables: how they are called, and which scope they belong to.

Source of the rules: AWS Step Functions Developer Guide, "Passing data between states with variables".
"""

from collections.abc import Iterator, Mapping

from unum_compiler.checks.references import STATES, variables
from unum_compiler.parsing.tree import Choice, Map, Scope, State, Work, scopes_inside
from unum_compiler.problems import Report, shown
from unum_runtime.asl.places import member
from unum_runtime.model.ir import Json, Language

MAX_NAME_CHARACTERS = 80
_DYNAMIC = ".$"


def check_variables(machine: Scope, report: Report) -> None:
    """Report the variables that are named or assigned as they cannot be."""
    _check_scope(machine, {}, report)


def _check_scope(scope: Scope, outer: Mapping[str, str], report: Report) -> None:
    """Check what `scope` assigns; `outer` says where each variable of the scopes around it is assigned."""
    own: dict[str, str] = {}
    for state in scope.states.values():
        for name, place in _assigned(state):
            own.setdefault(name, place)
            if fault := _fault(name):
                report.mistake(place, f"{shown(name)} cannot be the name of a variable: {fault}")
            if name in outer:
                message = f"the variable {shown(name)} belongs to the scope around this one, which assigns it at "
                report.mistake(place, f"{message}{outer[name]}; rename one, or pass the value on in the output")
    visible = {**own, **outer}
    for state in scope.states.values():
        for inner in scopes_inside(state):
            _check_scope(inner, visible, report)


def unassigned(machine: Scope) -> Iterator[tuple[str, str, frozenset[str]]]:
    """(name, place, names that are assigned) of every variable that is read where none of that name can be seen."""
    return _unassigned(machine, frozenset())


def _unassigned(scope: Scope, outer: frozenset[str]) -> Iterator[tuple[str, str, frozenset[str]]]:
    visible = outer | {name for state in scope.states.values() for name, _ in _assigned(state)}
    for state in scope.states.values():
        yield from ((name, place, visible) for place, name in variables(state) if name not in visible)
        # As an execution of its own, what is in a distributed Map sees nothing of those around it.
        inside = frozenset() if isinstance(state, Map) and state.distributed else visible
        for inner in scopes_inside(state):
            yield from _unassigned(inner, inside)


def _assigned(state: State) -> Iterator[tuple[str, str]]:
    """(name, place) of every variable that `state` assigns."""
    yield from _names(state.data, state.place, state.language)
    rules = state.rules if isinstance(state, Choice) else state.catch if isinstance(state, Work) else ()
    for rule in rules:
        yield from _names(rule.data, rule.place, state.language)


def _names(data: Mapping[str, Json], place: str, language: Language) -> Iterator[tuple[str, str]]:
    table = data.get("Assign")
    for key in table if isinstance(table, dict) else ():
        name = key.removesuffix(_DYNAMIC) if language is Language.JSONPATH else key
        yield name, member(member(place, "Assign"), key)


def _fault(name: str) -> str | None:
    if not name.isidentifier():
        return "it has letters, digits and underscores, and begins with no digit"
    if len(name) > MAX_NAME_CHARACTERS:
        return f"it has {len(name)} characters; allowed are {MAX_NAME_CHARACTERS}"
    return "it is reserved" if name == STATES else None
