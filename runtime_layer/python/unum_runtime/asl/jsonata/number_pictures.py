"""Pictures of ``$formatNumber``, such as ``#,##0.00``.

Sources: XPath Functions and Operators 3.1, "Formatting numbers", to which JSONata refers, with its rule numbers; the
reference implementation of JSONata 2.0.6 for open questions. The package jsonata-python rounds halves up, takes the
nearest double instead of the number in the source, and counts exponents differently.
"""

import math
from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import NamedTuple

from unum_runtime.asl.jsonata.dates import check_picture
from unum_runtime.asl.jsonata.failures import NO_MATCH, Failure
from unum_runtime.asl.jsonata.library import JException

_SYMBOLS = {
    "decimal-separator": ".",
    "grouping-separator": ",",
    "exponent-separator": "e",
    "infinity": "Infinity",
    "minus-sign": "-",
    "NaN": "NaN",
    "percent": "%",
    "per-mille": "‰",
    "zero-digit": "0",
    "digit": "#",
    "pattern-separator": ";",
}
_LONG_SYMBOLS = frozenset({"infinity", "NaN"})
_MOST_SUBPICTURES = 2
_WIDE = Context(prec=1_000)  # a double has up to 309 digits before its point


class _Symbols:
    """Picture characters, from default symbols plus options."""

    def __init__(self, options: Mapping[str, str]) -> None:
        symbols = {**_SYMBOLS, **options}
        self.point, self.comma = symbols["decimal-separator"], symbols["grouping-separator"]
        self.exponent, self.separator = symbols["exponent-separator"], symbols["pattern-separator"]
        self.percent, self.per_mille = symbols["percent"], symbols["per-mille"]
        self.minus, self.infinity, self.nan = symbols["minus-sign"], symbols["infinity"], symbols["NaN"]
        self.zero, self.optional = symbols["zero-digit"], symbols["digit"]
        self.digits = [chr(ord(self.zero) + digit) for digit in range(10)]
        self.active = {*self.digits, self.optional, self.point, self.comma, self.separator}

    def count(self, text: str, *, optional: bool = False) -> int:
        """Count digits in `text`, optionally including optional digits."""
        return sum(character in self.digits or (optional and character == self.optional) for character in text)

    def digits_of(self, number: Decimal) -> str:
        """Return the decimal digits of `number`, with a point in ASCII."""
        return "".join(self.digits[int(digit)] if digit.isdigit() else digit for digit in format(abs(number), "f"))


class _Picture(NamedTuple):
    """Parts of one subpicture."""

    text: str
    prefix: str
    integer: str
    fraction: str
    exponent: str | None
    suffix: str


def format_number(value: float | None, picture: str | None, options: Mapping[str, str] | None) -> str | None:
    """Implement ``$formatNumber``.

    Raises:
        JException: invalid picture.
    """
    if value is None or picture is None:
        return None
    check_picture(picture)
    symbols = _Symbols(_checked(options or {}))
    subpictures = picture.split(symbols.separator)
    if len(subpictures) > _MOST_SUBPICTURES:
        raise JException("D3080", -1)
    parsed = [_parse(text, symbols) for text in subpictures]
    if math.isnan(value):
        return symbols.nan
    positive, negative = parsed[0], parsed[-1]
    if len(parsed) == 1:
        negative = positive._replace(prefix=symbols.minus + positive.prefix)
    shape = positive if value >= 0 else negative
    number = symbols.infinity if math.isinf(value) else _format(abs(Decimal(repr(value))), shape, symbols)
    return shape.prefix + number + shape.suffix


def _checked(options: Mapping[str, str]) -> Mapping[str, str]:
    """Return `options`, after checking character counts.

    Raises:
        Failure: one is no text, or too short or too long for its place in pictures.
    """
    for name, value in options.items():
        if not isinstance(value, str) or (name in _SYMBOLS and name not in _LONG_SYMBOLS and not value):
            raise Failure(NO_MATCH, f'Argument 3 of function $formatNumber: the option "{name}" must be a text')
        if name == "zero-digit" and len(value) != 1:
            raise Failure(NO_MATCH, f'Argument 3 of function $formatNumber: the option "{name}" must be one character')
    return options


def _parse(text: str, symbols: _Symbols) -> _Picture:
    """Split a subpicture into its parts, and check them (rules of 4.7.3)."""
    active = [position for position, character in enumerate(text) if character in symbols.active]
    if not active:
        raise JException("D3086" if text else "D3085", -1)
    start, end = active[0], active[-1] + 1
    inside, suffix = text[start:end], text[end:]
    mantissa, marked, exponent = inside.partition(symbols.exponent)
    is_marked = bool(marked) or suffix.startswith(symbols.exponent)
    integer, _, fraction = mantissa.partition(symbols.point)
    parts = _Picture(text, text[:start], integer, fraction, exponent if is_marked else None, suffix)
    code = _fault(parts, inside, symbols)
    if code is not None:
        raise JException(code, -1)
    return parts


