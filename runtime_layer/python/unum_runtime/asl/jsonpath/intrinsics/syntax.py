"""Grammar of intrinsic functions. Source: specification, "Intrinsic Functions"."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from unum_runtime.asl.jsonpath.intrinsics.implementations import FUNCTIONS, Function, count_placeholders, unescape
from unum_runtime.asl.jsonpath.path_syntax import PathParser
from unum_runtime.asl.jsonpath.paths import Path, parse
from unum_runtime.json_text import parse_foreign
from unum_runtime.model.states import Json

_DEEPEST = 10
"""Maximum nesting of functions. Source: Step Functions Developer Guide, "Intrinsic functions"."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9._]*(?=\()")
_STRING = re.compile(r"'((?:\\[\\'{}]|[^'\\])*)'", re.DOTALL)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])", re.ASCII)
_WORD = re.compile(r"(true|false|null)\b")
_WORDS: dict[str, Json] = {"true": True, "false": False, "null": None}


@dataclass(frozen=True, slots=True)
class Literal:
    """A string, number, true, false or null.

    Attributes:
        value: value of the literal.
        source: the same value, except that a string still has its escapes.
    """

    value: Json
    source: Json


@dataclass(frozen=True, slots=True)
class Call:
    """A function with a valid number of arguments."""

    name: str
    arguments: "tuple[Argument, ...]"


Argument: TypeAlias = Literal | Path | Call


def parse_call(text: str) -> Call:
    """Parse a call of an intrinsic function.

    Raises:
        PathSyntaxError: names the position of the error and the allowed syntax there.
    """
    return _Parser(text).parse()


class _Parser(PathParser):
    """Parser of one call."""

    def parse(self) -> Call:
        call = self._call(1)
        if self._position < len(self._text):
            self._refuse("expected the end, after the closing parenthesis")
        return call

    def _call(self, depth: int) -> Call:
        start = self._position
        name, function = self._function(depth)
        placed = self._arguments(depth)
        arguments = tuple(argument for _, argument in placed)
        if not function.signature.takes(len(arguments)):
            self._refuse(f"{name} takes {function.signature} arguments, got {len(arguments)}", at=start)
        self._check_literals(function, placed)
        if function.fills_template and isinstance(arguments[0], Literal):
            # The function resolves the escapes itself: resolved here, an escaped brace would look like a placeholder.
            template = arguments[0].source
            self._check_template(name, template, len(arguments) - 1, at=start)
            arguments = (Literal(template, template), *arguments[1:])
        return Call(name, arguments)

    def _function(self, depth: int) -> tuple[str, Function]:
        start = self._position
        name = self._match(_NAME)
        if name is None:
            self._refuse("expected a path like $.value, or an intrinsic function like States.Format('{}', $.value)")
        if name[0] not in FUNCTIONS:
            self._refuse(f"unknown intrinsic function {name[0]}; known: {', '.join(FUNCTIONS)}", at=start)
        if depth > _DEEPEST:
            self._refuse(f"expected at most {_DEEPEST} nested functions", at=start)
        return name[0], FUNCTIONS[name[0]]

    def _arguments(self, depth: int) -> Sequence[tuple[int, Argument]]:
        """Parse the arguments and return them with their text positions."""
        self._accept("(")
        self._skip_space()
        if self._accept(")"):
            return ()
        placed = self._read_list(",", lambda: (self._position, self._argument(depth)))
        if not self._accept(")"):
            self._refuse("expected , or )")
        return placed

    def _argument(self, depth: int) -> Argument:
        start = self._position
        if self._peek() == "$":
            self._path()
            return parse(self._text[start : self._position])
        if self._peek() == "'":
            return self._string()
        if number := self._match(_NUMBER):
            return self._number(number[0], start)
        if word := self._match(_WORD):
            return Literal(_WORDS[word[0]], _WORDS[word[0]])
        if not _NAME.match(self._text, start):
            self._refuse("expected a 'string', a number, true, false, null, a path or an intrinsic function")
        return self._call(depth + 1)

    def _string(self) -> Literal:
        string = self._match(_STRING)
        if string is None:
            self._refuse("expected a string that ends with ' and has backslashes only before ' { } or \\")
        return Literal(unescape(string[1]), string[1])

    def _number(self, text: str, start: int) -> Literal:
        try:
            value = parse_foreign(text)
        except ValueError:  # 01, or more digits than Python parses
            value = math.nan
        if not math.isfinite(value):
            self._refuse("expected a finite number as JSON writes it", at=start)
        return Literal(value, value)

    def _check_literals(self, function: Function, placed: Sequence[tuple[int, Argument]]) -> None:
        for index, (start, argument) in enumerate(placed):
            fault = function.signature.find_fault(index, argument.value) if isinstance(argument, Literal) else None
            if fault:
                self._refuse(fault, at=start)

    def _check_template(self, name: str, template: str, values: int, *, at: int) -> None:
        try:
            expected = count_placeholders(template)
        except ValueError as error:
            self._refuse(f"{name}: {error}", at=at)
        if expected != values:
            self._refuse(f"{name}: the template has {expected} {{}} for {values} values", at=at)
