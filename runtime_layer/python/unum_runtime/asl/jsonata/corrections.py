"""Corrected versions of JSONata functions in which the library deviates from the language.

Sources: https://docs.jsonata.org, and the reference implementation for open questions. Input that the library accepts
beyond the language, such as blanks around the text of a number, stays accepted.
"""

import math
import re
from base64 import b64decode
from collections.abc import Callable
from itertools import takewhile
from typing import Any
from urllib.parse import unquote

from unum_runtime.asl.jsonata.library import Functions, JException, Jsonata, Signature, Utils
from unum_runtime.asl.jsonata.limited_functions import check_picture, from_millis, join, join_arrays, pad
from unum_runtime.asl.jsonata.limits import check_tree
from unum_runtime.asl.jsonata.matching import contains, match, replace, split
from unum_runtime.asl.jsonata.number_pictures import format_number
from unum_runtime.asl.jsonata.states_functions import Function
from unum_runtime.asl.jsonata.string_form import to_string

_NUMBER = re.compile(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*", re.ASCII)
_RADICES = {"x": 16, "o": 8, "b": 2}
_RADIX = re.compile(r"0([xob])([0-9a-f]+)", re.IGNORECASE)
_RESERVED = re.compile("(%(?:3B|2F|3F|3A|40|26|3D|2B|24|2C|23))", re.IGNORECASE)
"""Escapes of ``;/?:@&=+$,#``, which stay escaped in a whole URL. Source: ECMAScript, "decodeURI"."""

_ISO_8601 = re.compile(
    r"\d{4}(-[01]\d)*(-[0-3]\d)*(T[0-2]\d:[0-5]\d:[0-5]\d)*(\.\d+)?([+-][0-2]\d:?[0-5]\d|Z)?", re.ASCII
)
"""Timestamps of ``$toMillis`` without a picture. Source: reference implementation, JSONata 2.0.6."""

_MONTH = re.compile(r"\d{4}-\d\d", re.ASCII)
_FRACTION = re.compile(r"\.(\d+)(?!.*\.\d)", re.ASCII | re.DOTALL)
_FRACTION_MARK = re.compile(r"\[f[^\]]*\]")
_MARK = re.compile(r"(?<!\[)\[([A-Za-z])")
_NAMED = {"d": "MD", "h": "H", "P": "H"}
"""Components that a mark of a picture also determines: the day of the year, and the 12-hour clock."""

_WEEKS = frozenset("XxWw")


class _Builtin(Jsonata.JFunction):  # type: ignore[misc] # the library has no types
    """Function of the library with null as a value; the library itself treats null as a missing argument."""

    def __init__(self, native: Any) -> None:
        super().__init__(native.function, None)
        self.function_name = native.function_name
        self.signature = _Signature(native.signature)
        self._native = native

    def validate(self, args: Any, context: Any) -> Any:
        return _Validated(super().validate(args, context))

    def call(self, input: Any, args: Any) -> Any:  # noqa: A002 - the library's parameter name
        """Call the function, after validation of arguments that come from ``$map`` and other functions."""
        return self._native.call(input, args if isinstance(args, _Validated) else self.validate(args, None))

    def get_number_of_args(self) -> int:
        return int(self._native.get_number_of_args())


class _Validated(list[Any]):
    """Arguments that match the function's signature."""


class _Signature(Signature):  # type: ignore[misc] # the library has no types
    """Copy of a parsed library signature with null as a separate type."""

    def __init__(self, parsed: Signature) -> None:
        self.__dict__.update(vars(parsed))

    def get_symbol(self, value: Any) -> str:
        return "l" if value is Utils.NULL_VALUE else str(super().get_symbol(value))


def builtin(name: str) -> Any:
    """Return JSONata's function `name`, without ``$``; None for unknown names."""
    if name in CORRECTED:
        return CORRECTED[name]
    native = Jsonata.static_frame.bindings.get(name)
    return None if native is None else _Builtin(native)


class _SortKey:
    """Sort key with a comparator function, which returns true if its first argument belongs after the second."""

    def __init__(self, item: Any, comparator: Any) -> None:
        self.item = item
        self._comparator = comparator

    def __lt__(self, other: "_SortKey") -> bool:
        swaps = Functions.func_apply(self._comparator, [other.item, self.item])
        return swaps > 0 if Utils.is_numeric(swaps) else bool(Functions.to_boolean(swaps))


def _sort(items: list[Any] | None, comparator: Any) -> list[Any] | None:
    if items is None or len(items) < 2:  # noqa: PLR2004 - nothing to compare
        return items
    if comparator is not None:
        # Stable, like the merge sort of JSONata's reference implementation.
        return [key.item for key in sorted(_SortKey(item, comparator) for item in items)]
    if not (all(isinstance(item, str) for item in items) or all(map(Utils.is_numeric, items))):
        raise JException("D3070", -1)
    return sorted(items)


def _distinct(items: Any) -> Any:
    if not isinstance(items, list) or len(items) < 2:  # noqa: PLR2004 - nothing to compare
        return items
    check_tree(items)
    results = Utils.create_sequence() if Utils.is_sequence(items) else []
    for item in items:
        if not is_among(item, results):
            results.append(item)
    return results


def is_among(item: Any, items: list[Any]) -> bool:
    """Return True if `items` contains a value equal to `item` in JSONata; in Python, True == 1."""
    return any(Utils.is_deep_equal(item, other) for other in items)


def _number(value: Any) -> float | None:
    if value is None or not isinstance(value, str):
        return None if value is None else value + 0
    if prefixed := _RADIX.fullmatch(value):
        radix = _RADICES[prefixed[1].lower()]
        if all(int(digit, 16) < radix for digit in prefixed[2]):
            return int(prefixed[2], radix)
    number = float(value) if _NUMBER.fullmatch(value) else math.inf
    if math.isinf(number):
        raise JException("D3030", -1, value)
    return number


def _base64_decode(string: str | None) -> str | None:
    # AWS was observed to fail with "!!!", which the library skips; Java's decoder takes a text without padding.
    return None if string is None else b64decode(string + "=" * (-len(string) % 4), validate=True).decode()


def _decode_url(string: str | None) -> str | None:
    if string is None:
        return None
    parts = _RESERVED.split(string)
    return "".join(part if index % 2 else unquote(part, errors="strict") for index, part in enumerate(parts))


def _format_integer(value: float | None, picture: str | None) -> Any:
    check_picture(picture)
    return None if value is None else Functions.format_integer(math.floor(value), picture)


def _function(name: str, signature: str, implementation: Callable[..., Any]) -> _Builtin:
    return _Builtin(Function(name, signature, implementation))


CORRECTED: dict[str, _Builtin] = {
    name: _function(name, signature, implementation)
    for name, signature, implementation in (
        ("string", "<x-b?:s>", to_string),
        ("contains", "<s-(sf):b>", contains),
        ("match", "<s-f<s:o>n?:a<o>>", match),
        ("replace", "<s-(sf)(sf)n?:s>", replace),
        ("split", "<s-(sf)n?:a<s>>", split),
        ("sort", "<af?:a>", _sort),
        ("distinct", "<x:x>", _distinct),
        ("number", "<(nsb)-:n>", _number),
        ("base64decode", "<s-:s>", _base64_decode),
        ("decodeUrl", "<s-:s>", _decode_url),
        ("formatNumber", "<n-so?:s>", format_number),
        ("formatInteger", "<n-s:s>", _format_integer),
        ("pad", "<s-ns?:s>", pad),
        ("join", "<a<s>s?:s>", join),
        ("zip", "<a+>", join_arrays),
        ("fromMillis", "<n-s?s?:s>", from_millis),
    )
}
"""Corrected functions by name, without ``$``."""


def to_millis(now_ms: int) -> _Builtin:
    """Return ``$toMillis`` with missing components, such as the day for a time, taken from `now_ms`.

    The library takes them from the machine's clock, which differs between deliveries.
    """

    def parse(timestamp: str | None, picture: str | None) -> Any:
        check_picture(picture)
        if timestamp is None or (picture is not None and not _MARK.search(picture)):
            return None
        if picture is None and not _ISO_8601.fullmatch(timestamp):
            raise JException("D3110", -1, timestamp)
        try:
            return Functions.datetime_to_millis(*_complete(timestamp, picture, now_ms))
        except ValueError:
            raise JException("D3110", -1, timestamp) from None

    return _function("toMillis", "<s-s?:n>", parse)


def _complete(timestamp: str, picture: str | None, now_ms: int) -> tuple[str, str | None]:
    """Return timestamp and picture in forms that the library parses.

    It needs a day after each month, all components from the year on, and fractions of three digits.
    """
    if picture is None:
        return (f"{timestamp}-01" if _MONTH.fullmatch(timestamp) else timestamp), None
    if ".[f" in picture:
        timestamp = _FRACTION.sub(lambda found: f".{found[1]:0<3.3}", timestamp)
        picture = _FRACTION_MARK.sub("[f001]", picture)
    marks = "".join(_NAMED.get(mark, mark) for mark in _MARK.findall(picture))
    missing = "" if _WEEKS.intersection(marks) else takewhile(lambda mark: mark not in marks, "YMDHms")
    prefix = "".join(f"[{mark}]/" for mark in missing)
    return Functions.datetime_from_millis(now_ms, prefix, None) + timestamp, prefix + picture
