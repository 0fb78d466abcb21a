"""Plain JSON values from text or Python objects, as copies that no caller can change."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from unum_compiler.problems import shown
from unum_runtime.asl.places import element, member
from unum_runtime.errors import DefinitionError, Problem
from unum_runtime.json_text import MAX_DEPTH
from unum_runtime.model.states import Json

_INTEGER_BITS = 1024
_SUBSTITUTION = re.compile(r"\$\{[^{}\s]+\}")
_TOO_DEEP = "nested too deeply to be read; take inner fan-outs into workflows of their own"
DEEP_DATA = f"nested too deeply to be read; at most {MAX_DEPTH} levels of arrays and objects are allowed"
"""Problem of texts that are no definitions, such as inputs."""


class _Repeating(dict[str, Json]):
    """An object that repeats keys in the text; `key` is the first."""

    key: str


def parse(text: str, *, source: str = "", too_deep: str = _TOO_DEEP) -> Json:
    """Return the JSON value in `text`.

    Args:
        text: JSON (RFC 8259), with unique keys in every object.
        source: name of the text's origin, the first part of a syntax error's place.
        too_deep: problem of a text that is nested too deeply; by default that of a definition.

    Raises:
        DefinitionError: the text is no JSON (its place has line and column), or an object repeats a key.
    """
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        place = f"{source}:{error.lineno}:{error.colno}" if source else f"line {error.lineno}, column {error.colno}"
        raise DefinitionError((Problem(place, f"expected JSON: {error.msg}{_unquoted(text[error.pos :])}"),)) from error
    except RecursionError as error:
        raise DefinitionError((Problem(source or "$", too_deep),)) from error
    except ValueError as error:
        raise DefinitionError((Problem(source or "$", f"expected JSON: {error}"),)) from error
    return copy_json(value, too_deep=too_deep)


def _unquoted(rest: str) -> str:
    """Return the remedy for a substitution without quotes at the begin of `rest`; empty for other text."""
    found = _SUBSTITUTION.match(rest)
    return f'; write "{found[0]}" with quotes: fields of numbers take the number in it' if found else ""


def copy_json(value: Any, *, too_deep: str = _TOO_DEEP) -> Json:
    """Return a deep copy of `value` as plain JSON.

    Args:
        value: Python objects; tuples become arrays.
        too_deep: problem of a value that is nested too deeply; by default that of a definition.

    Raises:
        DefinitionError: with every place of a value that JSON cannot express.
    """
    try:
        problems = tuple(_problems(value, "$"))
        if not problems:
            return json.loads(json.dumps(value))  # tuples become arrays
    except RecursionError as error:
        problems = (Problem("$", too_deep),)
        raise DefinitionError(problems) from error
    raise DefinitionError(problems)


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    table = dict(pairs)
    if len(table) == len(pairs):
        return table
    # json.loads keeps the last of equal keys. The error waits until the place of the object is known.
    counts = Counter(key for key, _ in pairs)
    repeating = _Repeating(table)
    repeating.key = next(key for key in table if counts[key] > 1)
    return repeating


def _no_constant(name: str) -> Json:
    raise ValueError(f"{name} is no JSON number")


def _problems(value: Any, place: str) -> Iterator[Problem]:
    match value:
        case None | bool():
            pass
        case int():
            if value.bit_length() > _INTEGER_BITS:
                yield Problem(place, "expected a number within the range of a double, got a larger integer")
        case float():
            if not math.isfinite(value):
                yield Problem(place, f"expected a JSON number, got {value}")
        case str():
            yield from _text_problems(value, place)
        case dict():
            yield from _object_problems(value, place)
        case list() | tuple():
            for index, item in enumerate(value):
                yield from _problems(item, element(place, index))
        case _:
            yield Problem(place, f"expected a JSON value, got a Python {type(value).__name__}")


def _text_problems(text: str, place: str) -> Iterator[Problem]:
    try:
        text.encode()
    except UnicodeEncodeError:
        yield Problem(place, f"expected Unicode text, got half a surrogate pair in {text!a}")


def _object_problems(table: dict[Any, Any], place: str) -> Iterator[Problem]:
    if isinstance(table, _Repeating):
        yield Problem(place, f"the key {shown(table.key)} occurs twice; rename or remove one")
    for key, item in table.items():
        if not isinstance(key, str):
            yield Problem(place, f"expected text as key, got {key!r}")
            continue
        unusable = tuple(_text_problems(key, place))
        yield from unusable or _problems(item, member(place, key))
