"""JSONata's functions as expressions call them: corrected where the library deviates, and with their work counted.

Sources: https://docs.jsonata.org, and the reference implementation, JSONata 2.0.6, for open questions.
"""

import math
import re
from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote, unquote

from unum_runtime.asl.jsonata import array_functions, dates, number_functions
from unum_runtime.asl.jsonata.evaluation_limits import CALL, COPY, MAX_CHARACTERS, MAX_ITEMS, VISIT, check_size, current
from unum_runtime.asl.jsonata.failures import NO_MATCH, Failure
from unum_runtime.asl.jsonata.library import Functions, JException, Jsonata, Signature, Utils
from unum_runtime.asl.jsonata.matching import contains, match, replace, split
from unum_runtime.asl.jsonata.navigation import keys, lookup, spread
from unum_runtime.asl.jsonata.number_pictures import format_number
from unum_runtime.asl.jsonata.states_functions import Function
from unum_runtime.asl.jsonata.string_form import to_string

# JSONata functions for text, Base64 and URLs, following JSONata 2.0.6. Undefined arguments arrive as None.

_RESERVED = re.compile("(%(?:3B|2F|3F|3A|40|26|3D|2B|24|2C|23))", re.IGNORECASE)
"""Escapes of ``;/?:@&=+$,#``, which stay escaped in a whole URL. Source: ECMAScript, "decodeURI"."""

_NO_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})")
_COMPONENT = "-_.!~*'()"
_WHOLE = _COMPONENT + ";/?:@&=+$,#"
"""Characters that stay as they are. Source: ECMAScript, "encodeURI"."""

_NO_URL = "D3140"
_FAILED = "D3137"


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
        ("formatInteger", "<n-s:s>", dates.format_integer),
        ("parseInteger", "<s-s:n>", dates.parse_integer),
        ("fromMillis", "<n-s?s?:s>", dates.from_millis),
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
    return _function("toMillis", "<s-s?:n>", dates.to_millis(now_ms))