def _fault(parts: _Picture, inside: str, symbols: _Symbols) -> str | None:
    """Return the code of the last violated rule, as the reference implementation does; None without violation."""
    text, comma, point = parts.text, symbols.comma, symbols.point
    shown, digits = parts.integer + parts.fraction, symbols.digits
    is_scaled = symbols.percent in text or symbols.per_mille in text
    first_optional, last_optional = parts.integer.find(symbols.optional), parts.fraction.rfind(symbols.optional)
    rules = {
        "D3081": text.count(point) > 1,
        "D3082": text.count(symbols.percent) > 1,
        "D3083": text.count(symbols.per_mille) > 1,
        "D3084": symbols.percent in text and symbols.per_mille in text,
        "D3085": symbols.count(shown, optional=True) == 0,
        "D3086": any(character not in symbols.active | {symbols.exponent} for character in inside),
        "D3087": comma + point in text or point + comma in text,
        "D3088": point not in text and parts.integer.endswith(comma),
        "D3089": comma + comma in text,
        "D3090": first_optional >= 0 and symbols.count(parts.integer[:first_optional]) > 0,
        "D3091": last_optional >= 0 and symbols.count(parts.fraction[last_optional:]) > 0,
        "D3092": bool(parts.exponent) and is_scaled,
        "D3093": parts.exponent is not None
        and (not parts.exponent or any(character not in digits for character in parts.exponent)),
    }
    return next((code for code in reversed(rules) if rules[code]), None)


def _format(number: Decimal, shape: _Picture, symbols: _Symbols) -> str:
    """Return the text of `number`, which is not negative, without prefix and suffix (rules of 4.7.5)."""
    least_integer, least, most = _sizes(shape, symbols)
    scaled = number * (100 if symbols.percent in shape.text else 1000 if symbols.per_mille in shape.text else 1)
    exponent = 0 if shape.exponent is None else _exponent(scaled, symbols.count(shape.integer))
    mantissa = scaled.scaleb(-exponent, _WIDE)
    rounded = mantissa.quantize(Decimal(1).scaleb(-most), rounding=ROUND_HALF_EVEN, context=_WIDE)
    integer, _, fraction = symbols.digits_of(rounded).partition(".")
    integer = integer.lstrip(symbols.zero).rjust(least_integer, symbols.zero)
    fraction = fraction.rstrip(symbols.zero).ljust(least, symbols.zero)
    text = _group(integer, _places(shape.integer, symbols), symbols)
    if fraction:
        text += symbols.point + _group_fraction(fraction, shape.fraction, symbols)
    if shape.exponent is None:
        return text
    power = symbols.digits_of(Decimal(exponent)).rjust(len(shape.exponent), symbols.zero)
    return text + symbols.exponent + (symbols.minus if exponent < 0 else "") + power


def _sizes(shape: _Picture, symbols: _Symbols) -> tuple[int, int, int]:
    """Return the minimum of integer digits, and minimum and maximum of fraction digits (rules of 4.7.4)."""
    least_integer = symbols.count(shape.integer)
    least, most = symbols.count(shape.fraction), symbols.count(shape.fraction, optional=True)
    if least_integer == most == 0:
        if shape.exponent is None:
            least_integer = 1
        else:
            least = most = 1
    if shape.exponent is not None and least_integer == 0 and symbols.optional in shape.integer:
        least_integer = 1
    if least_integer == least == 0:
        least = 1
    return least_integer, least, most


def _exponent(number: Decimal, digits: int) -> int:
    """Return the exponent that leaves `digits` digits before the point; 0 for zero."""
    if not number:
        return 0  # JSONata 2.0.6 never ends here, nor for a negative number; later versions agree with this
    exponent = number.adjusted() - digits + 1
    # From above, the reference implementation stops at exactly 10 to the number of digits: ``10e0``, not ``1e1``.
    is_power = exponent > 0 and number == Decimal(1).scaleb(number.adjusted())
    return exponent - is_power


def _places(integer: str, symbols: _Symbols) -> list[int]:
    """Return the number of digits after each grouping separator in `integer`."""
    parts = integer.split(symbols.comma)
    return [symbols.count("".join(parts[index:]), optional=True) for index in range(1, len(parts))]


def _group(digits: str, places: Sequence[int], symbols: _Symbols) -> str:
    """Return `digits` with grouping separators; a regular grouping continues to the left."""
    step = math.gcd(*places)
    if step and {step * count for count in range(1, len(places) + 1)} == {*places}:
        places = range(step, len(digits), step)
    return _join(digits, {len(digits) - place for place in places if place < len(digits)}, symbols)


def _group_fraction(digits: str, picture: str, symbols: _Symbols) -> str:
    parts = picture.split(symbols.comma)
    ends = {symbols.count("".join(parts[:index]), optional=True) for index in range(1, len(parts))}
    return _join(digits, {end for end in ends if end < len(digits)}, symbols)


def _join(digits: str, ends: set[int], symbols: _Symbols) -> str:
    return "".join(symbols.comma + digit if index in ends else digit for index, digit in enumerate(digits))
