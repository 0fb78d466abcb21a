"""Compilation and repeatable evaluation of JSONata expressions, with limits on steps and depth."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from unum_runtime.asl.jsonata import corrections, states_functions
from unum_runtime.asl.jsonata.evaluation_limits import Meter, metered
from unum_runtime.asl.jsonata.failures import describe
from unum_runtime.asl.jsonata.interpreter import Interpreter
from unum_runtime.asl.jsonata.library import JException, Jsonata, Node, Parser, isolate
from unum_runtime.asl.jsonata.matching import regex
from unum_runtime.asl.jsonata.names import STATES, Names
from unum_runtime.asl.jsonata.query_errors import QueryEvaluationError
from unum_runtime.asl.jsonata.values import NotJson, from_library, to_library
from unum_runtime.model.states import Json

_UNKNOWN_OPERATOR = "S0204"
_LATER_OPERATORS = ("?:", "??")


class ExpressionSyntaxError(ValueError):
    """Invalid JSONata expression."""


class Expression:
    """A compiled expression.

    Attributes:
        text: text between ``{%`` and ``%}``.

    Raises:
        ExpressionSyntaxError: describes the error and its position.
    """

    def __init__(self, text: str) -> None:
        self.text = text.strip()
        with isolate():
            try:
                # The library's tokenizer fails on a comment at the very end.
                source = f"{self.text} " if self.text.endswith("*/") else self.text
                self._engine = _Engine(source)
            except RecursionError:
                raise ExpressionSyntaxError("nested too deeply; use fewer parentheses") from None
            except JException as error:
                raise ExpressionSyntaxError(_with_location(error)) from None
            except re.error as error:
                raise ExpressionSyntaxError(f"the regular expression {error.pattern!r} is wrong: {error}") from None
            except Exception as error:  # noqa: BLE001 - the library's parser raises many types on odd texts
                raise ExpressionSyntaxError(f"cannot be read ({type(error).__name__}: {error})") from None

    @property
    def tree(self) -> Node:
        """Syntax tree."""
        return self._engine.ast

    def evaluate(self, names: Names, field: str) -> Json:
        """Evaluate the expression and return its value.

        Args:
            names: visible names, never changed.
            field: position in the state, with slashes. It is part of the random seed: a later delivery may evaluate
                fewer fields, so random numbers must not depend on earlier evaluations.

        Raises:
            QueryEvaluationError: the evaluation fails, or its result is undefined or not JSON.
        """
        with isolate(), metered() as meter:
            try:
                result = self._engine.run(_Frame(names, field, meter))
                value = from_library(result)
            except NotJson:
                raise QueryEvaluationError.unsupported(self.text, field) from None
            except Exception as error:  # noqa: BLE001 - the library passes on Python's exceptions for odd arguments
                raise QueryEvaluationError.thrown(self.text, field, describe(error)) from None
        if result is None:
            raise QueryEvaluationError.undefined(self.text, field)
        return value


class _LaterOperator(Parser.Infix):  # type: ignore[misc] # the library has no types
    """Operator that came after JSONata 2.0.6; a function's signature may contain the same characters."""

    def led(self, left: Node) -> Node:  # noqa: ARG002 - the library's parameter
        raise JException(_UNKNOWN_OPERATOR, self.position, self.id)


class _Parser(Parser):  # type: ignore[misc] # the library has no types
    """The library's parser, for JSONata 2.0.6, the version of Step Functions (Developer Guide, "Transforming data")."""

    def __init__(self) -> None:
        super().__init__()
        for name in _LATER_OPERATORS:
            del self.symbol_table[name]
            self.register(_LaterOperator(self, name))

    def advance(self, id: str | None = None, infix: bool = False) -> Node:  # noqa: A002, FBT001, FBT002 - the library's
        """Read the next token; join two escapes of one character beyond the basic plane, as UTF-16 does."""
        try:
            node = super().advance(id, infix)
        except KeyError as unknown:
            raise JException(_UNKNOWN_OPERATOR, self.lexer.position, *unknown.args) from None
        if isinstance(node.value, str) and node.type == "string":
            node.value = node.value.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
        return node


class _Engine(Interpreter):
    """The evaluator of one expression."""

    def __init__(self, source: str) -> None:
        with _own_parser():
            super().__init__(source, regex)

    def run(self, frame: "_Frame") -> Any:
        Jsonata.CURRENT.jsonata = self
        return self.eval(self.ast, None, frame)


_parsers = threading.local()


@contextmanager
def _own_parser() -> Iterator[None]:
    """Make the library parse with `_Parser`; it keeps one parser for each thread, also for other users."""
    kept = vars(Jsonata.PARSER)
    before = kept.copy()
    if not hasattr(_parsers, "own"):
        _parsers.own = _Parser()  # takes as long as an expression, so each thread keeps it
    kept["parser"] = _parsers.own
    try:
        yield
    finally:
        kept.clear()
        kept.update(before)


class _Base(Jsonata.Frame):  # type: ignore[misc] # the library has no types
    """Pure functions, created at their first lookup."""

    def lookup(self, name: str) -> Any:
        if name not in self.bindings:
            self.bindings[name] = corrections.builtin(name)
        return self.bindings[name]


_TO_MILLIS = "toMillis"
_IMPURE = states_functions.IMPURE | {_TO_MILLIS}

_base = _Base(None)
_base.bindings.update(states_functions.PURE)
_base.bindings["eval"] = None  # not available in Step Functions

BUILT_IN = frozenset({*Jsonata.static_frame.bindings, *states_functions.PURE, *states_functions.IMPURE}) - {"eval"}
"""Names of all functions that an expression may call without a definition."""


class _Frame(Jsonata.Frame):  # type: ignore[misc] # the library has no types
    """Outermost scope of one evaluation: binds names at first lookup."""

    def __init__(self, names: Names, field: str, meter: Meter) -> None:
        super().__init__(_base)
        self._names = names
        self._field = field
        self.bindings.update({"$": None, "__evaluate_entry": meter.enter, "__evaluate_exit": meter.leave})

    def lookup(self, name: str) -> Any:
        if name not in self.bindings:
            if self._names.has(name):
                self.bindings[name] = _convert(self._names, name)
            elif name in _IMPURE:
                self.bindings.update(self._impure())
        return super().lookup(name)

    def _impure(self) -> dict[str, Any]:
        context, item = self._names.context, self._names.item
        place = self._field if item is None else f"{self._field}[{item['Index']}]"
        clock = states_functions.time_functions(context.now_ms) | {_TO_MILLIS: corrections.to_millis(context.now_ms)}
        return clock | states_functions.random_functions(f"{context.seed}/{place}")


def _convert(names: Names, name: str) -> Any:
    """Return the value of `name` in the library's form; conversion happens once per visit, not per expression."""
    if name not in names.converted:
        names.converted[name] = to_library(names.value(name))
    value = names.converted[name]
    if name != STATES or names.item is None:
        return value
    return value | {"context": value["context"] | {"Map": {"Item": to_library(names.item)}}}


def _with_location(error: JException) -> str:
    place = f" at character {error.location}" if error.location >= 0 else ""
    return f"{error}{place} ({error.error})"
