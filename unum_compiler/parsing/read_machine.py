"""Typed tree of a definition, read from JSON.

To support a new state field, add its name to `fields`, its check to `data_flow_fields` and `jsonata_fields`, and, only
if the tree needs it, its value to the reader of the state below. Reading continues after every problem.

Source of the rules: the ASL specification, "Errors"; AWS Step Functions Developer Guide, "Handling errors".
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from unum_compiler.parsing import tree
from unum_compiler.parsing.data_flow_fields import check_condition, read_data
from unum_compiler.parsing.fields import CATCHERS, DATA, KINDS, RULES, SCOPES, STATES, check_number
from unum_compiler.parsing.object_reader import Part, is_placeholder
from unum_compiler.parsing.task_resources import Resources
from unum_compiler.parsing.tree import Catcher
from unum_compiler.problems import Report, did_you_mean, listed, shown
from unum_runtime.asl.places import element, member
from unum_runtime.model.states import Json, Language, Retrier

MAX_NAME_CHARACTERS = 80
"""Maximal length of a state's name. Source: AWS Step Functions Developer Guide, "State machine structure"."""

_VERSION = "1.0"
_WORK = ("Task", "Parallel", "Map")
_RESULT = frozenset(("result",))
_WITHOUT_NEXT = ("Succeed", "Fail", "Choice")
_WAITS: Mapping[Language, tuple[str, ...]] = {
    Language.JSONPATH: ("Seconds", "SecondsPath", "Timestamp", "TimestampPath"),
    Language.JSONATA: ("Seconds", "Timestamp"),
}

_Shared: TypeAlias = dict[str, Any]
"""Arguments of every class of state."""


def read(definition: Json, functions: Collection[str] | None, report: Report) -> tree.Machine:
    """Return the tree of `definition`; a state with problems becomes `Opaque`.

    Args:
        definition: a state machine.
        functions: known function keys; None accepts every name.
        report: collector of problems.
    """
    machine = Part(definition if isinstance(definition, dict) else {}, "$", Language.JSONPATH, report)
    if machine.fields.get("Version", _VERSION) != _VERSION:
        report.mistake("$.Version", f"expected {shown(_VERSION)}, got {shown(machine.fields['Version'])}")
    timeout_s = machine.fields.get("TimeoutSeconds")
    if machine.has("TimeoutSeconds"):
        check_number(machine, "TimeoutSeconds")
    scope = _Reader(functions, report, _language(machine)).scope(definition, "$", "a state machine")
    return tree.Machine(place=scope.place, start_at=scope.start_at, states=scope.states, timeout_s=timeout_s)


def _language(part: Part) -> Language:
    """Return the query language that `part` names, else the language around it."""
    name = part.choice("QueryLanguage", tuple(Language))
    # Developer Guide, "Transforming data with JSONata": states may override JSONPath by JSONata, not the reverse.
    if name == Language.JSONPATH and part.language is Language.JSONATA:
        message = "a state machine in JSONata cannot have states in JSONPath; set the language in the other states"
        part.mistake("QueryLanguage", message)
    return part.language if name is None else Language(name)


