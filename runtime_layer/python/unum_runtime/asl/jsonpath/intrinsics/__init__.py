"""Intrinsic functions, for example ``States.UUID()``: grammar, calls, implementations for arguments of valid kinds.

Sources: specification, "Intrinsic Functions" and Appendix B; Step Functions Developer Guide, "Intrinsic functions". A
comment marks each observed deviation of Step Functions ("observed"). Functions raise ValueError for invalid values.
"""

import base64
import hashlib
import math
import random
import re
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TypeAlias

from unum_runtime.asl.expression_context import Expression, ExpressionContext
from unum_runtime.asl.jsonpath.path_syntax import PathParser
from unum_runtime.asl.jsonpath.paths import Path, parse, path_reader
from unum_runtime.asl.numbers import is_number
from unum_runtime.asl.serialize import dumps
from unum_runtime.asl.states_errors import IntrinsicFailure
from unum_runtime.json_text import parse_foreign, to_ascii
from unum_runtime.model.states import Json

MAX_CHARACTERS = 10_000_000
"""Longest text of ``States.Format``; Step Functions allows 256 KiB."""

_RESERVED = re.compile(r"\\([\\'{}])")
_TOKEN = re.compile(r"\\([\\'{}])|(\{\})|([{}])")

_DEEPEST = 10
"""Maximum nesting of functions. Source: Step Functions Developer Guide, "Intrinsic functions"."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9._]*(?=\()")
_STRING = re.compile(r"'((?:\\[\\'{}]|[^'\\])*)'", re.DOTALL)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])", re.ASCII)
_WORD = re.compile(r"(true|false|null)\b")
_WORDS: dict[str, Json] = {"true": True, "false": False, "null": None}


def unescape(literal: str) -> str:
    r"""Return the value of a string literal; ``\'``, ``\{``, ``\}`` and ``\\`` are the characters themselves."""
    return _RESERVED.sub(r"\1", literal)


def to_text(value: Json) -> str:
    """Return the text of `value` in ``States.Format``; recorded from AWS: ``{Id=..., Name=...}`` for an object."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}={to_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(to_text, value)) + "]"
    return to_ascii(value)


def count_placeholders(template: str) -> int:
    """Return the number of placeholders in `template`.

    Raises:
        ValueError: `template` has a single brace without backslash.
    """
    return len(_split(template)) - 1


def fill(template: str, values: Sequence[Json]) -> str:
    """Format `template`: one value for each ``{}``.

    Raises:
        ValueError: `template` has a single brace without backslash, or another number of placeholders than `values`.
    """
    first, *others = _split(template)
    if len(others) != len(values):
        raise ValueError(f"the template has {len(others)} {{}} for {len(values)} values")
    texts = [first]
    size = 0
    for value, piece in zip(values, others, strict=True):
        texts += [to_text(value), piece]
        size += len(texts[-2])
        if size > MAX_CHARACTERS:
            raise ValueError(f"expected a text of at most {MAX_CHARACTERS} characters, got more")
    return "".join(texts)


def _split(template: str) -> list[str]:
    """Return the texts between the placeholders of `template`."""
    pieces, end = [""], 0
    for token in _TOKEN.finditer(template):
        escaped, placeholder, brace = token.groups()
        if brace:
            raise ValueError(f"character {token.start()} of the template: expected {{}} or \\{brace}, got {brace}")
        pieces[-1] += template[end : token.start()] + (escaped or "")
        if placeholder:
            pieces.append("")
        end = token.end()
    pieces[-1] += template[end:]
    return pieces


# Signatures of intrinsic functions, for checks of literals by the compiler and of values at run time.


@dataclass(frozen=True, slots=True)
class Kind:
    """Kind of an argument.

    Attributes:
        name: name for error texts.
        fits: function from a value to True if the value is of this kind.
    """

    name: str
    fits: Callable[[Json], bool]


ANYTHING = Kind("any value", lambda _value: True)
ARRAY = Kind("an array", lambda value: isinstance(value, list))
NUMBER = Kind("a number", is_number)
OBJECT = Kind("an object", lambda value: isinstance(value, dict))
SHALLOW = Kind("false, because Step Functions merges no deeper than one level", lambda value: value is not True)
TEXT = Kind("a string", lambda value: isinstance(value, str))
LIMITED_TEXT = Kind(
    "a string of at most 10,000 characters", lambda value: isinstance(value, str) and len(value) <= LONGEST
)

LONGEST = 10_000
"""Maximum characters of Base64Encode, Base64Decode and Hash. Source: Step Functions Developer Guide, "Intrinsic
functions"."""


