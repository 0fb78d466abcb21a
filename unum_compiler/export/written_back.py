"""A compiled workflow, written back as a definition in the Amazon States Language.

The IR keeps fields with data flow as they were in the definition, so what is written back compiles to the same IR, as
far as the language can say it. Only the nesting, transitions, calls and rules have another form in it.
"""

import re
from collections.abc import Iterator, Mapping

from unum_compiler.parsing.task_resources import FIELD, PREFIX
from unum_compiler.traversal import reachable_from
from unum_runtime.features.signals.mailbox import signal_of
from unum_runtime.model import states
from unum_runtime.model.called_functions import CALLED, INVOKE
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import ACTIVITY, Form, Json, Language, Pattern, State

FUNCTION_KEY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
"""Key of a function that ``${...}`` may contain."""

_INTEGRATION = "arn:aws:states:::"
_ACTIVITIES = "arn:${AWS::Partition}:states:${AWS::Region}:${AWS::AccountId}:"
_SUFFIXES = {Pattern.RESPONSE: "", Pattern.SYNC: ".sync", Pattern.CALLBACK: ".waitForTaskToken"}
_SECOND = ":2"
"""End of an action that ``.sync:2`` waits for."""

_PASSED_ON = {Language.JSONPATH: ("Parameters.$", "$"), Language.JSONATA: ("Parameters", "{% $states.input %}")}


def written_back(workflow: Workflow) -> dict[str, Json]:
    """Return `workflow` as a definition, without what the language lacks; functions are named by ``${key}``."""
    languages = {state.language for state in workflow.states.values()}
    common = Language.JSONATA if languages == {Language.JSONATA} else Language.JSONPATH
    machine: dict[str, Json] = {} if common is Language.JSONPATH else {"QueryLanguage": str(common)}
    if workflow.timeout_s is not None:
        machine["TimeoutSeconds"] = workflow.timeout_s
    return machine | _Writer(workflow, common).scope(workflow.start_at, None)


