"""Placeholders of values that only the deployment knows, in the IR's text."""

from collections.abc import Mapping
from contextlib import suppress
from math import isfinite

from unum_runtime.errors import DefinitionError, Problem
from unum_runtime.json_text import parse_foreign, to_ascii

NUMBER = "Number"
"""Beginning of the names of numbers: a text such as ``${Number1}`` stands for the number itself."""

ARRAY = "Array"
"""Beginning of the names of arrays of texts: a text such as ``${Array1}`` stands for the array itself."""

JSON = "Json"
"""Beginning of the names of other values: a text such as ``${Json1}`` stands for a value that is given as JSON text."""

SEPARATOR = "\n"
"""Between the texts of an array. No text means no element."""


def fill(ir: str, values: Mapping[str, str]) -> str:
    """Return the text `ir` with `values` in place of their placeholders, by name.

    Raises:
        DefinitionError: the value of a number is no number, or JSON text has an error.
    """
    for name, value in values.items():
        if name.startswith((NUMBER, ARRAY, JSON)):
            # Written anew: the other members of the IR must stay as they are.
            ir = ir.replace(f'"${{{name}}}"', to_ascii(_parsed(name, value)))
        else:
            ir = ir.replace(f"${{{name}}}", to_ascii(value)[1:-1])
    return ir


def _parsed(name: str, value: str) -> object:
    if name.startswith(ARRAY):
        return value.split(SEPARATOR) if value else []
    is_number = name.startswith(NUMBER)
    with suppress(ValueError):
        parsed = parse_foreign(value)
        if not is_number or (isinstance(parsed, int | float) and not isinstance(parsed, bool) and isfinite(parsed)):
            return parsed
    expected = "a number" if is_number else "JSON"
    raise DefinitionError((Problem(f"${{{name}}}", f"expected {expected} from the deployment, got {value!r}"),))
