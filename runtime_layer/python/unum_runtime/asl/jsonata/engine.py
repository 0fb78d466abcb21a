"""Compilation and repeatable evaluation of JSONata expressions, with limits on steps and depth.

JSONata's functions as expressions call them: corrected where the library deviates, and with their work counted.

Sources: https://docs.jsonata.org, and the reference implementation, JSONata 2.0.6, for open questions.
"""

import math
import re
import threading
from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote, unquote

from unum_runtime.asl.jsonata import array_functions, number_functions, pictures, states_functions
from unum_runtime.asl.jsonata.evaluation_limits import (
    CALL,
    COPY,
    MAX_CHARACTERS,
    MAX_ITEMS,
    VISIT,
    Meter,
    check_size,
    current,
    metered,
)
from unum_runtime.asl.jsonata.failures import NO_MATCH, Failure, describe
from unum_runtime.asl.jsonata.interpreter import Interpreter
from unum_runtime.asl.jsonata.library import Functions, JException, Jsonata, Node, Parser, Signature, Utils, isolate
from unum_runtime.asl.jsonata.matching import contains, match, regex, replace, split
from unum_runtime.asl.jsonata.names import STATES, Names
from unum_runtime.asl.jsonata.navigation import keys, lookup, spread
from unum_runtime.asl.jsonata.pictures import format_number
from unum_runtime.asl.jsonata.query_errors import QueryEvaluationError
from unum_runtime.asl.jsonata.states_functions import Function
from unum_runtime.asl.jsonata.string_form import to_string
from unum_runtime.asl.jsonata.values import NotJson, from_library, to_library
from unum_runtime.model.states import Json

# JSONata functions for text, Base64 and URLs, following JSONata 2.0.6. Undefined arguments arrive as None.

_RESERVED = re.compile("(%(?:3B|2F|3F|3A|40|26|3D|2B|24|2C|23))", re.IGNORECASE)
"""Escapes of ``;/?:@&=+$,#``, which stay escaped in a whole URL. Source: ECMAScript, "decodeURI"."""

_NO_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})")
_COMPONENT = "-_.!~*'()"
_WHOLE = _COMPONENT + ";/?:@&=+$,#"
"""Characters that stay as they are. Source: ECMAScript, "encodeURI"."""

_NO_URL = "D3140"
_FAILED = "D3137"

_UNKNOWN_OPERATOR = "S0204"
_LATER_OPERATORS = ("?:", "??")


def lowercase(text: str | None) -> str | None:
    """Implement ``$lowercase``."""
    return None if text is None else text.lower()


def substring(text: str | None, start: float | None, length: float | None) -> str | None:
    """Implement ``$substring``; positions lose their fraction after their sum, as in the reference implementation."""
    if text is None or start is None:
        return text if text is None or length is None else ""
    size = len(text)
    begin = 0.0 if size + start < 0 else start
    if length is None:
        return text[_position(begin, size) :]
    if length <= 0:
        return ""
    end = begin + length if begin >= 0 else size + begin + length
    return text[_position(begin, size) : _position(end, size)]


def _position(value: float, size: int) -> int:
    return 0 if math.isnan(value) else math.trunc(max(-size, min(value, size)))


def base64_encode(text: str | None) -> str | None:
    """Implement ``$base64encode``, for any text, in UTF-8."""
    try:
        return None if text is None else b64encode(text.encode()).decode()
    except UnicodeEncodeError:
        raise Failure(_FAILED, "The argument of $base64encode contains half of a surrogate pair") from None


def base64_decode(text: str | None) -> str | None:
    """Implement ``$base64decode``: optional padding, UTF-8 text."""
    if text is None:
        return None
    # AWS was observed to fail with "!!!", which the library skips; Java's decoder takes a text without padding.
    try:
        return b64decode(text + "=" * (-len(text) % 4), validate=True).decode()
    except (Error, UnicodeDecodeError, ValueError):
        raise Failure(_FAILED, "The argument of $base64decode is no text in Base64") from None