class _Reader:
    """State readers by type, for one definition; `language` is the default query language."""

    def __init__(self, functions: Collection[str] | None, report: Report, language: Language) -> None:
        self._report = report
        self._language = language
        self._resources = Resources(functions, report)
        self._kinds: Mapping[str, Callable[[_Shared, Part], tree.State]] = {
            "Task": self._task,
            "Pass": lambda shared, _state: tree.Pass(**shared),
            "Choice": self._choice,
            "Wait": self._wait,
            "Succeed": lambda shared, _state: tree.Succeed(**shared),
            "Fail": self._fail,
            "Parallel": self._parallel,
            "Map": self._map,
        }

    def scope(self, value: Json, place: str, what: str) -> tree.Scope:
        """Return the scope in `value`; `what` names the expected kind of scope."""
        if not isinstance(value, dict):
            self._report.mistake(place, f'expected {what}: an object with "StartAt" and "States", got {shown(value)}')
            return tree.Scope(place=place, start_at=None, states={})
        part = Part(value, place, self._language, self._report)
        part.check_names(what, SCOPES[what])
        part.optional("Comment", str)
        start_at, states = part.required("StartAt", str), part.non_empty("States", dict, "state")
        table = part.at("States")
        return tree.Scope(
            place=place,
            start_at=None if start_at is None else tree.Transition(part.at("StartAt"), start_at),
            states={name: self._state(name, state, member(table, name)) for name, state in (states or {}).items()},
        )

    def _state(self, name: str, value: Json, place: str) -> tree.State:
        if not 1 <= len(name) <= MAX_NAME_CHARACTERS:
            expected = f"expected a name of 1 to {MAX_NAME_CHARACTERS} characters"
            self._report.mistake(place, f"{expected}, got {len(name)}; rename the state")
        part = Part(value if isinstance(value, dict) else {}, place, self._language, self._report)
        part = replace(part, language=_language(part))
        shared = _shared(name, part)
        if not isinstance(value, dict):
            self._report.mistake(place, f'expected a state: an object with "Type", got {shown(value)}')
            return tree.Opaque(**shared)
        kind = self._kind(part)
        if kind is None:
            return tree.Opaque(**shared)
        self._check_fields(kind, part)
        _check_next(kind, part)
        states = _RESULT if kind in _WORK else part.states
        shared["data"] = read_data(replace(part, states=states), DATA[part.language][kind])
        return self._kinds[kind](shared, part)

    def _kind(self, state: Part) -> str | None:
        kind = state.required("Type", str)
        if kind is None or kind in KINDS:
            return kind
        state.mistake("Type", f"there is no type {shown(kind)}; {did_you_mean(kind, KINDS)}")
        return None

    def _check_fields(self, kind: str, state: Part) -> None:
        known = STATES[state.language][kind]
        other = Language.JSONPATH if state.language is Language.JSONATA else Language.JSONATA
        for field in state.fields.keys() - known:
            if field in STATES[other][kind]:
                message = f"{shown(field)} belongs to {other}, and the state's query language is {state.language}"
                state.mistake(field, f"{message}; known here: {listed(known)}")
            else:
                state.mistake(field, f"{kind} has no field {shown(field)}; {did_you_mean(field, known)}")
        state.optional("Comment", str)

    def _task(self, shared: _Shared, state: Part) -> tree.State:
        for field in ("TimeoutSeconds", "HeartbeatSeconds"):
            state.not_both(field, f"{field}Path")
        # Specification, "Task State": the heartbeat interval must be shorter than the timeout.
        timeout, heartbeat = state.fields.get("TimeoutSeconds"), state.fields.get("HeartbeatSeconds")
        if isinstance(timeout, int) and isinstance(heartbeat, int) and heartbeat >= timeout:
            message = f"expected less than the TimeoutSeconds of {timeout}, got {heartbeat}"
            state.mistake("HeartbeatSeconds", message)
        call = self._resources.resolve(state)
        written = str(state.fields.get("Resource", ""))
        return tree.Task(**shared, **_recovery(state), **call._asdict(), written=written)

    def _wait(self, shared: _Shared, state: Part) -> tree.State:
        fields = _WAITS[state.language]
        if sum(state.has(field) for field in fields) != 1:
            present = [field for field in fields if state.has(field)]
            message = f"expected exactly one of {listed(fields)}, got {listed(present) or 'none'}"
            self._report.mistake(state.place, message)
        return tree.Wait(**shared)

    def _fail(self, shared: _Shared, state: Part) -> tree.State:
        for field in ("Error", "Cause"):
            state.not_both(field, f"{field}Path")
        return tree.Fail(**shared)

    def _choice(self, shared: _Shared, state: Part) -> tree.State:
        rules = state.non_empty("Choices", list, "rule")
        what = 'a rule: an object with a comparison and "Next"'
        read = tuple(map(self._rule, state.objects("Choices", what))) if rules else ()
        return tree.Choice(**shared, rules=read, default=state.optional("Default", str))

    def _rule(self, rule: Part) -> tree.Rule:
        rule.optional("Comment", str)
        known = RULES[rule.language]
        target = rule.required("Next", str) or ""
        others = {"Next", "Comment", *known}
        condition = {field: content for field, content in rule.fields.items() if field not in others}
        if rule.language is Language.JSONATA:
            rule.check_names("a rule", {"Condition", *others})
        data = read_data(rule, known)
        check_condition(rule, condition)
        return tree.Rule(rule.place, condition, data, target)

    def _parallel(self, shared: _Shared, state: Part) -> tree.State:
        branches = state.non_empty("Branches", list, "branch")
        table = state.at("Branches")
        read = (self.scope(branch, element(table, index), "a branch") for index, branch in enumerate(branches or ()))
        return tree.Parallel(**shared, **_recovery(state), branches=tuple(read))

    def _map(self, shared: _Shared, state: Part) -> tree.State:
        check_map(state)
        field = processor_field(state)
        processor = self.scope(state.required(field, object), state.at(field), "an item processor")
        data = shared["data"]
        if "Parameters" in data:  # the older name
            data["ItemSelector"] = data.pop("Parameters")
        if state.has("ItemReader", "ResultWriter"):
            from unum_compiler.parsing.datasets import check_datasets  # noqa: PLC0415 - only where there are some

            check_datasets(state)
        distributed = read_mode(state)
        express = distributed and is_express(state)
        return tree.Map(**shared, **_recovery(state), processor=processor, distributed=distributed, express=express)


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


