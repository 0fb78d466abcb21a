"""The one notion of JSON: all JSON text is read and written by these functions.

Rules beyond the grammar of RFC 8259, equal for every entrance:

* A number lies within the range of a double, so ``1e999`` and an integer of 400 digits are refused, as are Python's
  ``NaN`` and ``Infinity``. Integers within the range are exact.
* Values are nested at most `MAX_DEPTH` levels deep, because each reader has a limit of its own.
* A text is Unicode: a lone surrogate, half of a character, is refused, also as an escape, because UTF-8 has no form for
  it. Only messages of errors may contain one; they are written with its escape.
* Bytes are UTF-8, perhaps after a byte order mark.
"""

import json
import re
from collections.abc import Callable
from decimal import Decimal
from json import JSONDecodeError
from json.encoder import encode_basestring as quoted
from math import inf
from typing import Any, NoReturn, TypeAlias

__all__ = [
    "MAX_DEPTH",
    "InvalidJson",
    "InvalidSyntax",
    "JSONDecodeError",
    "find_fault",
    "foreign_to_text",
    "is_utf8",
    "parse_foreign",
    "parse_json",
    "quoted",
    "to_ascii",
    "to_readable",
    "to_sorted",
    "to_text",
]

_Pairs: TypeAlias = Callable[[list[tuple[str, Any]]], Any]

MAX_DEPTH = 500
"""Most levels of arrays and objects in a value that enters a workflow or leaves a state.

Python 3.11 reads and writes fewer than 1,000, less the calls around. A fixed limit that leaves room for them makes one
delivery refuse what another could not read; envelopes and records add levels of their own.
"""

_LEAST_DIGITS = 309
"""Fewest digits of an integer beyond the range of a double."""

_BLOCK = (_LEAST_DIGITS + 1) // 2
"""Characters of a block; `_LEAST_DIGITS` digits in a row fill at least one aligned block."""


class InvalidJson(ValueError):
    """Text or value that is no JSON; the message says what is wrong."""


class InvalidSyntax(InvalidJson):
    """Text with a constant that only Python reads."""


def parse_json(text: str | bytes) -> Any:
    """Return the value of JSON `text` that this project or an AWS API has written.

    Raises:
        ValueError: no JSON, or a number beyond the range of a double.
    """
    try:
        return _decode(text if isinstance(text, str) else str(text, "utf-8"))
    except RecursionError:
        raise InvalidJson(_TOO_DEEP) from None


def parse_foreign(text: str | bytes, *, pairs: _Pairs | None = None) -> Any:
    """Return the value of JSON `text` from outside: an answer, a body, an object, an option.

    Args:
        text: JSON text.
        pairs: function that makes an object of its members; None for a dict with the last of equal names.

    Raises:
        ValueError: no JSON by the rules of this module.
    """
    if not isinstance(text, str):
        text = str(text, "utf-8-sig")
    decode = _decode if pairs is None else json.JSONDecoder(object_pairs_hook=pairs, **_STRICT).decode
    try:
        if _may_have_long_integer(text):
            _decode_bounded(text)  # first, because Python has a limit of digits, with a message for programmers
        value = decode(text)
    except RecursionError:
        raise InvalidJson(_TOO_DEEP) from None
    if fault := find_fault(value, text):
        raise InvalidJson(fault)
    return value


def to_text(value: Any) -> str:
    """Return compact JSON.

    Raises:
        InvalidJson: a number is not finite, or the nesting is too deep for any reader.
    """
    try:
        text = _COMPACT.encode(value)
    except RecursionError:
        raise InvalidJson(_TOO_DEEP) from None
    except ValueError as error:
        raise InvalidJson(str(error)) from None
    return text if text.isascii() or is_utf8(text) else to_ascii(value, is_compact=True)


def foreign_to_text(value: object) -> str:
    """Return compact JSON of a Python value from outside: tuples become arrays, ``Decimal`` becomes a number.

    Raises:
        TypeError: a part has a type without JSON form.
        ValueError: a part is no JSON by the rules of this module.
    """
    try:
        text = _FOREIGN.encode(value)
    except RecursionError:
        raise InvalidJson(_TOO_DEEP) from None
    if fault := find_fault(value, text):
        raise InvalidJson(fault)
    return text