def encode_url(text: str | None) -> str | None:
    """Implement ``$encodeUrl``."""
    return None if text is None else _encode(text, _WHOLE, "encodeUrl")


def encode_url_component(text: str | None) -> str | None:
    """Implement ``$encodeUrlComponent``."""
    return None if text is None else _encode(text, _COMPONENT, "encodeUrlComponent")


def decode_url(text: str | None) -> str | None:
    """Implement ``$decodeUrl``."""
    if text is None:
        return None
    parts = _RESERVED.split(text)
    return "".join(part if index % 2 else _decode(part, "decodeUrl") for index, part in enumerate(parts))


def decode_url_component(text: str | None) -> str | None:
    """Implement ``$decodeUrlComponent``."""
    return None if text is None else _decode(text, "decodeUrlComponent")


def _encode(text: str, kept: str, name: str) -> str:
    try:
        return quote(text, safe=kept)
    except UnicodeEncodeError:
        raise _malformed(text, name) from None


def _decode(text: str, name: str) -> str:
    if _NO_ESCAPE.search(text):
        raise _malformed(text, name)
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise _malformed(text, name) from None


def _malformed(text: str, name: str) -> Failure:
    shown = text[:100].encode("utf-8", "backslashreplace").decode()
    return Failure(_NO_URL, f'Malformed URL passed to ${name}(): "{shown}"')


# Functions of the library whose results may be far larger than their arguments, with a check before the call.


def pad(string: str | None, width: float | None, char: str | None) -> Any:
    """Implement ``$pad``."""
    if string is not None and width is not None:
        check_size(abs(width), MAX_CHARACTERS, "characters")
    return Functions.pad(string, width, char)


def join(parts: list[str] | None, separator: str | None) -> Any:
    """Implement ``$join``."""
    if parts is not None:
        size = sum(map(len, parts)) + len(separator or "") * len(parts)
        check_size(size, MAX_CHARACTERS, "characters")
    return Functions.join(parts, separator)


def join_arrays(*arrays: list[Any] | None) -> Any:
    """Implement ``$zip``."""
    check_size(sum(len(array) for array in arrays if array is not None), MAX_ITEMS, "items")
    return Functions.zip(*arrays)


_COPYING = frozenset(
    {"append", "count", "exists", "type", "reverse", "zip", "keys", "lookup", "spread", "boolean", "not"}
)
"""Functions without a loop in Python over their arrays, or whose loop counts its own work."""

_ARITIES: Mapping[str, int] = {
    **dict.fromkeys(("zip",), 0),
    **dict.fromkeys(("error",), 1),
    **dict.fromkeys(("substringBefore", "substringAfter", "contains", "join", "formatBase", "formatInteger"), 2),
    **dict.fromkeys(("parseInteger", "round", "power", "single", "sift", "each", "lookup", "assert", "sort"), 2),
    **dict.fromkeys(("toMillis",), 2),
    **dict.fromkeys(("substring", "pad", "match", "split", "formatNumber", "reduce", "fromMillis"), 3),
    **dict.fromkeys(("replace",), 4),
}
"""Arguments that ``$map`` and its like give to a function, where they are not the required ones of its signature."""


