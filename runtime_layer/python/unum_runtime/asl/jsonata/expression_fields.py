"""Fields of JSONata states: JSON values in which strings from ``{%`` to ``%}`` are expressions."""

from collections.abc import Callable
from functools import cached_property
from typing import TypeAlias

from unum_runtime.asl.jsonata.names import Names
from unum_runtime.asl.states_errors import RuntimeFailure
from unum_runtime.cold_start.records import dataclass
from unum_runtime.model.states import Json

_OPEN, _CLOSE = "{%", "%}"

_Evaluate: TypeAlias = Callable[[Names], Json]


@dataclass(frozen=True)
class Template:
    """A field, compiled at its first evaluation.

    Attributes:
        raw: value in the definition.
        field: position in the state, with slashes.
    """

    raw: Json
    field: str

    def evaluate(self, names: Names) -> Json:
        """Evaluate the field and return a new value.

        Raises:
            QueryEvaluationError: an expression fails, or its result is undefined or not JSON.
            RuntimeFailure: the deployment gave an expression a syntax error.
        """
        return self._evaluate(names)

    @property
    def text(self) -> str:
        """Text of the field for errors."""
        return inside(self.raw) or str(self.raw)

    @cached_property
    def _evaluate(self) -> _Evaluate:
        return _compile(self.raw, self.field)


def inside(raw: Json) -> str | None:
    """Return the expression text between ``{%`` and ``%}``; None for literals."""
    is_expression = isinstance(raw, str) and raw.startswith(_OPEN) and raw.endswith(_CLOSE) and raw != "{%}"
    return raw.removeprefix(_OPEN).removesuffix(_CLOSE).strip() if is_expression else None


def is_half_open(raw: str) -> bool:
    """Return True if `raw` has only one of ``{%`` and ``%}``, which Step Functions rejects."""
    return inside(raw) is None and (raw.startswith(_OPEN) or raw.endswith(_CLOSE))


def _compile(raw: Json, field: str) -> _Evaluate:
    if isinstance(raw, dict):
        members = {name: _compile(value, f"{field}/{name}") for name, value in raw.items()}
        return lambda names: {name: evaluate(names) for name, evaluate in members.items()}
    if isinstance(raw, list):
        items = [_compile(value, f"{field}/{index}") for index, value in enumerate(raw)]
        return lambda names: [evaluate(names) for evaluate in items]
    text = inside(raw)
    return _expression(text, field) if text is not None else lambda _names: raw


def _expression(text: str, field: str) -> _Evaluate:
    from unum_runtime.asl.jsonata import engine  # noqa: PLC0415 - loaded only for expressions

    try:
        expression = engine.Expression(text)
    except (
        engine.ExpressionSyntaxError
    ) as error:  # the deployment filled a placeholder with text that breaks the grammar
        raise RuntimeFailure(f"{field}: {text!r} is no JSONata expression: {error}") from None
    return lambda names: expression.evaluate(names, field)
