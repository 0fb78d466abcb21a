"""One JSONata expression: compiled once, evaluated in surroundings that every delivery computes alike."""

import math
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from unum_runtime.asl.jsonata import corrections, states_functions
from unum_runtime.asl.jsonata.library import Functions, JException, Jsonata, Node, Utils, borrowed
from unum_runtime.asl.jsonata.matching import regex
from unum_runtime.asl.jsonata.names import STATES, Names
from unum_runtime.asl.jsonata.query_errors import QueryEvaluationError
from unum_runtime.asl.jsonata.string_form import text as written
from unum_runtime.asl.jsonata.values import NotJson, inward, outward
from unum_runtime.model.ir import Json

MAX_DEPTH = 500
"""How deep evaluations may lie in one another; AWS itself gives up at about 125."""

MAX_STEPS = 500_000
"""How many evaluations an expression may take. Steps and not seconds, so that every delivery stops at the same one."""

_RANGE_TOO_LONG = "D2014"
_NO_FUNCTION = "T1006"
_OWN_MESSAGE = frozenset({"D3137", "D3141"})
"""Codes of errors whose text comes from the expression itself."""


class ExpressionSyntaxError(ValueError):
    """A text is no JSONata expression."""


class Runaway(RuntimeError):
    """An expression takes too many steps, or nests too deep."""


class Expression:
    """An expression.

    Attributes:
        text: what stands between ``{%`` and ``%}``.

    Raises:
        ExpressionSyntaxError: says where and what.
    """

    def __init__(self, text: str) -> None:
        self.text = text.strip()
        with borrowed():
            try:
                self._engine = _Engine(_ended(self.text), regex)
            except RecursionError:
                raise ExpressionSyntaxError("nested too deeply; use fewer parentheses") from None
            except JException as error:
                raise ExpressionSyntaxError(_located(error)) from None
            except re.error as error:
                raise ExpressionSyntaxError(f"the regular expression {error.pattern!r} is wrong: {error}") from None
            except Exception as error:  # noqa: BLE001 - the library's parser stumbles over odd texts in many ways
                raise ExpressionSyntaxError(f"cannot be read ({type(error).__name__}: {error})") from None

    @property
    def tree(self) -> Node:
        """The syntax tree."""
        return self._engine.ast

    def evaluate(self, names: Names, field: str) -> Json:
        """The value of the expression.

        Args:
            names: what it sees; nothing of it is changed.
            field: where it stands in its state, with slashes. Chance differs from field to field, and depends on
                nothing that was evaluated before, because a delivery may evaluate less than the one before it.

        Raises:
            QueryEvaluationError: it fails, or has no result, or one that is not JSON.
        """
        with borrowed():
            try:
                result = self._engine.result(_Frame(names, field))
                value = outward(result)
            except NotJson:
                raise QueryEvaluationError.unsupported(self.text, field) from None
            except Exception as error:  # noqa: BLE001 - the library lets through what Python raises on odd arguments
                raise QueryEvaluationError.thrown(self.text, field, _reason(error)) from None
        if result is None:
            raise QueryEvaluationError.undefined(self.text, field)
        return value


class _Engine(Jsonata):  # type: ignore[misc] # the library has no types
    """The library's evaluation, but for the places where it differs from the language, or is not careful enough."""

    def result(self, frame: "_Frame") -> Any:
        Jsonata.CURRENT.jsonata = self
        return self.eval(self.ast, None, frame)

    def evaluate_group_expression(self, expr: Any, input: Any, environment: Any) -> Any:  # noqa: A002 - as the library
        """Gives an empty array a copy, because the library would add an item to it."""
        return super().evaluate_group_expression(expr, Utils.create_sequence() if input == [] else input, environment)

    def apply_inner(self, proc: Any, args: Any, input: Any, environment: Any) -> Any:  # noqa: A002 - as the library
        """Refuses what is no function; the library prints it before that, and data would be in the logs."""
        if not (Utils.is_function(proc) or Functions.is_lambda(proc) or Functions.is_regex(proc)):
            raise JException(_NO_FUNCTION, -1)
        return super().apply_inner(proc, args, input, environment)

    def evaluate_numeric_expression(self, lhs: Any, rhs: Any, op: Any) -> Any:
        """Leaves a remainder its fraction, and computes what no double can hold, which is no operand then."""
        if not (Utils.is_numeric(lhs) and Utils.is_numeric(rhs)):
            return super().evaluate_numeric_expression(lhs, rhs, op)
        result = _ARITHMETIC[op](float(lhs), float(rhs))
        return Utils.convert_number(result) if math.isfinite(result) else result

    def evaluate_includes_expression(self, lhs: Any, rhs: Any) -> Any:
        """Tells true from 1."""
        if lhs is None or rhs is None:
            return False
        return corrections.is_among(lhs, rhs if isinstance(rhs, list) else [rhs])

    def evaluate_string_concat(self, lhs: Any, rhs: Any) -> str:
        """Writes values as ``$string`` does."""
        return (written(lhs) or "") + (written(rhs) or "")

    def evaluate_range_expression(self, lhs: Any, rhs: Any) -> Any:
        """Refuses ranges that fill the memory; the library's own limit does not keep that from happening."""
        if isinstance(lhs, int) and isinstance(rhs, int) and rhs - lhs >= states_functions.MAX_ITEMS:
            raise JException(_RANGE_TOO_LONG, -1, rhs - lhs + 1)
        return super().evaluate_range_expression(lhs, rhs)


