"""From the JSON of a definition to the typed tree; reports everything that is wrong with its shape."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from unum_compiler.parsing.expressions import check_condition, read_data
from unum_compiler.parsing.fields import DATA, KINDS, RULES, SCOPES, STATES
from unum_compiler.parsing.maps import check_map, processor_field, read_mode
from unum_compiler.parsing.numbers import check_fixed_number
from unum_compiler.parsing.object_reader import Part
from unum_compiler.parsing.recovery import read_catch, read_retry
from unum_compiler.parsing.task_resources import Resources
from unum_compiler.parsing.tree import (
    Choice,
    Fail,
    Machine,
    Map,
    Opaque,
    Parallel,
    Pass,
    Rule,
    Scope,
    State,
    Succeed,
    Task,
    Transition,
    Wait,
)
from unum_compiler.problems import Report, did_you_mean, listed, shown
from unum_runtime.asl.places import element, member
from unum_runtime.model.ir import Json, Language

MAX_NAME_CHARACTERS = 80
"""Of a state's name. Source: AWS Step Functions Developer Guide, "State machine structure"."""

_VERSION = "1.0"
_WORK = ("Task", "Parallel", "Map")
_RESULT = frozenset(("result",))
_WITHOUT_NEXT = ("Succeed", "Fail", "Choice")
_WAITS: Mapping[Language, tuple[str, ...]] = {
    Language.JSONPATH: ("Seconds", "SecondsPath", "Timestamp", "TimestampPath"),
    Language.JSONATA: ("Seconds", "Timestamp"),
}

_Shared: TypeAlias = dict[str, Any]
"""The arguments that all kinds of state take."""


def read(definition: Json, functions: Collection[str] | None, report: Report) -> Machine:
    """The tree of `definition`, as far as it can be read.

    Args:
        definition: a state machine.
        functions: the known function keys; None accepts every name.
        report: where problems go.
    """
    machine = Part(definition if isinstance(definition, dict) else {}, "$", Language.JSONPATH, report)
    if machine.fields.get("Version", _VERSION) != _VERSION:
        report.mistake("$.Version", f"expected {shown(_VERSION)}, got {shown(machine.fields['Version'])}")
    timeout_s = machine.fields.get("TimeoutSeconds")
    if machine.has("TimeoutSeconds"):
        check_fixed_number(machine, "TimeoutSeconds")
    scope = _Reader(functions, report, _language(machine)).scope(definition, "$", "a state machine")
    return Machine(place=scope.place, start_at=scope.start_at, states=scope.states, timeout_s=timeout_s)


def _language(part: Part) -> Language:
    """The query language that `part` names, else the one around it."""
    name = part.optional("QueryLanguage", str)
    if name is not None and name not in tuple(Language):
        part.report.mistake(part.at("QueryLanguage"), f'expected "JSONPath" or "JSONata", got {shown(name)}')
    elif name == Language.JSONPATH and part.language is Language.JSONATA:
        message = "a state machine in JSONata cannot have states in JSONPath; set the language in the other states"
        part.report.mistake(part.at("QueryLanguage"), message)
    return Language(name) if name in tuple(Language) else part.language


