"""Places of attributes in the inputs of executions: reference paths, or JSONata expressions."""

from unum_runtime.asl.jsonpath.path_syntax import PathSyntaxError
from unum_runtime.asl.jsonpath.paths import parse

_BEGINS = "{%"


def place_of(name: str, text: str) -> str | list[str | int]:
    """Return the names and indexes of a reference path, or the JSONata expression as it is.

    Raises:
        ValueError: neither; the text names the attribute.
    """
    expected = f'attributes[{name!r}]: expected a reference path into the input, such as "$.order.id", or JSONata'
    if isinstance(text, str) and text.startswith(_BEGINS):
        return _checked(expected, text)
    try:
        parsed = parse(text)
    except (PathSyntaxError, TypeError) as error:
        raise ValueError(f"{expected}, got {text!r}: {error}") from None
    if parsed.is_context or parsed.variable is not None or not parsed.is_reference or not parsed.keys:
        raise ValueError(f"{expected}, got {text!r}")
    return list(parsed.keys)


def _checked(expected: str, text: str) -> str:
    from unum_compiler.jsonata.check import check_expression  # noqa: PLC0415 - only where an attribute needs it

    problems = [*check_expression(text, "attributes", frozenset({"input"}))]
    if problems:
        raise ValueError(f"{expected}, got {text!r}: {problems[0]}")
    return text
