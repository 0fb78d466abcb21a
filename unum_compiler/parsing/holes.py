"""Holes in expressions: places of values that only the deployment knows.

Functions replace ``${Name}`` in the IR when they start, so their parsers never see a hole. The compiler parses earlier:
it checks each expression with a stand-in per hole, of a kind that the grammar allows at that place.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice, product

from unum_runtime.asl.jsonpath.templates import list_paths
from unum_runtime.asl.places import element, member
from unum_runtime.errors import Problem
from unum_runtime.model.states import Json

_HOLE = re.compile(r"\$\{[^{}]+\}")
_LETTER, _PATH_LETTER = "\ua78f", "\ua7f7"
"""Letters of stand-ins for texts and paths: allowed in names of both query languages, and in no definition."""

_MOST_READINGS = 729
_PATH_FIELDS = (".$", "Path", "Variable")
_TIMESTAMP = "2016-12-05T21:29:29Z"


def _text(length: int) -> str:
    return _LETTER * length


def _number(length: int) -> str:
    return "1".ljust(length)


def _path(length: int) -> str:
    return "$.".ljust(length, _PATH_LETTER)


# The order matters: most holes stand inside quotes, and a text there must not count as a path.
_KINDS: tuple[Callable[[int], str], ...] = (_text, _number, _path)


def fill(text: str, parse: Callable[[str], object]) -> str:
    """Return `text` with a stand-in of the same length for every hole: the first reading that `parse` accepts.

    Args:
        text: expression.
        parse: parser that raises ValueError for a text outside its grammar.
    """
    holes = [*_HOLE.finditer(text)] if "${" in text else []
    if not holes:
        return text
    readings = _readings(text, holes)
    return next((reading for reading in readings if _accepts(parse, reading)), next(_readings(text, holes)))


def fill_paths(value: Json, field: str) -> Json:
    """Return `value` of `field` with stand-ins in every path and intrinsic function."""
    match value:
        case dict():
            return {name: fill_paths(item, name) for name, item in value.items()}
        case list():
            return [fill_paths(item, field) for item in value]
        case str() if field.endswith(_PATH_FIELDS):
            return fill(value, list_paths)
        # The compiler checks a compared timestamp; the function that makes the comparison checks the real one.
        case str() if field.startswith("Timestamp") and _HOLE.search(value):
            return _TIMESTAMP
        case _:
            return value


def unfill(problems: Iterable[Problem], value: Json, place: str, field: str) -> Iterator[Problem]:
    """Yield `problems` of the filled `value` of `field` at `place`, with holes instead of stand-ins in the messages."""
    originals = {where: text for where, _, text in texts(value, place, field)}
    for problem in problems:
        message = problem.message
        for hole in _HOLE.findall(originals.get(problem.path, "")):
            message = message.replace(_text(len(hole)), hole, 1)
        yield replace(problem, message=message)


def texts(value: Json, place: str, field: str) -> Iterator[tuple[str, str, str]]:
    """Yield (place, name of the innermost field, text) of every text in `value`, the content of `field` at `place`."""
    match value:
        case dict():
            for name, child in value.items():
                yield from texts(child, member(place, name), name)
        case list():
            for index, child in enumerate(value):
                yield from texts(child, element(place, index), field)
        case str():
            yield place, field, value


def is_known(key: str | int) -> bool:
    """Return True if no part of `key` is a stand-in."""
    return not {_LETTER, _PATH_LETTER} & {*str(key)}


def is_any_path(key: str | int) -> bool:
    """Return True if `key` is the stand-in for a path, which may begin anywhere."""
    return _PATH_LETTER in str(key)


def _readings(text: str, holes: list[re.Match[str]]) -> Iterator[str]:
    for kinds in islice(product(_KINDS, repeat=len(holes)), _MOST_READINGS):
        pieces, end = "", 0
        for hole, stand_in in zip(holes, kinds, strict=True):
            pieces += text[end : hole.start()] + stand_in(len(hole[0]))
            end = hole.end()
        yield pieces + text[end:]


def _accepts(parse: Callable[[str], object], text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True