class _Reader:
    """What all readers of one definition share; `language` is that of states which name none."""

    def __init__(self, functions: Collection[str] | None, report: Report, language: Language) -> None:
        self._report = report
        self._language = language
        self._resources = Resources(functions, report)
        self._kinds: Mapping[str, Callable[[_Shared, Part], State]] = {
            "Task": self._task,
            "Pass": lambda shared, _state: Pass(**shared),
            "Choice": self._choice,
            "Wait": self._wait,
            "Succeed": lambda shared, _state: Succeed(**shared),
            "Fail": self._fail,
            "Parallel": self._parallel,
            "Map": self._map,
        }

    def scope(self, value: Json, place: str, what: str) -> Scope:
        """The scope in `value`, which should be `what`."""
        if not isinstance(value, dict):
            self._report.mistake(place, f'expected {what}: an object with "StartAt" and "States", got {shown(value)}')
            return Scope(place=place, start_at=None, states={})
        part = Part(value, place, self._language, self._report)
        part.check_names(what, SCOPES[what])
        part.optional("Comment", str)
        start_at, states = part.required("StartAt", str), part.required("States", dict)
        if states == {}:
            self._report.mistake(part.at("States"), "expected at least one state, got none")
        table = part.at("States")
        return Scope(
            place=place,
            start_at=None if start_at is None else Transition(part.at("StartAt"), start_at),
            states={name: self._state(name, state, member(table, name)) for name, state in (states or {}).items()},
        )

    def _state(self, name: str, value: Json, place: str) -> State:
        if not 1 <= len(name) <= MAX_NAME_CHARACTERS:
            got = f"this one has {len(name)}"
            self._report.mistake(place, f"a state's name has 1 to {MAX_NAME_CHARACTERS} characters, {got}; rename it")
        part = Part(value if isinstance(value, dict) else {}, place, self._language, self._report)
        part = replace(part, language=_language(part))
        shared = _shared(name, part)
        if not isinstance(value, dict):
            self._report.mistake(place, f'expected a state: an object with "Type", got {shown(value)}')
            return Opaque(**shared)
        kind = self._kind(part)
        if kind is None:
            return Opaque(**shared)
        self._check_fields(kind, part)
        _check_next(kind, part)
        states = _RESULT if kind in _WORK else part.states
        shared["data"] = read_data(replace(part, states=states), DATA[part.language][kind])
        return self._kinds[kind](shared, part)

    def _kind(self, state: Part) -> str | None:
        kind = state.required("Type", str)
        if kind is None or kind in KINDS:
            return kind
        self._report.mistake(state.at("Type"), f"there is no type {shown(kind)}; {did_you_mean(kind, KINDS)}")
        return None

    def _check_fields(self, kind: str, state: Part) -> None:
        known = STATES[state.language][kind]
        other = Language.JSONPATH if state.language is Language.JSONATA else Language.JSONATA
        for field in state.fields.keys() - known:
            if field in STATES[other][kind]:
                message = f"{shown(field)} belongs to {other}, and the state's query language is {state.language}"
                self._report.mistake(state.at(field), f"{message}; known here: {listed(known)}")
            else:
                message = f"{kind} has no field {shown(field)}; {did_you_mean(field, known)}"
                self._report.mistake(state.at(field), message)
        state.optional("Comment", str)

    def _task(self, shared: _Shared, state: Part) -> State:
        for field in ("TimeoutSeconds", "HeartbeatSeconds"):
            state.not_both(field, f"{field}Path")
        timeout, heartbeat = state.fields.get("TimeoutSeconds"), state.fields.get("HeartbeatSeconds")
        if isinstance(timeout, int) and isinstance(heartbeat, int) and heartbeat >= timeout:
            message = f"expected less than the TimeoutSeconds of {timeout}, got {heartbeat}"
            self._report.mistake(state.at("HeartbeatSeconds"), message)
        call = self._resources.resolve(state)
        return Task(**shared, **_recovery(state), **call._asdict())

    def _wait(self, shared: _Shared, state: Part) -> State:
        fields = _WAITS[state.language]
        if sum(state.has(field) for field in fields) != 1:
            present = [field for field in fields if state.has(field)]
            message = f"expected exactly one of {listed(fields)}, got {listed(present) or 'none'}"
            self._report.mistake(state.place, message)
        return Wait(**shared)

    def _fail(self, shared: _Shared, state: Part) -> State:
        for field in ("Error", "Cause"):
            state.not_both(field, f"{field}Path")
        return Fail(**shared)

    def _choice(self, shared: _Shared, state: Part) -> State:
        rules = state.required("Choices", list)
        if rules == []:
            self._report.mistake(state.at("Choices"), "expected at least one rule, got none")
        what = 'a rule: an object with a comparison and "Next"'
        read = tuple(map(self._rule, state.objects("Choices", what))) if rules else ()
        return Choice(**shared, rules=read, default=state.optional("Default", str))

    def _rule(self, rule: Part) -> Rule:
        rule.optional("Comment", str)
        known = RULES[rule.language]
        target = rule.required("Next", str) or ""
        apart = {"Next", "Comment", *known}
        condition = {field: content for field, content in rule.fields.items() if field not in apart}
        if rule.language is Language.JSONATA:
            rule.check_names("a rule", {"Condition", *apart})
        data = read_data(rule, known)
        check_condition(rule, condition)
        return Rule(rule.place, condition, data, target)

    def _parallel(self, shared: _Shared, state: Part) -> State:
        branches = state.required("Branches", list)
        if branches == []:
            self._report.mistake(state.at("Branches"), "expected at least one branch, got none")
        table = state.at("Branches")
        read = (self.scope(branch, element(table, index), "a branch") for index, branch in enumerate(branches or ()))
        return Parallel(**shared, **_recovery(state), branches=tuple(read))

    def _map(self, shared: _Shared, state: Part) -> State:
        check_map(state)
        field = processor_field(state)
        processor = self.scope(state.required(field, object), state.at(field), "an item processor")
        data = shared["data"]
        if "Parameters" in data:
            data["ItemSelector"] = data.pop("Parameters")
        if state.has("ItemReader", "ResultWriter"):
            from unum_compiler.parsing.datasets import check_datasets  # noqa: PLC0415 - only where there are some

            check_datasets(state)
        return Map(**shared, **_recovery(state), processor=processor, distributed=read_mode(state))


def _shared(name: str, state: Part) -> _Shared:
    transitions = tuple(_transitions(state))
    following = state.fields.get("Next")
    return {
        "name": name,
        "place": state.place,
        "language": state.language,
        "data": {},
        "next": following if isinstance(following, str) else None,
        "transitions": transitions,
        "ends": state.fields.get("End") is True or not transitions,
    }


def _recovery(state: Part) -> _Shared:
    return {"retry": read_retry(state), "catch": read_catch(state)}


def _transitions(state: Part) -> Iterator[Transition]:
    """Every field of a state that names another."""
    for field in ("Next", "Default"):
        if isinstance(state.fields.get(field), str):
            yield Transition(state.at(field), state.fields[field])
    for field in ("Choices", "Catch"):
        rules = state.fields.get(field)
        for index, rule in enumerate(rules if isinstance(rules, list) else ()):
            if isinstance(rule, dict) and isinstance(rule.get("Next"), str):
                yield Transition(member(element(state.at(field), index), "Next"), rule["Next"])


def _check_next(kind: str, state: Part) -> None:
    if kind in _WITHOUT_NEXT:
        return
    state.optional("Next", str)
    end = state.optional("End", bool)
    if state.has("Next") and end:
        state.report.mistake(state.place, 'expected "Next" or "End", got both; remove one')
    elif not state.has("Next") and not end:
        state.report.mistake(state.place, 'expected "Next" with the name of a state, or "End": true; got neither')
