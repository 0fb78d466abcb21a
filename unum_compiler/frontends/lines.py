"""Lines of a definition's parts, by their JSON paths, for messages about files."""

import json
import re
from bisect import bisect
from collections.abc import Iterator, Mapping
from typing import Any

from unum_compiler.frontends.files import compose
from unum_runtime.asl.places import element, member

_BLANKS = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


def lines_of(text: str, *, is_yaml: bool) -> Mapping[str, int]:
    """Return the line of every value in a readable definition, from 1; for a member, that of its name."""
    if is_yaml:
        return dict(_in_node(compose(text), "$"))
    ends = [found.start() for found in re.finditer("\n", text)]
    return {place: bisect(ends, at) + 1 for place, at in _Scanner(text).value(0, "$")}


def line_at(place: str, lines: Mapping[str, int]) -> int | None:
    """Return the line number of the value at `place`, or of the innermost enclosing value; None outside."""
    around = [known for known in lines if place == known or place.startswith((f"{known}.", f"{known}["))]
    return lines[max(around, key=len)] if around else None


class _Scanner:
    """A walk through JSON text; `at` is the position behind the value that was walked through last."""

    def __init__(self, text: str) -> None:
        self._text, self.at = text, 0

    def value(self, begin: int, place: str) -> Iterator[tuple[str, int]]:
        """Yield the places in the value behind the blanks at `begin`, with their positions."""
        self.at = self._behind_blanks(begin)
        yield place, self.at
        opening = self._text[self.at]
        if opening not in "{[":
            self.at = _DECODER.raw_decode(self._text, self.at)[1]
            return
        self.at = self._behind_blanks(self.at + 1)
        index = 0
        while self._text[self.at] not in "}]":
            if opening == "[":
                yield from self.value(self.at, element(place, index))
            else:
                named = self.at
                name, behind = _DECODER.raw_decode(self._text, named)
                inside = self.value(self._behind_blanks(behind) + 1, member(place, name))
                yield next(inside)[0], named
                yield from inside
            index += 1
            self.at = self._behind_blanks(self.at)
            if self._text[self.at] == ",":
                self.at = self._behind_blanks(self.at + 1)
        self.at += 1

    def _behind_blanks(self, at: int) -> int:
        blanks = _BLANKS.match(self._text, at)
        return at if blanks is None else blanks.end()


def _in_node(node: Any, place: str) -> Iterator[tuple[str, int]]:
    """Yield places and lines in a YAML node; what aliases repeat has the line where it is written."""
    yield place, node.start_mark.line + 1
    if node.id == "mapping":
        for key, item in node.value:
            named = member(place, key.value)
            yield from _in_node(item, named)
            yield named, key.start_mark.line + 1
    elif node.id == "sequence":
        for index, item in enumerate(node.value):
            yield from _in_node(item, element(place, index))
