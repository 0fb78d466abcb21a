"""Warnings about valid definitions that most likely mean something else.

Source of the codes NO_DOLLAR, NO_PATH and PASS_RESULT_IS_STATIC: the API reference of Step Functions,
ValidateStateMachineDefinitionDiagnostic. The other codes are our own, for definitions that AWS was seen to accept.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from unum_compiler.checks.references import parts, references, unassigned
from unum_compiler.parsing.holes import texts
from unum_compiler.parsing.task_resources import SERVICES, qualifier_of
from unum_compiler.parsing.tree import Choice, Fail, Pass, Scope, State, Task, Work, all_states
from unum_compiler.problems import did_you_mean, shown
from unum_runtime.asl.jsonpath.path_syntax import PathSyntaxError
from unum_runtime.asl.jsonpath.templates import compile_expression
from unum_runtime.asl.places import element, member
from unum_runtime.model.called_functions import CALLED
from unum_runtime.model.states import ACTIVITY, SIGNAL, Json, Language, Pattern


class Code(StrEnum):
    """Warning codes, part of acknowledgment ids."""

    NO_DOLLAR = "NO_DOLLAR"
    NO_PATH = "NO_PATH"
    STATIC_RESULT = "PASS_RESULT_IS_STATIC"
    UNKNOWN_ERROR = "UNKNOWN_ERROR"
    UNASSIGNED = "UNASSIGNED_VARIABLE"
    NO_TOKEN = "NO_TASK_TOKEN"  # noqa: S105 - the name of a warning
    UNUSED_QUALIFIER = "UNUSED_QUALIFIER"


class Warned(NamedTuple):
    """One warning.

    Attributes:
        code: kind of warning.
        path: JSON path of the place.
        message: text at the place, its meaning, and a remedy.
    """

    code: Code
    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


ERRORS = frozenset(
    f"States.{name}"
    for name in (
        *("ALL", "BranchFailed", "DataLimitExceeded", "ExceedToleratedFailureThreshold", "HeartbeatTimeout"),
        *("Http.Socket", "IntrinsicFailure", "ItemReaderFailed", "NoChoiceMatched", "ParameterPathFailure"),
        *("Permissions", "QueryEvaluationError", "ResultPathMatchFailure", "ResultWriterFailed", "Runtime"),
        *("TaskFailed", "Timeout"),
    )
)
"""Error names of Step Functions. Source: Developer Guide, "Handling errors"; ASL specification, Appendix A."""

_STATUS = "States.Http.StatusCode."
_RESERVED = "states."
_TOKEN = ("", "Task", "Task.Token")
"""Paths of the context object whose reader may read the task token."""

_PATHS = ("$.", "$[", "$$.")
_FUNCTION = "States."
_TEMPLATES = ("Parameters", "ResultSelector", "ItemSelector", "Assign")
_NO_OPERANDS = ("Variable", "Comment")
_NESTED = ("And", "Or")


def warnings(machine: Scope) -> tuple[Warned, ...]:
    """Return warnings about the valid `machine`: states first, variables last."""
    found = (warned for state in all_states(machine) for warned in _state_warnings(state))
    return (*found, *_unassigned_variables(machine))


def _state_warnings(state: State) -> Iterator[Warned]:
    if isinstance(state, Work):
        yield from _unknown_errors(member(state.place, "Retry"), (rule.errors for rule in state.retry))
        yield from _unknown_errors(member(state.place, "Catch"), (rule.errors for rule in state.catch))
    if isinstance(state, Task):
        yield from _unused_token(state)
        yield from _unused_qualifier(state)
    if state.language is Language.JSONPATH:
        yield from _static_paths(state)


def _unassigned_variables(machine: Scope) -> Iterator[Warned]:
    for name, place, visible in unassigned(machine):
        message = f"no state in a visible scope assigns {shown(f'${name}')}, and no function has that name; "
        yield Warned(Code.UNASSIGNED, place, message + did_you_mean(name, visible))


def _unknown_errors(place: str, rules: Iterable[Sequence[str]]) -> Iterator[Warned]:
    for index, errors in enumerate(rules):
        names = member(element(place, index), "ErrorEquals")
        for position, error in enumerate(errors):
            if error.lower().startswith(_RESERVED) and error not in ERRORS and not error.startswith(_STATUS):
                message = f"Step Functions has no error {shown(error)}, and your own names cannot begin with States.; "
                yield Warned(Code.UNKNOWN_ERROR, element(names, position), message + did_you_mean(error, ERRORS))


def _unused_token(task: Task) -> Iterator[Warned]:
    if task.pattern is not Pattern.CALLBACK or (task.resource or "").startswith((ACTIVITY, SIGNAL)):
        return
    if all(reference.name not in _TOKEN for reference in references(task)):
        root = "$states.context" if task.language is Language.JSONATA else "$$"
        message = f"the Task waits for a callback, but never sends its token; pass {root}.Task.Token in its arguments"
        yield Warned(Code.NO_TOKEN, task.place, message)


def _unused_qualifier(task: Task) -> Iterator[Warned]:
    is_key = task.function != SERVICES or task.called is not None or (task.resource or "").startswith(CALLED)
    for place, name in _functions(task) if is_key else ():
        if (qualifier := qualifier_of(name)) is not None:
            message = (
                f"{shown(qualifier)} has no effect behind the name of a function of the workflow, which runs as it is "
                'deployed; for an alias or a version, pass it in `functions`, or name it by "Qualifier"'
            )
            yield Warned(Code.UNUSED_QUALIFIER, place, message)


def _functions(task: Task) -> Iterator[tuple[str, str]]:
    """Yield place and text of each name of a function."""
    yield member(task.place, "Resource"), task.written
    for field in ("Parameters", "Arguments"):
        named = task.data.get(field)
        if isinstance(named, Mapping) and isinstance(name := named.get("FunctionName"), str):
            yield member(member(task.place, field), "FunctionName"), name


def _static_paths(state: State) -> Iterator[Warned]:
    """Yield texts that look like paths in fields that are not evaluated."""
    for data, place in parts(state):
        for field in _TEMPLATES:
            yield from _undollared(data.get(field), member(place, field), field)
    if isinstance(state, Pass):
        for place, _, text in texts(state.data.get("Result"), member(state.place, "Result"), "Result"):
            if _is_written(text, _PATHS):
                yield Warned(Code.STATIC_RESULT, place, _fixed(text, 'write "Parameters" in place of "Result"'))
    if isinstance(state, Fail):
        yield from _no_path(state.data, state.place)
    if isinstance(state, Choice):
        for rule in state.rules:
            yield from _compared(rule.condition, rule.place)


def _undollared(template: Json, where: str, field: str) -> Iterator[Warned]:
    for place, key, text in texts(template, where, field):
        if not key.endswith(".$") and (text == "$" or _is_written(text, (*_PATHS, _FUNCTION))):
            remedy = (
                'write an object with a field that ends in ".$"'
                if place == where
                else f"call the field {shown(f'{key}.$')}"
            )
            yield Warned(Code.NO_DOLLAR, place, _fixed(text, remedy))


def _compared(condition: Mapping[str, Json], place: str) -> Iterator[Warned]:
    """Yield comparisons with texts that look like paths, in `condition` and in nested conditions."""
    yield from _no_path({name: value for name, value in condition.items() if name not in _NO_OPERANDS}, place)
    if "Not" in condition:
        yield from _compared(condition["Not"], member(place, "Not"))
    for field in _NESTED:
        for index, inner in enumerate(condition.get(field, ())):
            yield from _compared(inner, element(member(place, field), index))


def _no_path(fields: Mapping[str, Json], place: str) -> Iterator[Warned]:
    for name, text in fields.items():
        if isinstance(text, str) and not name.endswith("Path") and _is_written(text, _PATHS):
            yield Warned(Code.NO_PATH, member(place, name), _fixed(text, f"call the field {shown(f'{name}Path')}"))


def _is_written(text: str, beginnings: tuple[str, ...]) -> bool:
    """Return True for a valid path or intrinsic function call that starts with one of `beginnings`."""
    try:
        return text.startswith(beginnings) and bool(compile_expression(text, field=""))
    except PathSyntaxError:
        return False


def _fixed(text: str, remedy: str) -> str:
    return f"{shown(text)} is literal text here, not a path; {remedy} if you mean the value at that path"