def _divided(dividend: float, divisor: float) -> float:
    if divisor:
        return dividend / divisor
    return math.copysign(math.inf, dividend) * math.copysign(1, divisor) if dividend else math.nan


_ARITHMETIC: Mapping[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divided,
    "%": lambda dividend, divisor: math.fmod(dividend, divisor) if divisor else math.nan,
}


class _Base(Jsonata.Frame):  # type: ignore[misc] # the library has no types
    """The names of all functions that depend on their arguments alone, each made when it is first looked up."""

    def lookup(self, name: str) -> Any:
        if name not in self.bindings:
            self.bindings[name] = corrections.builtin(name)
        return self.bindings[name]


_TO_MILLIS = "toMillis"
_IMPURE = states_functions.IMPURE | {_TO_MILLIS}

_base = _Base(None)
_base.bindings.update(states_functions.PURE)
_base.bindings["eval"] = None  # Step Functions does not have it

BUILT_IN = frozenset({*Jsonata.static_frame.bindings, *states_functions.PURE, *states_functions.IMPURE}) - {"eval"}
"""Names of all functions that expressions may call without defining them."""


class _Frame(Jsonata.Frame):  # type: ignore[misc] # the library has no types
    """The outermost names of one evaluation, each bound when it is first looked up; counts the evaluation's steps."""

    def __init__(self, names: Names, field: str) -> None:
        super().__init__(_base)
        self._names = names
        self._field = field
        self._steps = 0
        self._depth = 0
        self.bindings.update({"$": None, "__evaluate_entry": self._enter, "__evaluate_exit": self._leave})

    def lookup(self, name: str) -> Any:
        if name not in self.bindings:
            if self._names.has(name):
                self.bindings[name] = _taken(self._names, name)
            elif name in _IMPURE:
                self.bindings.update(self._impure())
        return super().lookup(name)

    def _impure(self) -> dict[str, Any]:
        context, item = self._names.context, self._names.item
        place = self._field if item is None else f"{self._field}[{item['Index']}]"
        of_time = states_functions.time(context.now_ms) | {_TO_MILLIS: corrections.to_millis(context.now_ms)}
        return of_time | states_functions.chance(f"{context.seed}/{place}")

    def _enter(self, _expr: Any, _input: Any, _environment: Any) -> None:
        self._steps += 1
        self._depth += 1
        if self._steps > MAX_STEPS:
            raise Runaway("Expression evaluation timeout: Check for infinite loop")
        if self._depth > MAX_DEPTH:
            raise Runaway("Stack overflow error: Check for non-terminating recursive function.")

    def _leave(self, _expr: Any, _input: Any, _environment: Any, _result: Any) -> None:
        self._depth -= 1


def _taken(names: Names, name: str) -> Any:
    if name not in names.taken:
        names.taken[name] = inward(names.raw(name))
    value = names.taken[name]
    if name != STATES or names.item is None:
        return value
    return value | {"context": value["context"] | {"Map": {"Item": inward(names.item)}}}


def _ended(text: str) -> str:
    """`text`, behind which the library can read: it stumbles over a comment at the end."""
    return f"{text} " if text.endswith("*/") else text


def _located(error: JException) -> str:
    place = f" at character {error.location}" if error.location >= 0 else ""
    return f"{error}{place} ({error.error})"


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "Stack overflow error: Check for non-terminating recursive function."
    if not isinstance(error, JException):
        return str(error) if isinstance(error, Runaway) else f"{type(error).__name__}: {error}"
    # the library says Object wherever JSONata says function
    text = str(error) if error.error in _OWN_MESSAGE else str(error).replace(" Object ", " function ")
    return f"{error.error}: {text}"
