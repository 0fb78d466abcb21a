"""The order of data flow in a state: InputPath, Parameters, the state's work, ResultSelector, ResultPath, OutputPath.

(Specification, Using InputPath, Parameters, ResultSelector, ResultPath and OutputPath.)

Values are shared, not copied, wherever a path selects them. Whoever gives a value to code that may change it must
give a copy, or the raw input, which ResultPath needs afterwards, changes with it.
"""

from collections.abc import Callable, Mapping

from unum_runtime.asl.expression_context import ExpressionContext
from unum_runtime.asl.jsonpath.path_syntax import PathSyntaxError
from unum_runtime.asl.jsonpath.paths import Path, PathNotFound, parse, put, read
from unum_runtime.asl.jsonpath.templates import Template, compile_template
from unum_runtime.asl.places import member
from unum_runtime.asl.states_errors import RuntimeFailure
from unum_runtime.cold_start.records import dataclass
from unum_runtime.errors import DefinitionError, Problem
from unum_runtime.model.ir import Json


@dataclass(frozen=True, kw_only=True)
class DataFlow:
    """The five fields. A path that is None is JSON null; a template that is None is absent.

    Attributes:
        input_path: selects from the raw input; null stands for ``{}``.
        parameters: makes the effective input from that.
        result_selector: makes the effective result from the result.
        result_path: where in the raw input the effective result goes; null drops it.
        output_path: selects from that; null stands for ``{}``.
    """

    input_path: str | None = "$"
    parameters: Template | None = None
    result_selector: Template | None = None
    result_path: str | None = "$"
    output_path: str | None = "$"

    @classmethod
    def of(cls, fields: Mapping[str, Json]) -> "DataFlow":
        """The data flow of a state that has `fields`, under their names in the definition; others are left alone.

        Nothing is compiled yet: paths are when they are first followed, templates when they are first rendered.
        """
        return cls(
            input_path=fields.get("InputPath", "$"),
            parameters=_template(fields, "Parameters"),
            result_selector=_template(fields, "ResultSelector"),
            result_path=fields.get("ResultPath", "$"),
            output_path=fields.get("OutputPath", "$"),
        )


def effective_input(flow: DataFlow, raw: Json, context: ExpressionContext) -> Json:
    """What a state works on: `raw` after InputPath and Parameters.

    Raises:
        RuntimeFailure: a path leads to nothing.
    """
    selected = _select_or_empty(flow.input_path, raw, context)
    return selected if flow.parameters is None else flow.parameters.render(selected, context)


def output(flow: DataFlow, raw: Json, result: Json, context: ExpressionContext) -> Json:
    """What a state passes on: `result` after ResultSelector, put into `raw` at ResultPath, after OutputPath.

    Raises:
        RuntimeFailure: a path leads to nothing.
        ResultPathMatchFailure: the result cannot be put there.
    """
    if flow.result_selector is not None:
        result = flow.result_selector.render(result, context)
    return _select_or_empty(flow.output_path, place(flow.result_path, raw, result), context)


def place(result_path: str | None, raw: Json, result: Json) -> Json:
    """`raw` with `result` at `result_path`; `result` alone for ``$``, `raw` alone for None.

    Raises:
        ResultPathMatchFailure: the result cannot be put there.
    """
    if result_path is None:
        return raw
    return result if result_path == "$" else put(parse(result_path), raw, result)


def select(path: str, data: Json, context: ExpressionContext) -> Json:
    """What `path` selects in `data`, or in `context` if it begins with ``$$`` or a variable.

    Raises:
        RuntimeFailure: it leads to nothing.
    """
    if path == "$":
        return data
    parsed = parse(path)
    try:
        return read(parsed, data, context)
    except PathNotFound as error:
        raise RuntimeFailure(f"Invalid path '{path}' : {error.reason}") from None


def compile_data_flow(fields: Mapping[str, Json], *, where: str = "$") -> DataFlow:
    """The data flow of a state that has `fields`, checked.

    Args:
        fields: fields of a state, under their names in the definition; those of other purposes are left alone.
        where: the JSON path of the state in the definition.

    Raises:
        DefinitionError: with every problem in the five fields and its JSON path.
    """
    problems: list[Problem] = []
    for name, check in _CHECKS.items():
        if name in fields:
            problems += check(fields[name], member(where, name))
    if problems:
        raise DefinitionError(tuple(problems))
    return DataFlow.of(fields)


def check_path(text: Json, where: str) -> list[Problem]:
    """What keeps `text` from being a path, or null."""
    return _check(text, where, lambda _path: None)


def check_reference(text: Json, where: str) -> list[Problem]:
    """What keeps `text` from being a reference path, or null."""
    return _check(text, where, _reference_fault)


def check_result_path(text: Json, where: str) -> list[Problem]:
    """What keeps `text` from being a reference path into the input, or null."""
    return _check(text, where, _result_path_fault)


def _check_template(raw: Json, where: str) -> list[Problem]:
    """What keeps `raw` from being a payload template."""
    try:
        compile_template(raw, where=where)
    except DefinitionError as error:
        return list(error.problems)
    return []


def _check(text: Json, where: str, fault: Callable[[Path], str | None]) -> list[Problem]:
    if text is None:
        return []
    if not isinstance(text, str):
        return [Problem(where, f"expected a path like $.value, or null; got {text!r}")]
    try:
        message = fault(parse(text))
    except PathSyntaxError as error:
        return [Problem(where, str(error), error.feature)]
    return [Problem(where, f"{text!r}: {message}")] if message else []


def _reference_fault(path: Path) -> str | None:
    return None if path.is_reference else "expected a reference path, which has names and indexes from 0 only"


def _result_path_fault(path: Path) -> str | None:
    if path.root_text != "$":
        return "a result goes into the input, not into the context object or a variable; begin with $."
    return _reference_fault(path)


_CHECKS: dict[str, Callable[[Json, str], list[Problem]]] = {
    "InputPath": check_path,
    "Parameters": _check_template,
    "ResultSelector": _check_template,
    "ResultPath": check_result_path,
    "OutputPath": check_path,
}


def _template(fields: Mapping[str, Json], name: str) -> Template | None:
    return Template(fields[name]) if name in fields else None


def _select_or_empty(path: str | None, data: Json, context: ExpressionContext) -> Json:
    return {} if path is None else select(path, data, context)
