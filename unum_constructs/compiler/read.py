"""From the JSON of a definition to the typed tree; reports everything that is wrong with its shape."""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, TypeAlias, TypeVar

from unum_constructs.compiler import expressions
from unum_constructs.compiler.asl import (
    Choice,
    Fail,
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
)
from unum_constructs.compiler.fields import DATA, KINDS, REMEDIES, SUPPORTED, UNSUPPORTED
from unum_constructs.compiler.report import Feature, Report, did_you_mean, listed, shown
from unum_constructs.compiler.resources import Resources
from unum_runtime.asl.places import element, member
from unum_runtime.model.ir import Json

MAX_NAME_CHARACTERS = 80
"""Of a state's name. Source: AWS Step Functions Developer Guide, "State machine structure"."""

_TERMINAL = ("Succeed", "Fail")
_WITHOUT_NEXT = (*_TERMINAL, "Choice")
_NOTHING: Mapping[str, Feature] = {}

_T = TypeVar("_T")
_Shared: TypeAlias = dict[str, Any]
"""The arguments that all kinds of state take."""


def read(definition: Json, functions: Collection[str] | None, report: Report) -> Scope:
    """The tree of `definition`, as far as it can be read.

    Args:
        definition: a state machine.
        functions: the known function keys; None accepts every name.
        report: where problems go.
    """
    return _Reader(functions, report).machine(definition)


