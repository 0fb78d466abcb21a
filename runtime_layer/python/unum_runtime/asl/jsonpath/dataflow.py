"""Order of data flow in a state: InputPath, Parameters, the state's work, ResultSelector, ResultPath, OutputPath.

Source: specification, "Using InputPath, Parameters, ResultSelector, ResultPath and OutputPath".

Selected values are shared with the input, not copied. Code that may change a value needs a copy; otherwise the change
reaches the raw input, which ResultPath needs afterwards.
"""

from collections.abc import Callable, Mapping

from unum_runtime.asl.expression_context import ExpressionContext
from unum_runtime.asl.jsonpath.path_syntax import PathSyntaxError
from unum_runtime.asl.jsonpath.paths import Path, PathNotFound, parse, put, read
from unum_runtime.asl.jsonpath.templates import Template, template_field
from unum_runtime.asl.states_errors import RuntimeFailure
from unum_runtime.cold_start.records import dataclass
from unum_runtime.errors import Problem
from unum_runtime.model.states import Json


@dataclass(frozen=True, kw_only=True)
class DataFlow:
    """The five fields of data flow. A path None is JSON null; a template None is an absent field.

    Attributes:
        input_path: selection from the raw input; null selects ``{}``.
        parameters: template of the effective input.
        result_selector: template of the effective result.
        result_path: position of the effective result in the raw input; null drops the result.
        output_path: selection from the combined value; null selects ``{}``.
    """

    input_path: str | None = "$"
    parameters: Template | None = None
    result_selector: Template | None = None
    result_path: str | None = "$"
    output_path: str | None = "$"

    @classmethod
    def of(cls, fields: Mapping[str, Json]) -> "DataFlow":
        """Return the data flow of a state's `fields`, ignoring other fields; compilation happens at first use."""
        return cls(
            input_path=fields.get("InputPath", "$"),
            parameters=template_field(fields, "Parameters"),
            result_selector=template_field(fields, "ResultSelector"),
            result_path=fields.get("ResultPath", "$"),
            output_path=fields.get("OutputPath", "$"),
        )


def effective_input(flow: DataFlow, raw: Json, context: ExpressionContext) -> Json:
    """Return `raw` after InputPath and Parameters.

    Raises:
        RuntimeFailure: a path has no value.
    """
    selected = select_or_empty(flow.input_path, raw, context)
    return selected if flow.parameters is None else flow.parameters.render(selected, context)


def output(flow: DataFlow, raw: Json, result: Json, context: ExpressionContext) -> Json:
    """Return a state's output: `result` after ResultSelector, placed in `raw` at ResultPath, after OutputPath.

    Raises:
        RuntimeFailure: a path has no value.
        ResultPathMatchFailure: ResultPath does not fit `raw`.
    """
    if flow.result_selector is not None:
        result = flow.result_selector.render(result, context)
    return select_or_empty(flow.output_path, apply_result_path(flow.result_path, raw, result), context)


def apply_result_path(result_path: str | None, raw: Json, result: Json) -> Json:
    """Insert `result` at `result_path` of `raw`; ``$`` replaces `raw`, None discards `result`.

    Raises:
        ResultPathMatchFailure: `result_path` does not fit `raw`.
    """
    if result_path is None:
        return raw
    return result if result_path == "$" else put(_parse(result_path), raw, result)


def select(path: str, data: Json, context: ExpressionContext) -> Json:
    """Evaluate `path` in `data`; paths with ``$$`` or a variable read `context`.

    Raises:
        RuntimeFailure: the path has no value.
    """
    if path == "$":  # the default of most fields; skips parser and cache
        return data
    parsed = _parse(path)
    try:
        return read(parsed, data, context)
    except PathNotFound as error:
        # Spelled as AWS records it, with the space before the colon.
        raise RuntimeFailure(f"Invalid path '{path}' : {error.reason}") from None


def _parse(text: str) -> Path:
    try:
        return parse(text)
    except PathSyntaxError as error:  # the deployment filled a placeholder with text that breaks the grammar
        raise RuntimeFailure(str(error)) from None


def select_or_empty(path: str | None, data: Json, context: ExpressionContext) -> Json:
    """Return the value at `path`, or ``{}`` for a null path."""
    return {} if path is None else select(path, data, context)


def check_path(text: Json, where: str) -> list[Problem]:
    """Return problems of a field with a path or null."""
    return _check(text, where, lambda _path: None)


def check_reference(text: Json, where: str) -> list[Problem]:
    """Return problems of a field with a reference path or null."""
    return _check(text, where, _reference_fault)


def check_result_path(text: Json, where: str) -> list[Problem]:
    """Return problems of a field with a null or a reference path into the input."""
    return _check(text, where, _result_path_fault)


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
    return None if path.is_reference else "expected a reference path, which has only names and indexes from 0"


def _result_path_fault(path: Path) -> str | None:
    if path.root_text != "$":
        return "a result goes into the input, not into the context object or a variable; begin with $."
    return _reference_fault(path)