def to_ascii(
    value: Any, *, is_compact: bool = False, is_sorted: bool = False, default: Callable[[Any], Any] | None = None
) -> str:
    """Return JSON in ASCII, for digests, logs and messages; `default` replaces values that are not JSON."""
    separators = _TIGHT if is_compact else None
    return json.dumps(value, allow_nan=False, sort_keys=is_sorted, separators=separators, default=default)


def to_sorted(value: Any) -> str:
    """Return compact JSON with the members of objects in the order of their names."""
    return json.dumps(value, allow_nan=False, sort_keys=True, separators=_TIGHT, ensure_ascii=False)


def to_readable(value: Any, *, indent: int | None = None) -> str:
    """Return JSON for people, on one line, or on many with `indent`."""
    text = json.dumps(value, allow_nan=False, indent=indent, ensure_ascii=False)
    return text if is_utf8(text) else json.dumps(value, allow_nan=False, indent=indent)


def is_utf8(text: str) -> bool:
    """Return True unless `text` has lone surrogates, which no key and no item can hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def find_fault(value: Any, text: str) -> str | None:
    """Return what the rules forbid in `value`, a value with the JSON `text`; None for nothing."""
    try:
        if _may_have_long_integer(text):
            _decode_bounded(text)
        has_escape = "\\" in text and _SURROGATE.search(text) is not None
        is_unicode = (text.isascii() or is_utf8(text)) and (not has_escape or is_utf8(_COMPACT.encode(_decode(text))))
    except InvalidJson as error:
        return str(error)
    except RecursionError:
        return _TOO_DEEP
    if not is_unicode:
        return "a text contains a lone surrogate, which is not Unicode; send whole characters"
    return _TOO_DEEP if _is_too_deep(value, text) else None


def _is_too_deep(value: Any, text: str) -> bool:
    # Most texts have too few brackets: counting them takes a tenth of the time of a look at each value.
    if len(text) <= 2 * MAX_DEPTH or text.count("[") + text.count("{") <= MAX_DEPTH:
        return False
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, _CONTAINERS)
        ]
        if not level:
            return False
    return True


def _may_have_long_integer(text: str) -> bool:
    return any(text[at : at + _BLOCK].isdecimal() for at in range(0, len(text) - _BLOCK + 1, _BLOCK))


def _number(value: object) -> float:
    if isinstance(value, Decimal):
        return float(value)
    raise TypeError(f"{type(value).__qualname__} is not JSON")


def _refuse(constant: str) -> NoReturn:
    raise InvalidSyntax(f"{constant} is not JSON; use a finite number, a text or null")


def _finite(numeral: str) -> float:
    number = float(numeral)
    if -inf < number < inf:
        return number
    raise _out_of_range(numeral)


def _integer(numeral: str) -> int:
    if len(numeral) >= _LEAST_DIGITS and float(numeral) in (-inf, inf):
        raise _out_of_range(numeral)
    return int(numeral)


def _out_of_range(numeral: str) -> InvalidJson:
    shown = numeral if len(numeral) <= _SHOWN else f"{numeral[:_SHOWN]}… ({len(numeral)} characters)"
    return InvalidJson(f"the number {shown} is beyond the range of a double, ±1.8e308; write it as a text")


_CONTAINERS = (dict, list, tuple)
_SHOWN = 20
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
"""Escape of a surrogate, or of a backslash before a text that looks like one."""

_TOO_DEEP = f"nested too deeply; at most {MAX_DEPTH} levels of arrays and objects are allowed"
_TIGHT = (",", ":")
_STRICT: dict[str, Any] = {"parse_constant": _refuse, "parse_float": _finite}

# Shared, because making one takes as long as reading or writing a small value.
_decode = json.JSONDecoder(**_STRICT).decode
_decode_bounded = json.JSONDecoder(**_STRICT, parse_int=_integer).decode
_COMPACT = json.JSONEncoder(separators=_TIGHT, ensure_ascii=False, check_circular=False, allow_nan=False)
_FOREIGN = json.JSONEncoder(separators=_TIGHT, ensure_ascii=False, allow_nan=False, default=_number)