def _transitions(state: Part) -> Iterator[tree.Transition]:
    """Yield all fields of `state` that name a next state."""
    for field in ("Next", "Default"):
        if isinstance(state.fields.get(field), str):
            yield tree.Transition(state.at(field), state.fields[field])
    for field in ("Choices", "Catch"):
        rules = state.fields.get(field)
        for index, rule in enumerate(rules if isinstance(rules, list) else ()):
            if isinstance(rule, dict) and isinstance(rule.get("Next"), str):
                yield tree.Transition(member(element(state.at(field), index), "Next"), rule["Next"])


def _check_next(kind: str, state: Part) -> None:
    # Specification, table of state types and fields: these types have neither Next nor End.
    if kind in _WITHOUT_NEXT:
        return
    state.optional("Next", str)
    end = state.optional("End", bool)
    if state.has("Next") and end:
        state.report.mistake(state.place, 'expected "Next" or "End", got both; remove one')
    elif not state.has("Next") and not end:
        state.report.mistake(state.place, 'expected "Next" with the name of a state, or "End": true; got neither')


MAX_LABEL_CHARACTERS = 40
"""Maximal length of a ``Label``. Source: AWS Step Functions Developer Guide, "Using Map state in Distributed mode"."""

_CONFIG = ("Mode", "ExecutionType")
_MODES = ("INLINE", "DISTRIBUTED")
# Characters that the guide's page on distributed mode excludes: labels become parts of ARNs.
_NOT_IN_LABELS = re.compile(r"[\s?*<>{}\[\]:;,\\|^~$#%&`\"\x00-\x1f\x7f-\x9f]")
# Placeholders of tokens; see `unum_compiler.frontends.deploy_time_values`.
_OF_DEPLOYMENT = re.compile(r"\$\{Value\d+\}")
_PAIRS = tuple(
    (field, f"{field}Path") for field in ("MaxConcurrency", "ToleratedFailureCount", "ToleratedFailurePercentage")
)


def processor_field(state: Part) -> str:
    """Return the name of the processor's field; ``Iterator`` is its name in older definitions."""
    return "Iterator" if state.has("Iterator") and not state.has("ItemProcessor") else "ItemProcessor"


def check_map(state: Part) -> None:
    """Report mistakes in Map fields of `state`, excluding its processor."""
    for field, older in (("ItemSelector", "Parameters"), ("ItemProcessor", "Iterator")):
        if state.has(field) and state.has(older):
            message = f'expected "{field}" or its older name "{older}", got both; remove "{older}"'
            state.report.mistake(state.place, message)
    for pair in _PAIRS:
        state.not_both(*pair)
    _check_label(state)


def read_mode(state: Part) -> bool:
    """Return True if the Map `state` runs in distributed mode."""
    processor = state.fields.get(processor_field(state))
    if not isinstance(processor, dict):
        return False
    inside = Part(processor, state.at(processor_field(state)), state.language, state.report)
    config = inside.inner("ProcessorConfig")
    distributed = config is not None and _is_distributed(config)
    if not distributed and state.has("ItemBatcher"):
        message = 'only a distributed Map has it; remove it, or set "Mode": "DISTRIBUTED" in its "ProcessorConfig"'
        state.mistake("ItemBatcher", message)
    return distributed


def is_express(state: Part) -> bool:
    """Return True if branches of the valid, distributed Map `state` are Express workflows."""
    config = (state.fields.get(processor_field(state)) or {}).get("ProcessorConfig") or {}
    return bool(config.get("ExecutionType") == "EXPRESS")


def _is_distributed(config: Part) -> bool:
    config.check_names("ProcessorConfig", _CONFIG)
    distributed = config.choice("Mode", _MODES) == "DISTRIBUTED"
    if distributed:
        config.choice("ExecutionType", ("STANDARD", "EXPRESS"))
    elif config.has("ExecutionType"):
        config.mistake("ExecutionType", "only a distributed Map has it; remove it")
    return distributed