class _Reader:
    """What all readers of one definition share."""

    def __init__(self, functions: Collection[str] | None, report: Report) -> None:
        self._report = report
        self._resources = Resources(functions, report)
        self._kinds: Mapping[str, Callable[[_Shared, dict[str, Json], str], State]] = {
            "Task": self._task,
            "Pass": self._pass,
            "Choice": self._choice,
            "Succeed": self._succeed,
            "Fail": self._fail,
            "Parallel": self._parallel,
            "Map": self._map,
        }

    def machine(self, definition: Json) -> Scope:
        if isinstance(definition, dict) and definition.get("Version", "1.0") != "1.0":
            self._report.mistake("$.Version", f'expected "1.0", got {shown(definition["Version"])}')
        return self._scope(definition, "$", "a state machine")

    def _scope(self, value: Json, place: str, what: str) -> Scope:
        if not isinstance(value, dict):
            self._report.mistake(place, f'expected {what}: an object with "StartAt" and "States", got {shown(value)}')
            return Scope(place=place, start_at=None, states={})
        self._fields(value, place, what)
        start_at = self._required(value, "StartAt", place, str)
        states = self._required(value, "States", place, dict)
        if states == {}:
            self._report.mistake(member(place, "States"), "expected at least one state, got none")
        table = member(place, "States")
        return Scope(
            place=place,
            start_at=None if start_at is None else Transition(member(place, "StartAt"), start_at),
            states={name: self._state(name, state, member(table, name)) for name, state in (states or {}).items()},
        )

    def _state(self, name: str, value: Json, place: str) -> State:
        if not 1 <= len(name) <= MAX_NAME_CHARACTERS:
            got = f"this one has {len(name)}"
            self._report.mistake(place, f"a state's name has 1 to {MAX_NAME_CHARACTERS} characters, {got}; rename it")
        if not isinstance(value, dict):
            self._report.mistake(place, f'expected a state: an object with "Type", got {shown(value)}')
            return Opaque(name=name, place=place, data={}, transitions=(), ends=True)
        transitions = tuple(self._transitions(value, place))
        ends = value.get("End") is True or not transitions
        shared: _Shared = {"name": name, "place": place, "data": {}, "transitions": transitions, "ends": ends}
        kind = self._kind(value, place)
        if kind is None:
            return Opaque(**shared)
        self._fields(value, place, kind)
        self._check_next(kind, value, place)
        shared["data"] = self._data(kind, value, place)
        return self._kinds[kind](shared, value, place)

    def _kind(self, value: dict[str, Json], place: str) -> str | None:
        """The state's type; None if it cannot be compiled."""
        kind = self._required(value, "Type", place, str)
        if kind is None or kind in SUPPORTED:
            return kind
        if kind in KINDS:
            self._report.unsupported(member(place, "Type"), Feature(kind), REMEDIES[Feature(kind)])
        else:
            self._report.mistake(member(place, "Type"), f"there is no type {shown(kind)}; {did_you_mean(kind, KINDS)}")
        return None

    def _fields(self, value: dict[str, Json], place: str, kind: str) -> None:
        """Report the fields that `kind` does not have, and check those that all kinds have."""
        refused = UNSUPPORTED.get(kind, _NOTHING)
        for name in value.keys() - SUPPORTED[kind]:
            if name in refused:
                self._report.unsupported(member(place, name), refused[name], REMEDIES[refused[name]])
            else:
                remedy = did_you_mean(name, SUPPORTED[kind])
                self._report.mistake(member(place, name), f"{kind} has no field {shown(name)}; {remedy}")
        self._optional(value, "Comment", place, str)
        language = self._optional(value, "QueryLanguage", place, str)
        if language == "JSONata":
            self._report.unsupported(member(place, "QueryLanguage"), Feature.JSONATA, REMEDIES[Feature.JSONATA])
        elif language not in (None, "JSONPath"):
            self._report.mistake(member(place, "QueryLanguage"), f'expected "JSONPath", got {shown(language)}')

    def _transitions(self, value: dict[str, Json], place: str) -> Iterator[Transition]:
        """Every field of a state that names another, also in parts of it that are not supported."""
        for field in ("Next", "Default"):
            if isinstance(value.get(field), str):
                yield Transition(member(place, field), value[field])
        for field in ("Choices", "Catch"):
            rules = value.get(field)
            for index, rule in enumerate(rules if isinstance(rules, list) else ()):
                if isinstance(rule, dict) and isinstance(rule.get("Next"), str):
                    yield Transition(member(element(member(place, field), index), "Next"), rule["Next"])

    def _check_next(self, kind: str, value: dict[str, Json], place: str) -> None:
        if kind in _WITHOUT_NEXT:
            return
        self._optional(value, "Next", place, str)
        end = self._optional(value, "End", place, bool)
        if "Next" in value and end:
            self._report.mistake(place, 'expected "Next" or "End", got both; remove one')
        elif "Next" not in value and not end:
            self._report.mistake(place, 'expected "Next" with the name of a state, or "End": true; got neither')

    def _data(self, kind: str, value: dict[str, Json], place: str) -> dict[str, Json]:
        data = {field: value[field] for field in DATA if field in value and field in SUPPORTED[kind]}
        for field, content in data.items():
            expressions.check_field(kind, field, content, member(place, field), self._report)
        return data

    def _task(self, shared: _Shared, value: dict[str, Json], place: str) -> State:
        resource = self._required(value, "Resource", place, object)
        function, form = self._resources.resolve(resource, value, place)
        return Task(**shared, function=function, form=form)

    def _pass(self, shared: _Shared, _value: dict[str, Json], _place: str) -> State:
        return Pass(**shared)

    def _succeed(self, shared: _Shared, _value: dict[str, Json], _place: str) -> State:
        return Succeed(**shared)

    def _fail(self, shared: _Shared, value: dict[str, Json], place: str) -> State:
        error, cause = (self._optional(value, field, place, str) for field in ("Error", "Cause"))
        return Fail(**shared, error=error, cause=cause)

    def _choice(self, shared: _Shared, value: dict[str, Json], place: str) -> State:
        rules = self._required(value, "Choices", place, list)
        if rules == []:
            self._report.mistake(member(place, "Choices"), "expected at least one rule, got none")
        table = member(place, "Choices")
        read = (self._rule(rule, element(table, index)) for index, rule in enumerate(rules or ()))
        return Choice(**shared, rules=tuple(read), default=self._optional(value, "Default", place, str))

    def _rule(self, value: Json, place: str) -> Rule:
        if not isinstance(value, dict):
            self._report.mistake(place, f'expected a rule: an object with a comparison and "Next", got {shown(value)}')
            return Rule({}, "")
        self._optional(value, "Comment", place, str)
        target = self._required(value, "Next", place, str)
        condition = {field: content for field, content in value.items() if field not in ("Next", "Comment")}
        expressions.check_condition(condition, place, self._report)
        return Rule(condition, target or "")

    def _parallel(self, shared: _Shared, value: dict[str, Json], place: str) -> State:
        branches = self._required(value, "Branches", place, list)
        if branches == []:
            self._report.mistake(member(place, "Branches"), "expected at least one branch, got none")
        table = member(place, "Branches")
        read = (self._scope(branch, element(table, index), "a branch") for index, branch in enumerate(branches or ()))
        return Parallel(**shared, branches=tuple(read))

    def _map(self, shared: _Shared, value: dict[str, Json], place: str) -> State:
        self._either(value, "ItemSelector", "Parameters", place)
        self._either(value, "ItemProcessor", "Iterator", place)
        field = "Iterator" if "Iterator" in value and "ItemProcessor" not in value else "ItemProcessor"
        processor = self._required(value, field, place, object)
        inner = member(place, field)
        self._processor_config(processor, inner)
        data = shared["data"]
        if "Parameters" in data:
            data["ItemSelector"] = data.pop("Parameters")
        return Map(
            **shared,
            processor=self._scope(processor, inner, "an item processor"),
            max_concurrency=self._max_concurrency(value, place),
        )

    def _processor_config(self, processor: Json, place: str) -> None:
        if not isinstance(processor, dict) or "ProcessorConfig" not in processor:
            return
        config = self._optional(processor, "ProcessorConfig", place, dict) or {}
        place = member(place, "ProcessorConfig")
        for field in config.keys() - {"Mode", "ExecutionType"}:
            remedy = did_you_mean(field, ("Mode", "ExecutionType"))
            self._report.mistake(member(place, field), f"ProcessorConfig has no field {shown(field)}; {remedy}")
        mode = config.get("Mode", "INLINE")
        if mode == "DISTRIBUTED":
            self._report.unsupported(member(place, "Mode"), Feature.DISTRIBUTED_MAP, REMEDIES[Feature.DISTRIBUTED_MAP])
        elif mode != "INLINE":
            self._report.mistake(member(place, "Mode"), f'expected "INLINE", got {shown(mode)}')
        elif "ExecutionType" in config:
            self._report.mistake(member(place, "ExecutionType"), "only a distributed Map has it; remove it")

    def _max_concurrency(self, value: dict[str, Json], place: str) -> int:
        limit = self._optional(value, "MaxConcurrency", place, int)
        if limit is not None and limit < 0:
            message = f"expected the number of branches at once, or 0 for no limit; got {limit}"
            self._report.mistake(member(place, "MaxConcurrency"), message)
        return limit or 0

    def _either(self, value: dict[str, Json], field: str, older: str, place: str) -> None:
        if field in value and older in value:
            self._report.mistake(place, f'expected "{field}" or its older name "{older}", got both; remove "{older}"')

    def _required(self, value: dict[str, Json], field: str, place: str, kind: type[_T]) -> _T | None:
        if field not in value:
            present = f"there are {listed(value)}" if value else "there is none at all"
            self._report.mistake(place, f'the field "{field}" is missing; {present}')
            return None
        return self._optional(value, field, place, kind)

    def _optional(self, value: dict[str, Json], field: str, place: str, kind: type[_T]) -> _T | None:
        """The field, if it is there and has the right type."""
        if field not in value or _is(kind, value[field]):
            return value.get(field)
        if isinstance(value[field], str) and value[field].startswith("{%"):
            self._report.unsupported(member(place, field), Feature.JSONATA, REMEDIES[Feature.JSONATA])
        else:
            self._report.mistake(member(place, field), f"expected {_KIND_NAMES[kind]}, got {shown(value[field])}")
        return None


_KIND_NAMES: Mapping[type, str] = {
    str: "a string",
    bool: "true or false",
    int: "an integer",
    list: "an array",
    dict: "an object",
}


def _is(kind: type, value: Json) -> bool:
    return isinstance(value, kind) and not (kind is int and isinstance(value, bool))
