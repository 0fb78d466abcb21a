"""Runnable fields of a state: one interface for both query languages."""

from collections.abc import Mapping
from typing import Protocol

from unum_runtime.asl.expression_context import ExpressionContext
from unum_runtime.cold_start.records import NamedTuple
from unum_runtime.model.states import Json


class StateOutput(NamedTuple):
    """Output of a state.

    Attributes:
        value: output of the state.
        variables: all variables visible afterwards: earlier variables and new assignments.
    """

    value: Json
    variables: Mapping[str, Json]


class Program(Protocol):
    """Fields of a state; each field is compiled at its first use.

    In all methods, `raw` is the raw state input and `context` the context of this visit. All methods raise
    `StatesError` with Step Functions' name of the failure.

    Attributes:
        takes_input: True if `arguments` always returns `raw` itself.
        gives_result: True if `output` of a state other than Pass always returns `result` itself, without assignments.
    """

    takes_input: bool
    gives_result: bool

    def arguments(self, raw: Json, context: ExpressionContext) -> Json:
        """Evaluate ``InputPath`` and ``Parameters``, or ``Arguments``."""
        ...

    def output(self, raw: Json, result: Json, context: ExpressionContext) -> StateOutput:
        """Return the state's output.

        Args:
            raw: state input.
            result: result of a Task, array of branch outputs of a fan-out, or the value of `arguments` for other
                states (a Pass with ``Result`` replaces it).
            context: context of this visit.
        """
        ...

    def choose(self, raw: Json, context: ExpressionContext) -> tuple[str, StateOutput]:
        """Return the next state's name and the output of a Choice."""
        ...

    def catch(
        self, position: int, raw: Json, error: Mapping[str, str | None], context: ExpressionContext
    ) -> StateOutput:
        """Return the output of the catcher at `position`.

        `error` is ``{"Error": ..., "Cause": ...}``; a failure without both has nulls.
        """
        ...

    def items(self, raw: Json, context: ExpressionContext, read: Json = None) -> list[Json]:
        """Return a Map's branch inputs in order, after ``ItemsPath`` or ``Items``, ``ItemSelector``, ``ItemBatcher``.

        Args:
            raw: state input.
            context: context of this visit.
            read: what an ``ItemReader`` has read, instead of ``ItemsPath`` and ``Items``; None without a reader.
        """
        ...

    def number(self, field: str, raw: Json, context: ExpressionContext) -> float | None:
        """Evaluate a number field, such as ``TimeoutSeconds`` or ``TimeoutSecondsPath``; None without both fields."""
        ...

    def until_ms(self, raw: Json, context: ExpressionContext) -> int:
        """Return the end of a Wait, in milliseconds since 1970."""
        ...

    def failure(self, raw: Json, context: ExpressionContext) -> tuple[str | None, str | None]:
        """Return error name and cause of a Fail; None for an absent field."""
        ...
