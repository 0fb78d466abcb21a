"""From text, or from Python objects, to a plain JSON value that no one else holds."""

import json
import math
from collections.abc import Iterator
from typing import Any

from unum_compiler.problems import shown
from unum_runtime.asl.places import element, member
from unum_runtime.errors import DefinitionError, Problem
from unum_runtime.model.ir import Json

_INTEGER_BITS = 1024
_TOO_DEEP = "nested too deeply to be read; take inner fan-outs into workflows of their own"


class _Repeating(dict[str, Json]):
    """An object of which the text has a key twice; `key` is the first such key."""

    key: str


def parse(text: str, *, source: str = "") -> Json:
    """The JSON value that `text` holds.

    Args:
        text: JSON (RFC 8259), where keys of an object are unique.
        source: what the text comes from, to begin the place of a syntax error with.

    Raises:
        DefinitionError: the text is no JSON (its place has line and column), or a key is there twice.
    """
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        place = f"{source}:{error.lineno}:{error.colno}" if source else f"line {error.lineno}, column {error.colno}"
        raise DefinitionError((Problem(place, f"expected JSON: {error.msg}"),)) from error
    except RecursionError as error:
        raise DefinitionError((Problem(source or "$", _TOO_DEEP),)) from error
    except ValueError as error:
        raise DefinitionError((Problem(source or "$", f"expected JSON: {error}"),)) from error
    return copied(value)


def copied(value: Any) -> Json:
    """A deep copy of `value`, which must be what JSON can express.

    Raises:
        DefinitionError: with every place where it is not.
    """
    try:
        problems = tuple(_problems(value, "$"))
        if not problems:
            return json.loads(json.dumps(value))
    except RecursionError as error:
        problems = (Problem("$", _TOO_DEEP),)
        raise DefinitionError(problems) from error
    raise DefinitionError(problems)


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    table = dict(pairs)
    if len(table) == len(pairs):
        return table
    names = [key for key, _ in pairs]
    repeating = _Repeating(table)
    repeating.key = next(key for key in table if names.count(key) > 1)
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
        yield Problem(place, f"the key {shown(table.key)} is there twice; rename or remove one")
    for key, item in table.items():
        if not isinstance(key, str):
            yield Problem(place, f"expected text as key, got {key!r}")
            continue
        unusable = tuple(_text_problems(key, place))
        yield from unusable or _problems(item, member(place, key))
