"""What the compiler asks of the fields of a JSONata state: are they right, and what do they read."""

from collections.abc import Iterator

from unum_runtime.asl.jsonata.engine import Expression, ExpressionSyntaxError
from unum_runtime.asl.jsonata.syntax import Reading
from unum_runtime.asl.jsonata.templates import inside, is_half_open
from unum_runtime.asl.places import element, member
from unum_runtime.errors import Problem
from unum_runtime.model.ir import Json

ALWAYS = frozenset({"input", "context"})
"""Fields of ``$states`` that every expression may read."""

_WHERE = {
    "result": "$states.result exists in Output and Assign of Task, Parallel and Map only",
    "errorOutput": "$states.errorOutput exists in Output and Assign of catchers only",
}


def check_expression(text: str, where: str, states: frozenset[str] = ALWAYS) -> list[Problem]:
    """What is wrong with an expression.

    Args:
        text: as the definition has it, from ``{%`` to ``%}``.
        where: its JSON path in the definition.
        states: fields of ``$states`` that it may read.
    """
    source = inside(text)
    if source is None:
        return [Problem(where, f"expected a JSONata expression from {{% to %}}, without spaces around; got {text!r}")]
    try:
        reading = Reading(Expression(source))
    except ExpressionSyntaxError as error:
        return [Problem(where, f"{source!r} is no JSONata expression: {error}")]
    faults = reading.faults + [_missing(part, states) for part in sorted(_states_parts(reading) - states)]
    return [Problem(where, f"{source!r}: {fault}") for fault in faults]


def check_template(value: Json, where: str, states: frozenset[str] = ALWAYS) -> list[Problem]:
    """What is wrong with the expressions in `value`, which may be any JSON; see `check_expression`."""
    return [problem for place, text in _texts(value, where) for problem in _check_text(text, place, states)]


def variables_read(value: Json) -> frozenset[str]:
    """The variables that the expressions in `value` read, with the fields of them that follow.

    Whatever computes its way (``$lookup($states.context, $key)``) reads all that is below the last name written down.
    Expressions that `check_template` refuses read nothing.

    Returns:
        Names without ``$``, such as ``total`` and ``states.context.Execution.Input.order``.
    """
    sources = (inside(text) for _, text in _texts(value, ""))
    return frozenset().union(*(_reads(source) for source in sources if source is not None))


def _check_text(text: str, where: str, states: frozenset[str]) -> list[Problem]:
    if inside(text) is not None:
        return check_expression(text, where, states)
    if is_half_open(text):
        message = f"a JSONata expression begins with {{% and ends with %}}, without spaces around; got {text!r}"
        return [Problem(where, message)]
    return []


def _reads(source: str) -> set[str]:
    try:
        return Reading(Expression(source)).names
    except ExpressionSyntaxError:
        return set()


def _missing(part: str, states: frozenset[str]) -> str:
    """Why there is no field `part` of ``$states``."""
    there = ", ".join(f"$states.{name}" for name in sorted(states))
    return _WHERE.get(part, f"there is no $states.{part}; there are here: {there}")


def _states_parts(reading: Reading) -> set[str]:
    return {name.split(".")[1] for name in reading.names if name.startswith("states.")}


def _texts(value: Json, where: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _texts(inner, member(where, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _texts(inner, element(where, index))
