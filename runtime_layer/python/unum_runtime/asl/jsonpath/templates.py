"""Payload templates such as ``Assign``, and their expressions. Source: specification, "Payload Template"."""

from collections.abc import Mapping
from functools import cached_property

from unum_runtime.asl.expression_context import Expression, ExpressionContext
from unum_runtime.asl.jsonpath.path_syntax import PathSyntaxError
from unum_runtime.asl.jsonpath.paths import Path, parse, path_reader
from unum_runtime.asl.places import element, member
from unum_runtime.asl.states_errors import RuntimeFailure
from unum_runtime.cold_start.records import dataclass
from unum_runtime.errors import DefinitionError, Problem
from unum_runtime.model.states import Json

_DYNAMIC = ".$"


def compile_expression(text: str, *, field: str) -> Expression:
    """Compile the expression `text`.

    Args:
        text: value of the field.
        field: name of the field, such as ``name.$``, for the cause of a failure.

    Raises:
        PathSyntaxError: `text` is neither a path nor an intrinsic function.
    """
    if text.startswith("$"):
        return path_reader(parse(text), lambda: f"The JSONPath '{text}' specified for the field '{field}'")
    # Intrinsic functions import hashlib, uuid and more, which would lengthen each cold start.
    from unum_runtime.asl.jsonpath.intrinsics import compile_call  # noqa: PLC0415 - see above

    return compile_call(text)


def list_paths(text: str) -> tuple[Path, ...]:
    """Return all paths in the expression `text`, which show its variables and context object fields.

    Raises:
        PathSyntaxError: `text` is neither a path nor an intrinsic function.
    """
    if text.startswith("$"):
        return (parse(text),)
    from unum_runtime.asl.jsonpath.intrinsics import paths_in  # noqa: PLC0415 - see above

    return paths_in(text)


@dataclass(frozen=True)
class Template:
    """A payload template, compiled at its first use.

    Attributes:
        raw: template from the definition.
    """

    raw: Json

    def render(self, data: Json, context: ExpressionContext) -> Json:
        """Return a new payload; values selected by paths are shared with `data` and `context`.

        Raises:
            RuntimeFailure: a path has no value, or the deployment gave text that breaks the grammar.
            IntrinsicFailure: invalid arguments of an intrinsic function.
        """
        return self._evaluate(data, context)

    @cached_property
    def _evaluate(self) -> Expression:
        try:
            return _compile(self.raw, "$")
        except DefinitionError as error:  # the deployment filled a placeholder with text that breaks the grammar
            raise RuntimeFailure(str(error)) from None


def compile_template(raw: Json, *, where: str = "$") -> Template:
    """Check and return the template `raw`.

    Args:
        raw: template from the definition.
        where: JSON path of `raw` in the definition.

    Raises:
        DefinitionError: contains every problem of the template with its JSON path.
    """
    _compile(raw, where)
    return Template(raw)


def template_field(fields: Mapping[str, Json], name: str) -> Template | None:
    """Return the template in field `name`, or None if absent."""
    return Template(fields[name]) if name in fields else None


def _compile(raw: Json, where: str) -> Expression:
    problems: list[Problem] = []
    evaluate = _value(raw, where, problems)
    # The specification demands an object ("Payload Template"); Step Functions also runs arrays and texts.
    if not isinstance(raw, dict | list | str):
        problems.append(Problem(where, f"expected an object, an array or a text; got {raw!r}"))
    if problems:
        raise DefinitionError(tuple(problems))
    return evaluate


def _value(raw: Json, where: str, problems: list[Problem]) -> Expression:
    if isinstance(raw, dict):
        members = tuple(_member(raw, key, member(where, key), problems) for key in raw)
        return lambda data, context: {name: value(data, context) for name, value in members}
    if isinstance(raw, list):
        items = tuple(_value(item, element(where, index), problems) for index, item in enumerate(raw))
        return lambda data, context: [value(data, context) for value in items]
    return lambda _data, _context: raw


def _member(raw: dict[str, Json], key: str, where: str, problems: list[Problem]) -> tuple[str, Expression]:
    if not key.endswith(_DYNAMIC):
        return key, _value(raw[key], where, problems)
    name = key.removesuffix(_DYNAMIC)
    if name in raw:
        problems.append(Problem(where, f"expected one of {name!r} and {key!r}, got both for one field; drop one"))
    return name, _dynamic(raw[key], key, where, problems)


def _dynamic(text: Json, field: str, where: str, problems: list[Problem]) -> Expression:
    if not isinstance(text, str):
        allowed = "a path or an intrinsic function, because the name ends in .$"
        problems.append(Problem(where, f"expected {allowed}; got {text!r}"))
        return _value(None, where, problems)
    try:
        return compile_expression(text, field=field)
    except PathSyntaxError as error:
        problems.append(Problem(where, str(error), error.feature))
        return _value(None, where, problems)
