"""Invocations of intrinsic functions, compiled to callables."""

from collections.abc import Callable
from itertools import count
from typing import TypeAlias

from unum_runtime.asl.expression_context import ExpressionContext
from unum_runtime.asl.jsonpath.intrinsics.implementations import FUNCTIONS
from unum_runtime.asl.jsonpath.intrinsics.syntax import Argument, Call, Literal, parse_call
from unum_runtime.asl.jsonpath.paths import Path, PathNotFound, read
from unum_runtime.asl.states_errors import IntrinsicFailure, RuntimeFailure
from unum_runtime.model.ir import Json

_Compiled: TypeAlias = Callable[[Json, ExpressionContext], Json]
"""Computes a value from (input, context)."""


def compile_call(text: str) -> _Compiled:
    """The invocation that `text` writes.

    Raises:
        PathSyntaxError: `text` is no intrinsic function.
    """
    return _call(parse_call(text), text)


def paths_in(text: str) -> tuple[Path, ...]:
    """Every path among the arguments in `text`.

    Raises:
        PathSyntaxError: `text` is no intrinsic function.
    """
    return tuple(_paths(parse_call(text)))


def _paths(part: Argument) -> list[Path]:
    if isinstance(part, Call):
        return [path for argument in part.arguments for path in _paths(argument)]
    return [part] if isinstance(part, Path) else []


def _argument(part: Argument, whole: str) -> _Compiled:
    if isinstance(part, Call):
        return _call(part, whole)
    return (lambda _data, _context: part.value) if isinstance(part, Literal) else _path(part, whole)


def _path(path: Path, whole: str) -> _Compiled:
    def evaluate(data: Json, context: ExpressionContext) -> Json:
        try:
            return read(path, data, context)
        except PathNotFound as missing:
            raise RuntimeFailure(
                f"The function '{whole}' had the following error: "
                f"The JsonPath argument for the field '{path.text}' could not be found in {missing.place}"
            ) from None

    return evaluate


def _call(call: Call, whole: str) -> _Compiled:
    function = FUNCTIONS[call.name]
    misfit = function.signature.misfit
    arguments = tuple(_argument(part, whole) for part in call.arguments)

    def evaluate(data: Json, context: ExpressionContext) -> Json:
        values = [argument(data, context) for argument in arguments]
        fault = next(filter(None, map(misfit, count(), values)), None)
        try:
            if fault is None:
                return function.call(context, *values)
        except (ValueError, OverflowError, RecursionError) as error:
            fault = str(error)
        raise IntrinsicFailure(f"Invalid arguments in {call.name}: {fault}; in {whole}")

    return evaluate