def _check_label(state: Part) -> None:
    label = state.optional("Label", str)
    if label is None:
        return
    known = _OF_DEPLOYMENT.sub("", label)
    if not label or len(known) > MAX_LABEL_CHARACTERS:
        state.mistake("Label", f"expected 1 to {MAX_LABEL_CHARACTERS} characters, got {len(known)}; shorten it")
    if wrong := _NOT_IN_LABELS.search(known):
        state.mistake("Label", f"a label cannot contain {shown(wrong[0])}; remove it")


_ALL = "States.ALL"
_JITTER = ("FULL", "NONE")
_NUMBERS: Mapping[str, str] = {
    "IntervalSeconds": "interval_s",
    "MaxAttempts": "max_attempts",
    "BackoffRate": "backoff_rate",
    "MaxDelaySeconds": "max_delay_s",
}
_RETRIER = frozenset(("Comment", "ErrorEquals", "JitterStrategy", *_NUMBERS))
_STATES = frozenset(("errorOutput",))
_CATCHER = frozenset(("Comment", "ErrorEquals", "Next"))


def read_retry(state: Part) -> tuple[Retrier, ...]:
    """Return the retriers of `state`."""
    retriers = tuple(state.objects("Retry", 'a retrier: an object with "ErrorEquals"'))
    _check_order("Retry", retriers, state)
    return tuple(map(_retrier, retriers))


def read_catch(state: Part) -> tuple[Catcher, ...]:
    """Return the catchers of `state`."""
    catchers = tuple(state.objects("Catch", 'a catcher: an object with "ErrorEquals" and "Next"'))
    _check_order("Catch", catchers, state)
    return tuple(map(_catcher, catchers))


def _retrier(part: Part) -> Retrier:
    part.check_names("a retrier", _RETRIER)
    part.optional("Comment", str)
    numbers = {name: part.fields[field] for field, name in _NUMBERS.items() if field in part.fields}
    for field in _NUMBERS.keys() & part.fields.keys():
        check_number(part, field)
    _check_delay(part)
    return Retrier(errors=_errors(part), jitter=_jitter(part), **numbers)


def _jitter(part: Part) -> Any:
    """Return True or False, or the placeholder of a strategy that the deployment knows."""
    strategy = part.fields.get("JitterStrategy")
    return strategy if is_placeholder(strategy) else part.choice("JitterStrategy", _JITTER) == "FULL"


def _check_delay(part: Part) -> None:
    interval, most = part.fields.get("IntervalSeconds"), part.fields.get("MaxDelaySeconds")
    if isinstance(interval, int) and isinstance(most, int) and most <= interval:
        message = f"expected more than the interval of {interval} seconds, got {most}"
        part.mistake("MaxDelaySeconds", f"{message}; it limits the growth of the interval by BackoffRate")


def _catcher(part: Part) -> Catcher:
    known = CATCHERS[part.language]
    part.check_names("a catcher", _CATCHER | known)
    part.optional("Comment", str)
    data = read_data(replace(part, states=_STATES), known)
    return Catcher(part.place, _errors(part), data, part.required("Next", str) or "")


def _errors(part: Part) -> tuple[str, ...]:
    names = part.non_empty("ErrorEquals", list, "error name")
    for index, name in enumerate(names or ()):
        if not isinstance(name, str):
            place = element(part.at("ErrorEquals"), index)
            part.report.mistake(place, f"expected the name of an error, got {shown(name)}")
    return tuple(name for name in names or () if isinstance(name, str))


def _check_order(field: str, rules: tuple[Part, ...], state: Part) -> None:
    """Report misplaced ``States.ALL``: allowed alone in a rule, last in the list.

    Source: ASL specification, "Retrying after error" and "Fallback states".
    """
    # `rules` lacks items of a wrong type, so the position of the last rule comes from the definition.
    written = state.fields.get(field)
    last = element(state.at(field), len(written) - 1) if isinstance(written, list) else ""
    for part in rules:
        names = part.fields.get("ErrorEquals")
        if not isinstance(names, list) or _ALL not in names:
            continue
        if len(names) > 1:
            part.mistake("ErrorEquals", f'"{_ALL}" stands for all errors; remove the other names')
        if part.place != last:
            part.mistake("ErrorEquals", f'no error reaches the rules after "{_ALL}"; put it last')
