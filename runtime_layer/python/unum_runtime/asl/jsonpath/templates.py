"""Payload templates, such as ``Parameters``, ``ResultSelector`` and ``Assign`` (specification, Payload Template)."""

from functools import cached_property

from unum_runtime.asl.expression_context import ExpressionContext
from unum_runtime.asl.jsonpath.expressions import Expression, compile_expression
from unum_runtime.asl.jsonpath.path_syntax import PathSyntaxError
from unum_runtime.asl.places import element, member
from unum_runtime.cold_start.records import dataclass
from unum_runtime.errors import DefinitionError, Problem
from unum_runtime.model.ir import Json

_DYNAMIC = ".$"


@dataclass(frozen=True)
class Template:
    """A payload template, compiled when it is first rendered.

    Attributes:
        raw: the template as the definition has it; an object.
    """

    raw: Json

    def render(self, data: Json, context: ExpressionContext) -> Json:
        """The payload: a new value at every call, but for the parts that paths select in `data` and `context`.

        Raises:
            RuntimeFailure: a path leads to nothing.
            IntrinsicFailure: an intrinsic function cannot take its arguments.
        """
        return self._evaluate(data, context)

    @cached_property
    def _evaluate(self) -> Expression:
        return _compile(self.raw, "$")


def compile_template(raw: Json, *, where: str = "$") -> Template:
    """The template `raw`, checked.

    Args:
        raw: what the definition has.
        where: the JSON path of `raw` in the definition.

    Raises:
        DefinitionError: with every problem in the template and its JSON path.
    """
    _compile(raw, where)
    return Template(raw)


def _compile(raw: Json, where: str) -> Expression:
    problems: list[Problem] = []
    evaluate = _value(raw, where, problems)
    if not isinstance(raw, dict):
        problems.append(Problem(where, f"expected an object, got {raw!r}"))
    if problems:
        raise DefinitionError(tuple(problems))
    return evaluate


def _value(raw: Json, where: str, problems: list[Problem]) -> Expression:
    if isinstance(raw, dict):
        return _object(raw, where, problems)
    if isinstance(raw, list):
        return _array(raw, where, problems)
    return lambda _data, _context: raw


def _object(raw: dict[str, Json], where: str, problems: list[Problem]) -> Expression:
    members = tuple(_member(raw, key, member(where, key), problems) for key in raw)

    def evaluate(data: Json, context: ExpressionContext) -> dict[str, Json]:
        return {name: value(data, context) for name, value in members}

    return evaluate


def _array(raw: list[Json], where: str, problems: list[Problem]) -> Expression:
    items = tuple(_value(item, element(where, index), problems) for index, item in enumerate(raw))

    def evaluate(data: Json, context: ExpressionContext) -> list[Json]:
        return [value(data, context) for value in items]

    return evaluate


def _member(raw: dict[str, Json], key: str, where: str, problems: list[Problem]) -> tuple[str, Expression]:
    if not key.endswith(_DYNAMIC):
        return key, _value(raw[key], where, problems)
    name = key.removesuffix(_DYNAMIC)
    if name in raw:
        problems.append(Problem(where, f"both {name!r} and {key!r} are present, and would get the same name; drop one"))
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
