"""What a field that ends in ``.$`` says: a path, or an intrinsic function.

An expression is compiled to a callable once, and called with the input and the context of the state.
"""

from collections.abc import Callable
from typing import TypeAlias

from unum_runtime.asl.expression_context import ExpressionContext
from unum_runtime.asl.jsonpath.paths import Path, PathNotFound, parse, read
from unum_runtime.asl.states_errors import RuntimeFailure
from unum_runtime.model.ir import Json

Expression: TypeAlias = Callable[[Json, ExpressionContext], Json]
"""Computes a value from (input, context)."""


def compile_expression(text: str, *, field: str) -> Expression:
    """The expression that `text` writes.

    Args:
        text: the value of the field.
        field: the field's name as written, ``name.$``, for the cause of a failure.

    Raises:
        PathSyntaxError: `text` is neither a path nor an intrinsic function.
    """
    if text.startswith("$"):
        return _path(parse(text), field)
    from unum_runtime.asl.jsonpath.intrinsics.calls import compile_call  # noqa: PLC0415 - only where a workflow needs it

    return compile_call(text)


def list_paths(text: str) -> tuple[Path, ...]:
    """Every path that the expression `text` reads, so that it can be known which variables and which context it needs.

    Raises:
        PathSyntaxError: `text` is neither a path nor an intrinsic function.
    """
    if text.startswith("$"):
        return (parse(text),)
    from unum_runtime.asl.jsonpath.intrinsics.calls import paths_in  # noqa: PLC0415 - only where a workflow needs it

    return paths_in(text)


def _path(path: Path, field: str) -> Expression:
    def evaluate(data: Json, context: ExpressionContext) -> Json:
        try:
            return read(path, data, context)
        except PathNotFound as missing:
            raise RuntimeFailure(
                f"The JSONPath '{path.text}' specified for the field '{field}' could not be found in {missing.place}"
            ) from None

    return evaluate