class _Builtin(Jsonata.JFunction):  # type: ignore[misc] # the library has no types
    """Library function that counts work, accepts null values, converts Python errors."""

    def __init__(self, native: Any) -> None:
        super().__init__(native.function, None)
        self.function_name = native.function_name
        self.signature = _Signature(native.signature, _ARITIES.get(native.function_name))
        self._native = native
        self._item = COPY if native.function_name in _COPYING else VISIT

    def validate(self, args: Any, context: Any) -> Any:
        self._spend(args)
        return _Validated(super().validate(args, context))

    def call(self, input: Any, args: Any) -> Any:  # noqa: A002 - the library's parameter name
        """Call the function, after validation of arguments that come from ``$map`` and other functions.

        Raises:
            JException: the function fails, in Python's words too.
        """
        validated = args if isinstance(args, _Validated) else self.validate(args, Utils.NULL_VALUE)
        try:
            return self._native.call(input, validated)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            text = f"The function ${self.function_name} cannot be evaluated with these arguments"
            raise Failure(NO_MATCH, text) from None

    def get_number_of_args(self) -> int:
        return int(self._native.get_number_of_args())

    def _spend(self, args: list[Any]) -> None:
        """Count work: one function call, plus reading its arguments."""
        work = CALL
        for argument in args:
            if isinstance(argument, str):
                work += len(argument)
            elif isinstance(argument, list | dict):
                work += self._item * len(argument)
        current().spend(work)


class _Validated(list[Any]):
    """Arguments that match the function's signature."""


class _Signature(Signature):  # type: ignore[misc] # the library has no types
    """Copy of a parsed library signature with null as a separate type."""

    def __init__(self, parsed: Signature, arity: int | None) -> None:
        self.__dict__.update(vars(parsed))
        self._arity = arity

    def get_symbol(self, value: Any) -> str:
        return "l" if value is Utils.NULL_VALUE else str(super().get_symbol(value))

    def get_min_number_of_args(self) -> int:
        """Return the number of arguments that ``$map`` and its like give."""
        return int(super().get_min_number_of_args()) if self._arity is None else self._arity


def builtin(name: str) -> Any:
    """Return JSONata's function `name`, without ``$``; None for unknown names."""
    if name in CORRECTED:
        return CORRECTED[name]
    native = Jsonata.static_frame.bindings.get(name)
    return None if native is None else _Builtin(native)


def _error(message: str | None) -> Any:
    return Functions.error(message or None)


def _assert(condition: bool | None, message: str | None) -> None:  # noqa: FBT001 - a parameter of ``$assert``
    if not condition:
        raise JException("D3141", -1, message or "$assert() statement failed")


def _function(name: str, signature: str, implementation: Callable[..., Any]) -> _Builtin:
    return _Builtin(Function(name, signature, implementation))


CORRECTED: dict[str, _Builtin] = {
    name: _function(name, signature, implementation)
    for name, signature, implementation in (
        ("string", "<x-b?:s>", to_string),
        ("substring", "<s-nn?:s>", substring),
        ("lowercase", "<s-:s>", lowercase),
        ("contains", "<s-(sf):b>", contains),
        ("match", "<s-f<s:o>n?:a<o>>", match),
        ("replace", "<s-(sf)(sf)n?:s>", replace),
        ("split", "<s-(sf)n?:a<s>>", split),
        ("pad", "<s-ns?:s>", pad),
        ("join", "<a<s>s?:s>", join),
        ("base64encode", "<s-:s>", base64_encode),
        ("base64decode", "<s-:s>", base64_decode),
        ("encodeUrl", "<s-:s>", encode_url),
        ("encodeUrlComponent", "<s-:s>", encode_url_component),
        ("decodeUrl", "<s-:s>", decode_url),
        ("decodeUrlComponent", "<s-:s>", decode_url_component),
        ("sum", "<a<n>:n>", number_functions.total),
        ("average", "<a<n>:n>", number_functions.average),
        ("max", "<a<n>:n>", number_functions.largest),
        ("min", "<a<n>:n>", number_functions.smallest),
        ("number", "<(nsb)-:n>", number_functions.number),
        ("floor", "<n-:n>", number_functions.floor),
        ("ceil", "<n-:n>", number_functions.ceil),
        ("abs", "<n-:n>", number_functions.absolute),
        ("sqrt", "<n-:n>", number_functions.square_root),
        ("power", "<n-n:n>", number_functions.power),
        ("round", "<n-n?:n>", number_functions.round_half_even),
        ("formatBase", "<n-n?:s>", number_functions.format_base),
        ("formatNumber", "<n-so?:s>", format_number),
        ("formatInteger", "<n-s:s>", pictures.format_integer),
        ("parseInteger", "<s-s:n>", pictures.parse_integer),
        ("fromMillis", "<n-s?s?:s>", pictures.from_millis),
        ("type", "<x:s>", array_functions.type_name),
        ("boolean", "<x-:b>", array_functions.boolean),
        ("not", "<x-:b>", array_functions.negation),
        ("sort", "<af?:a>", array_functions.sort),
        ("distinct", "<x:x>", array_functions.distinct),
        ("filter", "<af>", array_functions.select),
        ("single", "<af?>", array_functions.single),
        ("sift", "<o-f?:o>", array_functions.sift),
        ("merge", "<a<o>:o>", array_functions.merge),
        ("clone", "<(oa)-:o>", array_functions.clone),
        ("zip", "<a+>", join_arrays),
        ("keys", "<x-:a<s>>", keys),
        ("lookup", "<x-s:x>", lookup),
        ("spread", "<x-:a<o>>", spread),
        ("error", "<s?:x>", _error),
        ("assert", "<bs?:x>", _assert),
    )
}
"""Corrected functions by name, without ``$``."""


