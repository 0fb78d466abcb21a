"""What a field that ends in ``.$`` says: a path, and in time an intrinsic function.

An expression is compiled to a callable once, and called with the input and the context object of the state.
"""

import re
from collections.abc import Callable
from typing import TypeAlias

from unum_runtime.asl.failures import RuntimeFailure, excerpt
from unum_runtime.asl.path_syntax import PathSyntaxError
from unum_runtime.asl.paths import PathNotFound, find, parse
from unum_runtime.model.ir import Json

Expression: TypeAlias = Callable[[Json, Json], Json]
"""Computes a value from (input, context object)."""

_CALL = re.compile(r"([A-Za-z0-9._]+)\(")
_INTRINSICS = frozenset(
    f"States.{name}"
    for name in (
        *("Array", "ArrayContains", "ArrayGetItem", "ArrayLength", "ArrayPartition", "ArrayRange", "ArrayUnique"),
        *("Base64Decode", "Base64Encode", "Format", "Hash", "JsonMerge", "JsonToString", "MathAdd", "MathRandom"),
        *("StringSplit", "StringToJson", "UUID"),
    )
)
"""The intrinsic functions of the specification (Appendix B)."""


def compile_expression(text: str, *, field: str) -> Expression:
    """The expression that `text` writes.

    Args:
        text: the value of the field.
        field: the field's name as written, ``name.$``, for the cause of a failure.

    Raises:
        PathSyntaxError: `text` is neither a path nor anything else that is supported.
    """
    if text.startswith("$"):
        return _path_expression(text, field)
    if call := _CALL.match(text):
        raise _unsupported(text, call[1])
    raise PathSyntaxError(text, 0, "expected a path, which begins with $ (the input) or $$ (the context object)")


def _unsupported(text: str, function: str) -> PathSyntaxError:
    if function in _INTRINSICS:
        message = f"the intrinsic function {function} is not supported yet; write a path"
        return PathSyntaxError(text, 0, message, feature=function)
    return PathSyntaxError(text, 0, f"there is no intrinsic function {function}; write a path")


def _path_expression(text: str, field: str) -> Expression:
    path = parse(text)

    def evaluate(data: Json, context: Json) -> Json:
        root = context if path.is_context else data
        try:
            return find(path, root)
        except PathNotFound:
            raise RuntimeFailure(
                f"The JSONPath '{text}' specified for the field '{field}' "
                f"could not be found in the input '{excerpt(root)}'"
            ) from None

    return evaluate
