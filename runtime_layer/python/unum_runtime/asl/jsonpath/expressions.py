"""Expressions of fields that end in ``.$``: a path or an intrinsic function."""

from unum_runtime.asl.expression_context import Expression
from unum_runtime.asl.jsonpath.paths import Path, parse, path_reader


def compile_expression(text: str, *, field: str) -> Expression:
    """Compile the expression `text`.

    Args:
        text: value of the field.
        field: name of the field, such as ``name.$``, for the cause of a failure.

    Raises:
        PathSyntaxError: `text` is neither a path nor an intrinsic function.
    """
    if text.startswith("$"):
        return path_reader(parse(text), lambda: f"The JSONPath '{text}' specified for the field '{field}'")
    # Intrinsic functions import hashlib, uuid and more, which would lengthen each cold start.
    from unum_runtime.asl.jsonpath.intrinsics.calls import compile_call  # noqa: PLC0415 - see above

    return compile_call(text)


def list_paths(text: str) -> tuple[Path, ...]:
    """Return all paths in the expression `text`, which show its variables and context object fields.

    Raises:
        PathSyntaxError: `text` is neither a path nor an intrinsic function.
    """
    if text.startswith("$"):
        return (parse(text),)
    from unum_runtime.asl.jsonpath.intrinsics.calls import paths_in  # noqa: PLC0415 - see above

    return paths_in(text)
