"""Compiler checks of JSONata fields, and lists of their variables."""

from collections.abc import Iterator

from unum_compiler.jsonata.syntax import Analysis, excesses
from unum_runtime.asl.jsonata.engine import Expression, ExpressionSyntaxError
from unum_runtime.asl.jsonata.templates import inside, is_half_open
from unum_runtime.asl.places import element, member
from unum_runtime.errors import Problem
from unum_runtime.model.states import Json

ALWAYS = frozenset({"input", "context"})
"""Fields of ``$states`` in every expression."""

_RESTRICTED = {
    "result": "$states.result exists in Output and Assign of Task, Parallel and Map only",
    "errorOutput": "$states.errorOutput exists in Output and Assign of catchers only",
}


def check_expression(text: str, where: str, states: frozenset[str] = ALWAYS) -> list[Problem]:
    """Return the problems of an expression.

    Args:
        text: text in the definition, from ``{%`` to ``%}``.
        where: JSON path of the text in the definition.
        states: allowed fields of ``$states``.
    """
    source = inside(text)
    if source is None:
        return [Problem(where, f"expected a JSONata expression from {{% to %}}, without spaces around; got {text!r}")]
    try:
        analysis = Analysis(Expression(source))
    except ExpressionSyntaxError as error:
        return [Problem(where, f"{source!r} is no JSONata expression: {error}")]
    fields = {name.split(".")[1] for name in analysis.names if name.startswith("states.")}
    faults = analysis.faults + [_missing(field, states) for field in sorted(fields - states)]
    return [Problem(where, f"{source!r}: {fault}") for fault in faults]


def check_template(value: Json, where: str, states: frozenset[str] = ALWAYS) -> list[Problem]:
    """Return the problems of all expressions in a JSON value; see `check_expression`."""
    return [problem for place, text in _texts(value, where) for problem in _check_text(text, place, states)]


def variables_read(value: Json) -> frozenset[str]:
    """Return the variables in the expressions of `value`, with their written fields.

    A computed access (``$lookup($states.context, $key)``) counts as access to the whole value before it. Expressions
    that `check_template` rejects have no variables.

    Returns:
        Names without ``$``, such as ``total`` and ``states.context.Execution.Input.order``.
    """
    sources = (inside(text) for _, text in _texts(value, ""))
    return frozenset().union(*(_names(source) for source in sources if source is not None))


def find_excesses(value: Json, where: str) -> Iterator[tuple[str, str]]:
    """Yield place and description of what Step Functions was measured to fail at in the expressions of `value`."""
    for place, text in _texts(value, where):
        source = inside(text)
        if source is not None:
            try:
                yield from ((place, found) for found in excesses(Expression(source)))
            except ExpressionSyntaxError:
                continue  # `check_template` reports it


def _check_text(text: str, where: str, states: frozenset[str]) -> list[Problem]:
    if inside(text) is not None:
        return check_expression(text, where, states)
    if is_half_open(text):
        message = f"a JSONata expression begins with {{% and ends with %}}, without spaces around; got {text!r}"
        return [Problem(where, message)]
    return []


def _names(source: str) -> set[str]:
    try:
        return Analysis(Expression(source)).names
    except ExpressionSyntaxError:
        return set()


def _missing(field: str, states: frozenset[str]) -> str:
    """Return the text for a missing field of ``$states``."""
    allowed = ", ".join(f"$states.{name}" for name in sorted(states))
    return _RESTRICTED.get(field, f"there is no $states.{field}; available here: {allowed}")


def _texts(value: Json, where: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _texts(inner, member(where, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _texts(inner, element(where, index))
