"""What a definition says that Step Functions takes, and that is most likely not what is meant.

Source: the API reference of Step Functions, ValidateStateMachineDefinitionDiagnostic, for the codes NO_DOLLAR, NO_PATH
and PASS_RESULT_IS_STATIC. The others are warnings of our own, of what AWS was seen to run and nobody can mean.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from unum_compiler.checks.references import parts, references, texts
from unum_compiler.checks.variables import unassigned
from unum_compiler.parsing.tree import Choice, Fail, Pass, Scope, State, Task, Work, all_states
from unum_compiler.problems import did_you_mean, shown
from unum_runtime.asl.jsonpath.expressions import compile_expression
from unum_runtime.asl.jsonpath.path_syntax import PathSyntaxError
from unum_runtime.asl.places import element, member
from unum_runtime.model.ir import ACTIVITY, Json, Language, Pattern


class Code(StrEnum):
    """What is warned of; part of the ids that acknowledge warnings."""

    NO_DOLLAR = "NO_DOLLAR"
    NO_PATH = "NO_PATH"
    STATIC_RESULT = "PASS_RESULT_IS_STATIC"
    UNKNOWN_ERROR = "UNKNOWN_ERROR"
    UNASSIGNED = "UNASSIGNED_VARIABLE"
    NO_TOKEN = "NO_TASK_TOKEN"  # noqa: S105 - the name of a warning


class Warned(NamedTuple):
    """One warning.

    Attributes:
        code: what it is about.
        path: JSON path of the place.
        message: what was found there, what it means, and what to do.
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
"""Names of the errors of Step Functions itself (developer guide, "Handling errors"; specification, Appendix A)."""

_STATUS = "States.Http.StatusCode."
_RESERVED = "states."
_TOKEN = ("", "Task", "Task.Token")
"""What an expression reads of the context object if it may read the token."""

_PATHS = ("$.", "$[", "$$.")
_FUNCTION = "States."
_TEMPLATES = ("Parameters", "ResultSelector", "ItemSelector", "Assign")
_NO_OPERANDS = ("Variable", "Comment")
_NESTED = ("And", "Or")


def warnings(machine: Scope) -> tuple[Warned, ...]:
    """What `machine`, which has no mistakes, most likely does not mean, scope by scope, its variables last."""
    found = (warned for state in all_states(machine) for warned in _of(state))
    return (*found, *_variables(machine))


def _of(state: State) -> Iterator[Warned]:
    if isinstance(state, Work):
        yield from _rules(member(state.place, "Retry"), (rule.errors for rule in state.retry))
        yield from _rules(member(state.place, "Catch"), (rule.errors for rule in state.catch))
    if isinstance(state, Task):
        yield from _token(state)
    if state.language is Language.JSONPATH:
        yield from _static(state)


def _variables(machine: Scope) -> Iterator[Warned]:
    for name, place, visible in unassigned(machine):
        message = f"no state assigns {shown(f'${name}')} where this can see it, and no function has that name; "
        yield Warned(Code.UNASSIGNED, place, message + did_you_mean(name, visible))


def _rules(place: str, rules: Iterable[Sequence[str]]) -> Iterator[Warned]:
    for index, errors in enumerate(rules):
        names = member(element(place, index), "ErrorEquals")
        for position, error in enumerate(errors):
            if error.lower().startswith(_RESERVED) and error not in ERRORS and not error.startswith(_STATUS):
                message = f"no error is called {shown(error)}, and names of your own cannot begin with States.; "
                yield Warned(Code.UNKNOWN_ERROR, element(names, position), message + did_you_mean(error, ERRORS))


def _token(task: Task) -> Iterator[Warned]:
    if task.pattern is not Pattern.CALLBACK or (task.resource or "").startswith(ACTIVITY):
        return
    if all(reference.name not in _TOKEN for reference in references(task)):
        root = "$states.context" if task.language is Language.JSONATA else "$$"
        message = f"it waits for a token that nobody is given; pass {root}.Task.Token on in what is sent"
        yield Warned(Code.NO_TOKEN, task.place, message)


def _static(state: State) -> Iterator[Warned]:
    """Texts that look like paths, at places where nothing is looked up."""
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
            yield Warned(Code.NO_DOLLAR, place, _fixed(text, f"call the field {shown(f'{key}.$')}"))


def _compared(condition: Mapping[str, Json], place: str) -> Iterator[Warned]:
    """Comparisons with a text that looks like a path, in `condition` and in those inside it."""
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
    """Whether `text` is a path or a call of an intrinsic function, out of those that begin so."""
    try:
        return text.startswith(beginnings) and bool(compile_expression(text, field=""))
    except PathSyntaxError:
        return False


def _fixed(text: str, remedy: str) -> str:
    return f"{shown(text)} is taken as it is written, not looked up; {remedy} if you mean what it leads to"
