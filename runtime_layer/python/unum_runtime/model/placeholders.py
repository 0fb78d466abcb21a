"""Placeholders of values that only the deployment knows, in the IR's text."""

import json
from collections.abc import Mapping
from contextlib import suppress
from math import isfinite

from unum_runtime.errors import DefinitionError, Problem

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
        placeholder = f"${{{name}}}"
        if name.startswith(NUMBER):
            ir = ir.replace(f'"{placeholder}"', _number(placeholder, value))
        elif name.startswith(ARRAY):
            ir = ir.replace(f'"{placeholder}"', json.dumps(value.split(SEPARATOR) if value else []))
        elif name.startswith(JSON):
            ir = ir.replace(f'"{placeholder}"', _json(placeholder, value))
        else:
            ir = ir.replace(placeholder, json.dumps(value)[1:-1])
    return ir


def _json(placeholder: str, value: str) -> str:
    try:
        return json.dumps(json.loads(value))  # written anew: the IR must stay valid
    except ValueError as error:
        raise DefinitionError((Problem(placeholder, f"expected JSON from the deployment, got {value!r}"),)) from error


def _number(placeholder: str, value: str) -> str:
    parsed = None
    with suppress(ValueError):
        parsed = json.loads(value)
    # Written anew: only a number may come between the other members of the IR.
    if isinstance(parsed, bool) or not isinstance(parsed, int | float) or not isfinite(parsed):
        raise DefinitionError((Problem(placeholder, f"expected a number from the deployment, got {value!r}"),))
    return json.dumps(parsed)