@dataclass(frozen=True, slots=True)
class Signature:
    """Arguments of a function.

    Attributes:
        kinds: kinds in order; the last kind also applies to all further arguments.
        optional: number of optional arguments at the end.
        is_open: True if more arguments than `kinds` may follow.
    """

    kinds: tuple[Kind, ...]
    optional: int = 0
    is_open: bool = False

    def find_fault(self, position: int, value: Json) -> str | None:
        """Return the problem of `value` as argument number `position`, counted from 0; None for a valid value."""
        kind = self.kinds[min(position, len(self.kinds) - 1)]
        return None if kind.fits(value) else f"argument {position + 1} must be {kind.name}"

    def takes(self, count: int) -> bool:
        """Return True if `count` is a valid number of arguments."""
        return count >= len(self.kinds) - self.optional and (self.is_open or count <= len(self.kinds))

    def __str__(self) -> str:
        """Return the valid number of arguments, as text."""
        least, most = len(self.kinds) - self.optional, len(self.kinds)
        if self.is_open:
            return f"at least {least}" if least else "any number of"
        return f"{least}" if least == most else f"{least} or {most}"


_LONGEST_RANGE = 1_000
_INT32 = range(-(2**31), 2**31)
_ALGORITHMS = {"MD5": "md5", "SHA-1": "sha1", "SHA-256": "sha256", "SHA-384": "sha384", "SHA-512": "sha512"}
_BLANKS = " \t\r\n"  # white space of JSON; other blanks are no JSON
_NOT_BASE64 = re.compile(r"[^A-Za-z0-9+/]")


@dataclass(frozen=True, slots=True)
class Function:
    """An intrinsic function.

    Attributes:
        signature: allowed arguments.
        call: implementation; its first parameter is the expression context, the source of random numbers.
        fills_template: True if the first argument is a template whose escapes the function resolves.
    """

    signature: Signature
    call: Callable[..., Json]
    fills_template: bool = False


def _array(_context: ExpressionContext, *values: Json) -> Json:
    return list(values)


def _array_partition(_context: ExpressionContext, items: list[Json], size: float) -> Json:
    width = math.trunc(size)  # the guide says rounded; observed: 2.6 gives pairs
    if width < 1:
        raise ValueError(f"expected a size of at least 1, got {size}")
    return [items[start : start + width] for start in range(0, len(items), width)]


def _array_contains(_context: ExpressionContext, items: list[Json], wanted: Json) -> Json:
    # Observed: a comparison of texts, which finds true in ["true"], but not {"a":1,"b":2} in [{"b":2,"a":1}].
    return to_text(wanted) in map(to_text, items)


def _array_range(_context: ExpressionContext, first: float, last: float, step: float) -> Json:
    start, end, stride = math.trunc(first), math.trunc(last), math.trunc(step)  # observed: not rounded
    if stride == 0:
        raise ValueError("the step must not be 0")
    numbers = range(start, end + (1 if stride > 0 else -1), stride)
    if numbers[_LONGEST_RANGE:]:
        raise ValueError(f"expected at most {_LONGEST_RANGE} items, got more from {start} to {end} by {stride}")
    return list(numbers)


def _array_get_item(_context: ExpressionContext, items: list[Json], index: float) -> Json:
    if not items:
        return None  # observed
    position = math.trunc(index)
    if not 0 <= position < len(items):
        raise ValueError(f"index {position} is outside of an array of {len(items)} items")
    return items[position]


def _array_length(_context: ExpressionContext, items: list[Json]) -> Json:
    return len(items)


def _array_unique(_context: ExpressionContext, items: list[Json]) -> Json:
    firsts: dict[Json, Json] = {}
    for item in items:
        firsts.setdefault(_identity(item), item)
    return list(firsts.values())


def _base64_encode(_context: ExpressionContext, text: str) -> Json:
    return base64.b64encode(text.encode(errors="replace")).decode()


def _base64_decode(_context: ExpressionContext, text: str) -> Json:
    # Observed: other characters are ignored, and padding may be missing.
    digits = _NOT_BASE64.sub("", text.partition("=")[0].translate({ord("-"): "+", ord("_"): "/"}))
    whole = digits[:-1] if len(digits) % 4 == 1 else digits
    return base64.b64decode(whole + "=" * (-len(whole) % 4)).decode(errors="replace")


def _hash(_context: ExpressionContext, data: Json, algorithm: str) -> Json:
    if algorithm not in _ALGORITHMS:
        raise ValueError(f"argument 2 must be one of {', '.join(_ALGORITHMS)}; got {algorithm!r}")
    text = to_text(data)
    if fault := _HASHED.find_fault(0, text):
        raise ValueError(fault)
    return hashlib.new(_ALGORITHMS[algorithm], text.encode(errors="replace"), usedforsecurity=False).hexdigest()


def _json_merge(_context: ExpressionContext, under: dict[str, Json], over: dict[str, Json], _deep: Json) -> Json:
    return {**under, **over}


def _json_to_string(_context: ExpressionContext, value: Json) -> Json:
    return dumps(value)


def _string_to_json(_context: ExpressionContext, text: str) -> Json:
    if not text.strip(_BLANKS):
        return None  # observed, for an empty text and for blanks
    return parse_foreign(text)