def to_millis(now_ms: int) -> _Builtin:
    """Return ``$toMillis`` of an execution at `now_ms`."""
    return _function("toMillis", "<s-s?:n>", pictures.to_millis(now_ms))


class ExpressionSyntaxError(ValueError):
    """Invalid JSONata expression."""


class Expression:
    """A compiled expression.

    Attributes:
        text: text between ``{%`` and ``%}``.

    Raises:
        ExpressionSyntaxError: describes the error and its position.
    """

    def __init__(self, text: str) -> None:
        self.text = text.strip()
        with isolate():
            try:
                # The library's tokenizer fails on a comment at the very end.
                source = f"{self.text} " if self.text.endswith("*/") else self.text
                self._engine = _Engine(source)
            except RecursionError:
                raise ExpressionSyntaxError("nested too deeply; use fewer parentheses") from None
            except JException as error:
                raise ExpressionSyntaxError(_with_location(error)) from None
            except re.error as error:
                raise ExpressionSyntaxError(f"the regular expression {error.pattern!r} is wrong: {error}") from None
            except Exception as error:  # noqa: BLE001 - the library's parser raises many types on odd texts
                raise ExpressionSyntaxError(f"cannot be read ({type(error).__name__}: {error})") from None

    @property
    def tree(self) -> Node:
        """Syntax tree."""
        return self._engine.ast

    def evaluate(self, names: Names, field: str) -> Json:
        """Evaluate the expression and return its value.

        Args:
            names: visible names, never changed.
            field: position in the state, with slashes. It is part of the random seed: a later delivery may evaluate
                fewer fields, so random numbers must not depend on earlier evaluations.

        Raises:
            QueryEvaluationError: the evaluation fails, or its result is undefined or not JSON.
        """
        with isolate(), metered() as meter:
            try:
                result = self._engine.run(_Frame(names, field, meter))
                value = from_library(result)
            except NotJson:
                raise QueryEvaluationError.unsupported(self.text, field) from None
            except Exception as error:  # noqa: BLE001 - the library passes on Python's exceptions for odd arguments
                raise QueryEvaluationError.thrown(self.text, field, describe(error)) from None
        if result is None:
            raise QueryEvaluationError.undefined(self.text, field)
        return value


class _LaterOperator(Parser.Infix):  # type: ignore[misc] # the library has no types
    """Operator that came after JSONata 2.0.6; a function's signature may contain the same characters."""

    def led(self, left: Node) -> Node:  # noqa: ARG002 - the library's parameter
        raise JException(_UNKNOWN_OPERATOR, self.position, self.id)


