"""Checks of workflow variables: names and scopes.

Source of the rules: AWS Step Functions Developer Guide, "Passing data between states with variables".
"""

from collections.abc import Iterator, Mapping

from unum_compiler.checks.references import STATES, variables
from unum_compiler.parsing.tree import Catcher, Choice, Map, Scope, State, Work, scopes_inside
from unum_compiler.problems import Report, shown
from unum_runtime.asl.places import member
from unum_runtime.model.states import Json, Language

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
