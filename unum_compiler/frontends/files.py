"""Definitions in files of JSON or YAML.

YAML is another spelling of JSON: values that JSON lacks are refused, and dates stay text. PyYAML's safe loader composes
the text to nodes and tags each scalar; this module maps tags to JSON. PyYAML comes with the extra ``yaml``, and is
loaded only for a YAML file.
"""

import importlib
import json
import re
from bisect import bisect
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from unum_compiler.parsing.document import copy_json, parse
from unum_compiler.problems import shown
from unum_runtime.asl.places import element, member
from unum_runtime.errors import DefinitionError, Problem
from unum_runtime.model.states import Json

if TYPE_CHECKING:
    from collections.abc import Callable


_YAML = (".yaml", ".yml")

_BLANKS = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


def read_file(path: str | Path) -> Json:
    """Return the value in the file at `path`, in UTF-8: YAML by the file's name, else JSON.

    Raises:
        OSError: the file cannot be read.
        DefinitionError: syntax error; names file, line and column.
    """
    text = _text(path)
    read = parse_yaml if _is_yaml(path) else parse
    return read(text, source=str(path))


def file_lines(path: str | Path) -> Mapping[str, int]:
    """Return the line of every value in the file at `path`, which `read_file` has read, by its JSON path."""
    return lines_of(_text(path), is_yaml=_is_yaml(path))


def _text(path: str | Path) -> str:
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DefinitionError((Problem(str(path), f"expected text in UTF-8: {error}"),)) from error


def _is_yaml(path: str | Path) -> bool:
    return Path(path).suffix.lower() in _YAML


MAX_REPEATED = 50_000
"""Most values that aliases repeat: ten lines of aliases to aliases can stand for any number of values."""

_CORE = "tag:yaml.org,2002:"
_MERGE = f"{_CORE}merge"
_TEXT = ("str", "timestamp", "value")  # YAML reads 2020-01-01 as a date, and = as a default value
_REMEDY = "write ${Name} and give the value in `substitutions`"


def parse_yaml(text: str, *, source: str) -> Json:
    """Return the JSON value in `text`.

    Args:
        text: one YAML 1.1 document, without tags of its own.
        source: name of the text's origin, the first part of a place.

    Raises:
        DefinitionError: the text is no YAML, or has values that JSON lacks; the place has line and column.
    """
    yaml = _library(source)
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        return copy_json(None if node is None else _Reader(source, yaml.SafeLoader("")).value(node))
    except yaml.MarkedYAMLError as error:
        place = _place(source, error.problem_mark or error.context_mark)
        raise DefinitionError((Problem(place, f"expected YAML: {error.problem or error.context}"),)) from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise DefinitionError((Problem(source, f"expected YAML: {error}"),)) from error


def compose(text: str) -> Any:
    """Return PyYAML's nodes of a text that `parse_yaml` has read, with their marks."""
    yaml = _library("")
    return yaml.compose(text, Loader=yaml.SafeLoader)


class _Reader:
    """A converter from nodes to JSON, with PyYAML's rules for numbers and truth values."""

    def __init__(self, source: str, loader: Any) -> None:
        self._source = source
        self._ahead: list[Any] = []
        self._seen: set[int] = set()
        self._repeated = 0
        self._scalars: Mapping[str, Callable[[Any], Json]] = {
            **{f"{_CORE}{tag}": loader.construct_scalar for tag in _TEXT},
            f"{_CORE}int": loader.construct_yaml_int,
            f"{_CORE}float": loader.construct_yaml_float,
            f"{_CORE}bool": loader.construct_yaml_bool,
            f"{_CORE}null": loader.construct_yaml_null,
        }

    def value(self, node: Any) -> Json:
        if any(node is outer for outer in self._ahead):
            self._refuse(node, "an alias is inside the value that it names; JSON has no cycles")
        if id(node) in self._seen:  # the nodes stay alive as parts of the document
            self._repeated += 1
            if self._repeated > MAX_REPEATED:
                self._refuse(node, f"aliases repeat more than {MAX_REPEATED} values; write them in fewer places")
        self._seen.add(id(node))
        self._ahead.append(node)
        value = self._convert(node)
        self._ahead.pop()
        return value

    def _convert(self, node: Any) -> Json:
        if node.tag == f"{_CORE}map":
            return self._object(node)
        if node.tag == f"{_CORE}seq":
            return [self.value(item) for item in node.value]
        if node.tag not in self._scalars:
            tag = node.tag.replace(_CORE, "!!")
            self._refuse(node, f"the tag {shown(tag)} has no meaning in a definition; {_REMEDY}")
        return self._scalars[node.tag](node)

    def _object(self, node: Any) -> dict[str, Json]:
        own: dict[str, Json] = {}
        merged: dict[str, Json] = {}
        for key, item in node.value:
            if key.tag == _MERGE:
                merged = self._merged(item) | merged
                continue
            name = self._key(key)
            if name in own:
                self._refuse(key, f"the key {shown(name)} occurs twice; rename or remove one")
            own[name] = self.value(item)
        return merged | own

    def _key(self, node: Any) -> str:
        if node.id != "scalar" or not node.tag.startswith(_CORE):
            self._refuse(node, "expected text as key")
        text: str = node.value
        return text

    def _merged(self, node: Any) -> dict[str, Json]:
        """Return the fields that ``<<`` adds; the first of several objects with a key gives its value."""
        merged = self.value(node)
        objects = merged if isinstance(merged, list) else [merged]
        if not all(isinstance(each, dict) for each in objects):
            self._refuse(node, f"expected an object, or an array of objects, after <<, got {shown(merged)}")
        return {key: item for each in reversed(objects) for key, item in each.items()}

    def _refuse(self, node: Any, message: str) -> NoReturn:
        raise DefinitionError((Problem(_place(self._source, node.start_mark), message),))


def _place(source: str, mark: Any) -> str:
    return source if mark is None else f"{source}:{mark.line + 1}:{mark.column + 1}"


def _library(source: str) -> Any:
    try:
        return importlib.import_module("yaml")
    except ImportError as error:
        message = "a YAML file needs PyYAML; install unum-constructs[yaml], or write JSON"
        raise DefinitionError((Problem(source, message),)) from error


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