def _math_random(context: ExpressionContext, start: float, end: float, seed: float | None = None) -> Json:
    first, stop = math.trunc(start), math.trunc(end)  # observed: not rounded
    if stop <= first:
        raise ValueError(f"expected an end, exclusive, greater than the start; got {start} and {end}")
    return (context.random if seed is None else random.Random(seed)).randrange(first, stop)  # noqa: S311 - repeatable by intent


def _math_add(_context: ExpressionContext, left: float, right: float) -> Json:
    numbers = [math.floor(number + 0.5) for number in (left, right)]
    for number in (*numbers, sum(numbers)):
        if number not in _INT32:
            raise ValueError(f"{number} is not between {_INT32[0]} and {_INT32[-1]}")
    return sum(numbers)


def _string_split(_context: ExpressionContext, text: str, delimiters: str) -> Json:
    # Each character is a delimiter; observed: empty parts are dropped.
    parts = re.split(f"[{re.escape(delimiters)}]", text) if delimiters else [text]
    return [part for part in parts if part]


def _uuid(context: ExpressionContext) -> Json:
    return str(uuid.UUID(int=context.random.getrandbits(128), version=4))


def _format(_context: ExpressionContext, template: str, *values: Json) -> Json:
    return fill(template, values)


def _identity(value: Json) -> Json:
    """Return a hashable key, equal for equal JSON values only; in Python, True == 1."""
    if isinstance(value, dict):
        return dict, frozenset((key, _identity(item)) for key, item in value.items())
    if isinstance(value, list):
        return list, tuple(map(_identity, value))
    return isinstance(value, bool), value


_HASHED = Signature((LIMITED_TEXT, TEXT))

FUNCTIONS: dict[str, Function] = {
    "States.Array": Function(Signature((ANYTHING,), optional=1, is_open=True), _array),
    "States.ArrayContains": Function(Signature((ARRAY, ANYTHING)), _array_contains),
    "States.ArrayGetItem": Function(Signature((ARRAY, NUMBER)), _array_get_item),
    "States.ArrayLength": Function(Signature((ARRAY,)), _array_length),
    "States.ArrayPartition": Function(Signature((ARRAY, NUMBER)), _array_partition),
    "States.ArrayRange": Function(Signature((NUMBER, NUMBER, NUMBER)), _array_range),
    "States.ArrayUnique": Function(Signature((ARRAY,)), _array_unique),
    "States.Base64Decode": Function(Signature((LIMITED_TEXT,)), _base64_decode),
    "States.Base64Encode": Function(Signature((LIMITED_TEXT,)), _base64_encode),
    "States.Format": Function(Signature((TEXT, ANYTHING), optional=1, is_open=True), _format, fills_template=True),
    "States.Hash": Function(Signature((ANYTHING, TEXT)), _hash),
    "States.JsonMerge": Function(Signature((OBJECT, OBJECT, SHALLOW)), _json_merge),
    "States.JsonToString": Function(Signature((ANYTHING,)), _json_to_string),
    "States.MathAdd": Function(Signature((NUMBER, NUMBER)), _math_add),
    "States.MathRandom": Function(Signature((NUMBER, NUMBER, NUMBER), optional=1), _math_random),
    "States.StringSplit": Function(Signature((TEXT, TEXT)), _string_split),
    "States.StringToJson": Function(Signature((TEXT,)), _string_to_json),
    "States.UUID": Function(Signature(()), _uuid),
}
"""All intrinsic functions by name."""


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


def compile_call(text: str) -> Expression:
    """Compile the call in `text`.

    Raises:
        PathSyntaxError: `text` is not a call of an intrinsic function.
    """
    return _call(parse_call(text), text)


def paths_in(text: str) -> tuple[Path, ...]:
    """Return all paths among the arguments in `text`.

    Raises:
        PathSyntaxError: `text` is not a call of an intrinsic function.
    """
    return tuple(_paths(parse_call(text)))


def _paths(part: Argument) -> list[Path]:
    if isinstance(part, Call):
        return [path for argument in part.arguments for path in _paths(argument)]
    return [part] if isinstance(part, Path) else []


def _argument(part: Argument, whole: str) -> Expression:
    if isinstance(part, Call):
        return _call(part, whole)
    if isinstance(part, Literal):
        return lambda _data, _context: part.value
    # The subject is made at an error alone: together, those of many arguments would be far longer than the call.
    return path_reader(
        part,
        lambda: f"The function '{whole}' had the following error: The JsonPath argument for the field '{part.text}'",
    )


def _call(call: Call, whole: str) -> Expression:
    function = FUNCTIONS[call.name]
    find_fault = function.signature.find_fault
    arguments = tuple(_argument(part, whole) for part in call.arguments)

    def evaluate(data: Json, context: ExpressionContext) -> Json:
        values = [argument(data, context) for argument in arguments]
        fault = next(filter(None, map(find_fault, count(), values)), None)
        try:
            if fault is None:
                return function.call(context, *values)
        except (ValueError, OverflowError, RecursionError) as error:
            fault = str(error)
        raise IntrinsicFailure(f"Invalid arguments in {call.name}: {fault}; in {whole}")

    return evaluate
