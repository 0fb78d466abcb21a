"""The grammar of intrinsic functions (specification, Intrinsic Functions)."""

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from unum_runtime.asl.jsonpath.intrinsics.implementations import FUNCTIONS, Function
from unum_runtime.asl.jsonpath.intrinsics.text import places, unescape
from unum_runtime.asl.jsonpath.path_syntax import PathParser
from unum_runtime.asl.jsonpath.paths import Path, parse
from unum_runtime.model.ir import Json

_DEEPEST = 10
"""Functions inside one another (developer guide, Intrinsic functions: up to 10 may be nested)."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9._]*(?=\()")
_STRING = re.compile(r"'((?:\\[\\'{}]|[^'\\])*)'", re.DOTALL)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])", re.ASCII)
_WORD = re.compile(r"(true|false|null)\b")
_WORDS: dict[str, Json] = {"true": True, "false": False, "null": None}


@dataclass(frozen=True, slots=True)
class Literal:
    """A string, number, true, false or null.

    Attributes:
        value: the value.
        written: the same, but a string with its escapes.
    """

    value: Json
    written: Json


@dataclass(frozen=True, slots=True)
class Call:
    """A function, and as many arguments as it takes."""

    name: str
    arguments: "tuple[Argument, ...]"


Argument: TypeAlias = Literal | Path | Call


def parse_call(text: str) -> Call:
    """The invocation of an intrinsic function that `text` writes.

    Raises:
        PathSyntaxError: says at which character, and what is allowed there.
    """
    return _Parser(text).whole()


class _Parser(PathParser):
    """Reads one invocation from its beginning to its end."""

    def whole(self) -> Call:
        call = self._call(1)
        if self._position < len(self._text):
            self._refuse("expected the end, after the closing parenthesis")
        return call

    def _call(self, depth: int) -> Call:
        start = self._position
        name, function = self._function(depth)
        placed = self._placed(depth)
        arguments = tuple(argument for _, argument in placed)
        if not function.signature.takes(len(arguments)):
            self._refuse(f"{name} takes {function.signature} arguments, got {len(arguments)}", at=start)
        self._check_literals(function, placed)
        if function.fills_template and isinstance(arguments[0], Literal):
            template = arguments[0].written
            self._check_template(name, template, len(arguments) - 1, at=start)
            arguments = (Literal(template, template), *arguments[1:])
        return Call(name, arguments)

    def _function(self, depth: int) -> tuple[str, Function]:
        start = self._position
        name = self._match(_NAME)
        if name is None:
            self._refuse("expected a path like $.value, or an intrinsic function like States.Format('{}', $.value)")
        if name[0] not in FUNCTIONS:
            self._refuse(f"there is no intrinsic function {name[0]}; there are {', '.join(FUNCTIONS)}", at=start)
        if depth > _DEEPEST:
            self._refuse(f"no more than {_DEEPEST} functions may stand inside one another", at=start)
        return name[0], FUNCTIONS[name[0]]

    def _placed(self, depth: int) -> Sequence[tuple[int, Argument]]:
        """The arguments, each with the position at which it stands."""
        self._accept("(")
        self._skip_space()
        if self._accept(")"):
            return ()
        placed = self._separated(",", lambda: (self._position, self._argument(depth)))
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
            self._refuse("expected a string that ends with ', in which a backslash stands before ' { } or \\ only")
        return Literal(unescape(string[1]), string[1])

    def _number(self, text: str, start: int) -> Literal:
        try:
            value = json.loads(text)
        except ValueError:  # 01, or more digits than Python reads
            value = math.nan
        if not math.isfinite(value):
            self._refuse("expected a finite number as JSON writes it", at=start)
        return Literal(value, value)

    def _check_literals(self, function: Function, placed: Sequence[tuple[int, Argument]]) -> None:
        for index, (start, argument) in enumerate(placed):
            misfit = function.signature.misfit(index, argument.value) if isinstance(argument, Literal) else None
            if misfit:
                self._refuse(misfit, at=start)

    def _check_template(self, name: str, template: str, values: int, *, at: int) -> None:
        try:
            expected = places(template)
        except ValueError as error:
            self._refuse(f"{name}: {error}", at=at)
        if expected != values:
            self._refuse(f"{name}: the template has {expected} {{}} for {values} values", at=at)