class _Writer:
    def __init__(self, workflow: Workflow, common: Language) -> None:
        self._workflow, self._common = workflow, common
        self._of_data = {
            task.name: task.next if task.resource == states.READ_ITEMS else None
            for task in workflow.tasks
            if task.resource in states.DATA_SET_TASKS
        }

    def scope(self, start: str, fan_out: str | None, others: tuple[str, ...] = ()) -> dict[str, Json]:
        """Return the scope in `fan_out` that begins with `start`; `others` are starts of its other branches."""
        inside = [each for each in self._workflow.states.values() if each.scope == fan_out]
        if others:  # branches of a Parallel share a scope in the IR
            reached = {*reachable_from([start], self._following)}
            inside = [each for each in inside if each.name in reached]
        shown = (state for state in inside if state.name not in self._of_data)
        return {"StartAt": self._target(start), "States": {each.name: self._state(each) for each in shown}}

    def _following(self, name: str) -> Iterator[str]:
        state = self._workflow.states[name]
        if state.next is not None:
            yield state.next
        if isinstance(state, states.Work):
            yield from (catcher.next for catcher in state.catch)
        if isinstance(state, states.Choice):
            yield from (target for _, target in state.rules)
            yield from () if state.default is None else (state.default,)

    def _target(self, name: str) -> str:
        """Return the state of the definition that transitions to `name` lead to."""
        return self._of_data.get(name) or name

    def _state(self, state: State) -> dict[str, Json]:
        written: dict[str, Json] = {"Type": type(state).__name__, **self._content(state)}
        if state.language is not self._common:
            written["QueryLanguage"] = str(state.language)
        if isinstance(state, states.Work):
            written |= {"Retry": [_retrier(rule) for rule in state.retry]} if state.retry else {}
            written |= {"Catch": [self._catcher(rule) for rule in state.catch]} if state.catch else {}
        if isinstance(state, states.Choice | states.Succeed | states.Fail):
            return written
        following = self._writer_of(state).next if self._has_writer(state) else state.next
        return written | ({"End": True} if following is None else {"Next": self._target(following)})

    def _content(self, state: State) -> dict[str, Json]:
        match state:
            case states.Task():
                return _task(state)
            case states.Choice(rules=rules, default=default):
                written = {**state.data, "Choices": [{**rule, "Next": self._target(to)} for rule, to in rules]}
                return written if default is None else written | {"Default": self._target(default)}
            case states.Parallel(branches=branches):
                scopes = [self.scope(each, state.name, tuple({*branches} - {each})) for each in branches]
                return {**state.data, "Branches": scopes}
            case states.Map():
                return self._map(state)
        return {**state.data}

    def _map(self, state: states.Map) -> dict[str, Json]:
        mode = {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"} if state.distributed else {"Mode": "INLINE"}
        processor = {"ProcessorConfig": mode, **self.scope(state.start, state.name)}
        written: dict[str, Json] = {**state.data, "ItemProcessor": processor}
        if state.reads:
            reader = next(name for name, target in self._of_data.items() if target == state.name)
            written["ItemReader"] = _data_set(self._workflow.task(reader), "ReaderConfig")
        if self._has_writer(state):
            writer = self._writer_of(state)
            written["ResultWriter"] = _data_set(writer, "WriterConfig")
            written |= {name: value for name, value in writer.data.items() if name in _OF_RESULT}
        return written

    def _has_writer(self, state: State) -> bool:
        return isinstance(state, states.Map) and state.writes

    def _writer_of(self, state: State) -> states.Task:
        return self._workflow.task(str(state.next))

    def _catcher(self, rule: states.Catcher) -> dict[str, Json]:
        return {"ErrorEquals": [*rule.errors], **rule.data, "Next": self._target(rule.next)}


_OF_RESULT = ("ResultSelector", "ResultPath", "OutputPath", "Assign", "Output")


def _arguments_field(task: states.Task) -> str:
    return "Arguments" if task.language is Language.JSONATA else "Parameters"


def _task(task: states.Task) -> dict[str, Json]:
    field, data = _arguments_field(task), dict(task.data)
    if task.assumes_role:
        given = data.pop(field)
        data[FIELD] = given[FIELD]
        name, passed_on = _PASSED_ON[task.language]
        if given.get(name) != passed_on:
            data[field] = given["Parameters"]
    if task.form is Form.INVOKE:
        data[field] = {"FunctionName": _placeholder(task.function), **data.get(field, {})}
    elif isinstance(data.get(field), dict) and str(data[field].get("FunctionName")).startswith(CALLED):
        data[field] = {**data[field], "FunctionName": _placeholder(data[field]["FunctionName"])}
    return {"Resource": _resource(task), **data}


def _resource(task: states.Task) -> str:
    if task.form is Form.DIRECT:
        return _placeholder(task.function)
    resource = INVOKE if task.form is Form.INVOKE else str(task.resource)
    if (signal := signal_of(resource)) is not None:
        return f"{PREFIX}{signal}"
    if resource.startswith(ACTIVITY):
        return _ACTIVITIES + resource
    if resource.startswith("arn:"):
        return _placeholder(resource) if resource.startswith(CALLED) else resource
    version = _SECOND if task.pattern is Pattern.SYNC and resource.endswith(_SECOND) else ""
    return f"{_INTEGRATION}{resource.removesuffix(version)}{_SUFFIXES[task.pattern]}{version}"


def _placeholder(function: str) -> str:
    key = function.removeprefix(CALLED)
    return f"${{{key}}}" if FUNCTION_KEY.fullmatch(key) else key


def _data_set(task: states.Task, config: str) -> dict[str, Json]:
    """Return ``ItemReader`` or ``ResultWriter`` from the Task that stands for it."""
    given: Mapping[str, Json] = task.data[_arguments_field(task)]
    written: dict[str, Json] = {"Resource": given["Resource"]} if "Resource" in given else {}
    if "Parameters" in given:
        written[_arguments_field(task)] = given["Parameters"]
    options = {"MaxItemsPath" if name == "MaxItems.$" else name: value for name, value in given[config].items()}
    return written | ({config: options} if options else {})


def _retrier(rule: states.Retrier) -> dict[str, Json]:
    default = states.Retrier(errors=())
    fields: dict[str, tuple[Json, Json]] = {
        "IntervalSeconds": (rule.interval_s, default.interval_s),
        "MaxAttempts": (rule.max_attempts, default.max_attempts),
        "BackoffRate": (rule.backoff_rate, default.backoff_rate),
        "MaxDelaySeconds": (rule.max_delay_s, None),
        "JitterStrategy": ("FULL" if rule.jitter else None, None),
    }
    written = {name: value for name, (value, usual) in fields.items() if value != usual}
    return {"ErrorEquals": [*rule.errors], **written}
