"""Checks of reads of the context object.

Source: AWS Step Functions Developer Guide, "Accessing execution data from the Context object".
"""

import re

from unum_compiler.checks.references import Reference, expression_texts, references
from unum_compiler.parsing.tree import Map, Scope, State, Task, all_states, scopes_inside
from unum_compiler.problems import Report, did_you_mean, shown
from unum_runtime.model.states import Language

_EVERYWHERE = (
    *("Execution.Id", "Execution.Input", "Execution.Name", "Execution.RedriveCount", "Execution.RedriveTime"),
    *("Execution.RoleArn", "Execution.StartTime"),
    *("State.EnteredTime", "State.Name", "State.RetryCount", "StateMachine.Id", "StateMachine.Name"),
)
_SOURCE = "Map.Item.Source"
_ITEM = ("Map.Item.Index", "Map.Item.Key", _SOURCE, "Map.Item.Value")
_TASK = "Task.Token"
_ROOTS = {Language.JSONPATH: "$$", Language.JSONATA: "$states.context"}
_INPUT = "Execution.Input"
_REDRIVES = ("Execution.RedriveCount", "Execution.RedriveTime")
_CHILD = ("Execution.Id", "Execution.Name", "Execution.StartTime")
"""Fields that differ in the child executions of a distributed Map."""
_RANDOM = {
    Language.JSONPATH: re.compile(r"States\.(UUID|MathRandom)\("),
    Language.JSONATA: re.compile(r"\$(uuid|random|shuffle|eval)\b"),
}
"""Functions with random results, and one that runs any other."""


def check_context(machine: Scope, report: Report) -> None:
    """Report reads of missing or unsupported context object fields."""
    for state in all_states(machine):
        for reference in references(state):
            _check(state, reference, report)


def keeps_input(machine: Scope) -> bool:
    """Return True if some expression reads, or may read, the execution's input."""
    return _reads(machine, _INPUT)


def counts_redrives(machine: Scope) -> bool:
    """Return True if some expression reads, or may read, the number or time of redrives."""
    return any(_reads(machine, field) for field in _REDRIVES)


def names_children(machine: Scope) -> bool:
    """Return True if some expression in a distributed Map reads, or may read, the identity of its child execution."""
    inside = (
        scope
        for state in all_states(machine)
        if isinstance(state, Map) and state.distributed
        for scope in scopes_inside(state)
    )
    return any(_reads(scope, field) for scope in inside for field in _CHILD)


def draws(machine: Scope) -> bool:
    """Return True if some expression draws, or may draw, random numbers."""
    texts = ((state.language, text) for state in all_states(machine) for text in expression_texts(state))
    return any(_RANDOM[language].search(text) for language, text in texts)


def names_sources(state: State) -> bool:
    """Return True if the ``ItemSelector`` of `state` reads, or may read, the source of an item."""
    names = [reference.name for reference in references(state) if reference.field == "ItemSelector"]
    return any(_is_within(name, (_SOURCE,)) or _is_around(name, (_SOURCE,)) for name in names)


def _reads(machine: Scope, field: str) -> bool:
    names = (reference.name for state in all_states(machine) for reference in references(state))
    # An expression that takes the whole context object, or an object in it, may use the field.
    return any(_is_within(name, (field,)) or _is_around(name, (field,)) for name in names)


def _check(state: State, reference: Reference, report: Report) -> None:
    place, name = reference.place, reference.name
    known, root = _readable_fields(state, reference.field), _ROOTS[state.language]
    if _is_within(name, known) or _is_around(name, known):
        return
    if item := _around(name, _ITEM):
        # "[...] not within the states included in the ItemProcessor section": the Developer Guide, as above.
        remedy = "pass it to the states in the branch with that field"
        report.mistake(place, f'only "ItemSelector" of a Map has {root}.{item}, in Step Functions too; {remedy}')
    elif _is_within(name, (_TASK,)):
        report.mistake(place, f"only a Task has {root}.{_TASK}")
    else:
        report.mistake(place, f"the context object has no {shown(f'{root}.{name}')}; {did_you_mean(name, known)}")


def _readable_fields(state: State, field: str) -> tuple[str, ...]:
    if isinstance(state, Map) and field == "ItemSelector":
        return (*_EVERYWHERE, *_ITEM)
    if isinstance(state, Task):
        return (*_EVERYWHERE, _TASK)
    return _EVERYWHERE


def _around(name: str, fields: tuple[str, ...]) -> str | None:
    """Return the field among `fields` that is or contains `name`."""
    return next((field for field in fields if _is_within(name, (field,))), None)


def _is_within(name: str, fields: tuple[str, ...]) -> bool:
    return any(f"{name}.".startswith(f"{field}.") for field in fields)


def _is_around(name: str, fields: tuple[str, ...]) -> bool:
    return not name or any(field.startswith(f"{name}.") for field in fields)
