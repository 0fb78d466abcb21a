"""A state's fields as something that can be run: one class for each query language behind one interface."""

from collections.abc import Mapping
from typing import Protocol

from unum_runtime.asl.expression_context import ExpressionContext
from unum_runtime.cold_start.records import NamedTuple
from unum_runtime.model.ir import Json


class StateOutput(NamedTuple):
    """What a state is left with.

    Attributes:
        value: its output.
        variables: all that are visible after it: those before it and what it assigned.
    """

    value: Json
    variables: Mapping[str, Json]


class Program(Protocol):
    """A state's fields, compiled each when it is first used.

    In all methods `raw` is the raw state input and `context` belongs to this visit. All raise `StatesError`
    under the name that Step Functions gives the failure.

    Attributes:
        takes_input: `arguments` is the input itself, whatever surrounds it.
        gives_result: a state that is no Pass is left with its result itself, and assigns nothing.
    """

    takes_input: bool
    gives_result: bool

    def arguments(self, raw: Json, context: ExpressionContext) -> Json:
        """What the state works on: ``InputPath`` and ``Parameters``, or ``Arguments``, or the input itself."""
        ...

    def output(self, raw: Json, result: Json, context: ExpressionContext) -> StateOutput:
        """What the state is left with.

        Args:
            raw: the state's input.
            result: what its work came to: of a Task its result, of a fan-out the array of its branches' outputs, of
                all others what `arguments` gave (a Pass replaces that by its ``Result``, if it has one).
            context: its surroundings.
        """
        ...

    def choose(self, raw: Json, context: ExpressionContext) -> tuple[str, StateOutput]:
        """Of a Choice: the name of the state to go to, and what it is left with."""
        ...

    def catch(self, position: int, raw: Json, error: Mapping[str, str], context: ExpressionContext) -> StateOutput:
        """What a state is left with by its catcher at `position`; `error` is ``{"Error": ..., "Cause": ...}``."""
        ...

    def items(self, raw: Json, context: ExpressionContext, read: list[Json] | None = None) -> list[Json]:
        """Of a Map: the input of each branch, in order: ``ItemsPath`` or ``Items``, ``ItemSelector``, ``ItemBatcher``.

        Args:
            raw: the state's input.
            context: its surroundings.
            read: the items, where an ``ItemReader`` has read them; then ``ItemsPath`` and ``Items`` are not looked at.
        """
        ...

    def number(self, field: str, raw: Json, context: ExpressionContext) -> float | None:
        """What ``field``, or ``fieldPath``, says, as in ``TimeoutSeconds``; None where the state has neither."""
        ...

    def until_ms(self, raw: Json, context: ExpressionContext) -> int:
        """Of a Wait: when it ends, in milliseconds since 1970."""
        ...

    def failure(self, raw: Json, context: ExpressionContext) -> tuple[str | None, str | None]:
        """Of a Fail: the error's name and its cause; each None where the state names none."""
        ...