class _Parser(Parser):  # type: ignore[misc] # the library has no types
    """The library's parser, for JSONata 2.0.6, the version of Step Functions (Developer Guide, "Transforming data")."""

    def __init__(self) -> None:
        super().__init__()
        for name in _LATER_OPERATORS:
            del self.symbol_table[name]
            self.register(_LaterOperator(self, name))

    def advance(self, id: str | None = None, infix: bool = False) -> Node:  # noqa: A002, FBT001, FBT002 - the library's
        """Read the next token; join two escapes of one character beyond the basic plane, as UTF-16 does."""
        try:
            node = super().advance(id, infix)
        except KeyError as unknown:
            raise JException(_UNKNOWN_OPERATOR, self.lexer.position, *unknown.args) from None
        if isinstance(node.value, str) and node.type == "string":
            node.value = node.value.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
        return node


class _Engine(Interpreter):
    """The evaluator of one expression."""

    def __init__(self, source: str) -> None:
        with _own_parser():
            super().__init__(source, regex)

    def run(self, frame: "_Frame") -> Any:
        Jsonata.CURRENT.jsonata = self
        return self.eval(self.ast, None, frame)


_parsers = threading.local()


@contextmanager
def _own_parser() -> Iterator[None]:
    """Make the library parse with `_Parser`; it keeps one parser for each thread, also for other users."""
    kept = vars(Jsonata.PARSER)
    before = kept.copy()
    if not hasattr(_parsers, "own"):
        _parsers.own = _Parser()  # takes as long as an expression, so each thread keeps it
    kept["parser"] = _parsers.own
    try:
        yield
    finally:
        kept.clear()
        kept.update(before)


class _Base(Jsonata.Frame):  # type: ignore[misc] # the library has no types
    """Pure functions, created at their first lookup."""

    def lookup(self, name: str) -> Any:
        if name not in self.bindings:
            self.bindings[name] = builtin(name)
        return self.bindings[name]


_TO_MILLIS = "toMillis"
_IMPURE = states_functions.IMPURE | {_TO_MILLIS}

_base = _Base(None)
_base.bindings.update(states_functions.PURE)
_base.bindings["eval"] = None  # not available in Step Functions

BUILT_IN = frozenset({*Jsonata.static_frame.bindings, *states_functions.PURE, *states_functions.IMPURE}) - {"eval"}
"""Names of all functions that an expression may call without a definition."""


class _Frame(Jsonata.Frame):  # type: ignore[misc] # the library has no types
    """Outermost scope of one evaluation: binds names at first lookup."""

    def __init__(self, names: Names, field: str, meter: Meter) -> None:
        super().__init__(_base)
        self._names = names
        self._field = field
        self.bindings.update({"$": None, "__evaluate_entry": meter.enter, "__evaluate_exit": meter.leave})

    def lookup(self, name: str) -> Any:
        if name not in self.bindings:
            if self._names.has(name):
                self.bindings[name] = _convert(self._names, name)
            elif name in _IMPURE:
                self.bindings.update(self._impure())
        return super().lookup(name)

    def _impure(self) -> dict[str, Any]:
        context, item = self._names.context, self._names.item
        place = self._field if item is None else f"{self._field}[{item['Index']}]"
        clock = states_functions.time_functions(context.now_ms) | {_TO_MILLIS: to_millis(context.now_ms)}
        return clock | states_functions.random_functions(f"{context.seed}/{place}")


def _convert(names: Names, name: str) -> Any:
    """Return the value of `name` in the library's form; conversion happens once per visit, not per expression."""
    if name not in names.converted:
        names.converted[name] = to_library(names.value(name))
    value = names.converted[name]
    if name != STATES or names.item is None:
        return value
    return value | {"context": value["context"] | {"Map": {"Item": to_library(names.item)}}}


def _with_location(error: JException) -> str:
    place = f" at character {error.location}" if error.location >= 0 else ""
    return f"{error}{place} ({error.error})"
