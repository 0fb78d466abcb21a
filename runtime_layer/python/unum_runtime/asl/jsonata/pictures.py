"""Pictures of dates and integers: the library's parser of pictures, with the reference implementation's arithmetic.

A date beyond a month's last day belongs to the next month, and a missing component comes from the time of the
execution, not from the machine's clock, which differs between deliveries. Source: JSONata 2.0.6.

Pictures of ``$formatNumber``, such as ``#,##0.00``.

Sources: XPath Functions and Operators 3.1, "Formatting numbers", to which JSONata refers, with its rule numbers; the
reference implementation of JSONata 2.0.6 for open questions. The package jsonata-python rounds halves up, takes the
nearest double instead of the number in the source, and counts exponents differently.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Any, NamedTuple

from unum_runtime.asl.jsonata.equality import to_double
from unum_runtime.asl.jsonata.evaluation_limits import check_size
from unum_runtime.asl.jsonata.failures import NO_MATCH, Failure
from unum_runtime.asl.jsonata.library import DateTimeUtils, JException
from unum_runtime.asl.jsonata.number_functions import finite

MAX_PICTURE = 1_000
"""Maximum characters of a picture, and of a text that is read with one."""

MOST_THOUSANDS = 5_000
"""Letters for thousands in a Roman number; the reference implementation itself fails with more than some 8,000."""

_FAILED = "D3137"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY_MS = 86_400_000
_MONTHS, _DAYS, _HOURS = 12, 31, 24

_WIDE = re.compile(r"[,-]\s*\d{4,}[^\[\]]*\]", re.ASCII)
"""Width of a component above 999, as in ``[Y,*-1000]``."""

_ISO_8601 = re.compile(
    r"(\d{4})(?:-([01]\d))?(?:-([0-3]\d))?(?:T([0-2]\d):([0-5]\d):([0-5]\d))?(?:\.(\d+))?(?:(Z)|([+-])([0-2]\d):?([0-5]\d))?",
    re.ASCII,
)
"""Timestamps of ``$toMillis`` without a picture. Source: reference implementation."""

_LEADING_INTEGER = re.compile(r"\s*([+-]?(?:0(x)[0-9a-f]+|[0-9]+))", re.ASCII | re.IGNORECASE)
"""What JavaScript's `parseInt` reads."""

_ROMAN = re.compile(r"[Ii](?:;|\Z)")
_MARK = re.compile(r"(?<!\[)\[\s*([A-Za-z])")

_CODES = {
    "Formatting or parsing an integer as a sequence": "D3130",
    "In a decimal digit pattern": "D3131",
    "No matching closing bracket": "D3135",
    "Unknown component specifier": "D3132",
    "The 'name' modifier": "D3133",
    "The timezone integer format specifier": "D3134",
    "The date/time picture string is missing specifiers": "D3136",
}
"""Codes of the library's errors, by the beginnings of their texts."""

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
_WIDE_DIGITS = Context(prec=1_000)  # a double has up to 309 digits before its point


def from_millis(time_ms: float | None, picture: str | None, zone: str | None) -> str | None:
    """Implement ``$fromMillis``."""
    check_picture(picture)
    if time_ms is None:
        return None
    with _codes(picture):
        try:
            hours, minutes = _offset(zone)
            offset_ms = 60_000 * (60 * hours + minutes)
            whole = math.trunc(finite(time_ms) + offset_ms) - offset_ms  # a fraction goes after the shift
            shown: str = DateTimeUtils.format_datetime(whole, picture, str(100 * hours + minutes))
        except (OverflowError, OSError, ValueError):
            raise JException("D1001", -1, time_ms) from None
        return shown


def check_picture(picture: str | None) -> None:
    """Raise Runaway for long pictures, and Failure for wide components."""
    check_size(len(picture or ""), MAX_PICTURE, "characters as picture")
    if wide := _WIDE.search(picture or ""):
        raise Failure(_FAILED, f"picture: expected widths of at most 3 digits, got {wide[0]}")


def _offset(zone: str | None) -> tuple[int, int]:
    """Return hours and minutes of ``+hhmm``; hours are rounded down, as in the reference implementation."""
    found = _LEADING_INTEGER.match((zone or "0")[:MAX_PICTURE])
    if found is None:
        raise Failure("D3134", f'The timezone must have the form +hhmm. Given "{(zone or "")[:MAX_PICTURE]}"')
    offset = int(found[1], 16 if found[2] else 10)
    return math.floor(offset / 100), int(math.fmod(offset, 100))


def format_integer(value: float | None, picture: str | None) -> str | None:
    """Implement ``$formatInteger``."""
    check_picture(picture)
    if value is None or picture is None:
        return None
    whole = math.floor(finite(value))
    with _codes(picture):
        if not _ROMAN.match(picture):
            shown: str = DateTimeUtils.format_integer(whole, picture)
            return shown
        thousands, rest = divmod(abs(whole), 1000)  # the library would recur for each thousand
        check_size(thousands, MOST_THOUSANDS, "letters M")
        digits = ("M" if picture[0] == "I" else "m") * thousands + DateTimeUtils.format_integer(rest, picture)
        return f"-{digits}" if whole < 0 else digits


def parse_integer(text: str | None, picture: str | None) -> float | None:
    """Implement ``$parseInteger``; a text that is no integer gives no number (NaN)."""
    check_picture(picture)
    if text is None or picture is None:
        return None
    check_size(len(text), MAX_PICTURE, "characters as integer")
    with _codes(picture):
        form = DateTimeUtils._analyse_integer_picture(picture)  # noqa: SLF001 - the library has no public parser
        return _integer_parser(form)(text)


def _integer_parser(form: Any) -> Callable[[str], float]:
    matcher = DateTimeUtils._generate_regex_with_component(None, form)  # noqa: SLF001
    if form.primary == DateTimeUtils.Formats.DECIMAL:
        return lambda text: _decimal(text, form)

    def parse(text: str) -> float:
        try:
            return to_double(matcher.parse(text))
        except (KeyError, IndexError):  # a letter or a word that names no number
            return math.nan

    return parse


def _decimal(text: str, form: Any) -> float:
    digits = text[:-2] if form.ordinal else text
    for separator in {","} if form.regular else {each.character for each in form.groupingSeparators}:
        digits = digits.replace(separator, "")
    codes = [ord(character) - form.zeroCode + ord("0") for character in digits]
    if min(codes, default=0) < 0:
        raise JException("D3131", -1)
    found = _LEADING_INTEGER.match("".join(map(chr, codes)))
    if found is None:
        return math.nan
    return to_double(int(found[1], 16 if found[2] else 10))


def to_millis(now_ms: int) -> Callable[[str | None, str | None], float | None]:
    """Return the implementation of ``$toMillis``, which takes missing components, such as the day, from `now_ms`."""

    def parse(timestamp: str | None, picture: str | None) -> float | None:
        check_picture(picture)
        if timestamp is None:
            return None
        check_size(len(timestamp), MAX_PICTURE, "characters as timestamp")
        if picture is None:
            return _parse_iso(timestamp)
        with _codes(picture):
            return _parse(timestamp, picture, now_ms)

    return parse


def _parse_iso(timestamp: str) -> float:
    found = _ISO_8601.fullmatch(timestamp)
    if found is None:
        raise JException("D3110", -1, timestamp)
    # Six groups of the date and the time; those of the fraction and the offset follow.
    year, month, day, hour, minute, second = (
        int(part or default) for part, default in zip(found.groups(), "011000", strict=False)
    )
    fraction, sign = (found[7] or "0")[:3].ljust(3, "0"), -1 if found[9] == "-" else 1
    is_time = hour < _HOURS or (hour == _HOURS and minute == second == 0)
    is_date = 1 <= month <= _MONTHS and 1 <= day <= _DAYS and is_time and int(found[10] or 0) < _HOURS
    if not is_date:
        raise JException("D3110", -1, timestamp)
    offset = sign * (60 * int(found[10] or 0) + int(found[11] or 0))
    return _utc_ms(year, month - 1, day, hour, minute, second, int(fraction)) - 60_000 * offset


def _utc_ms(*parts: float) -> float:
    """Return milliseconds since 1970, normalizing overflowing parts like JavaScript; NaN when impossible."""
    if not all(map(math.isfinite, parts)):
        return math.nan
    year, month, day, hour, minute, second, millisecond = map(int, parts)
    year += 1900 if 0 <= year <= 99 else 0  # noqa: PLR2004 - as in JavaScript
    years, month = divmod(month, _MONTHS)
    try:
        start = datetime(year + years, month + 1, 1, tzinfo=UTC)
    except (ValueError, OverflowError):
        return math.nan
    days = (start - _EPOCH) // timedelta(days=1) + day - 1
    return float(days * _DAY_MS + 3_600_000 * hour + 60_000 * minute + 1_000 * second + millisecond)


def _parse(timestamp: str, picture: str, now_ms: int) -> float | None:
    specification = DateTimeUtils._analyse_datetime_picture(picture)  # noqa: SLF001
    parts = DateTimeUtils._generate_regex(specification).parts  # noqa: SLF001
    pattern, parsers = "", []
    for part, marker in zip(parts, specification.parts, strict=True):
        is_decimal = marker.integerFormat is not None and marker.component not in ("Z", "z")
        is_decimal = is_decimal and marker.integerFormat.primary == DateTimeUtils.Formats.DECIMAL
        text = re.escape(marker.value) if marker.type == "literal" else _digits(marker) if is_decimal else part.regex
        pattern += f"({text})"
        if marker.type != "literal":
            parsers.append((marker.component, _integer_parser(marker.integerFormat) if is_decimal else part.parse))
        else:
            parsers.append((None, part.parse))
    found = re.fullmatch(pattern, timestamp, re.IGNORECASE)
    if found is None:
        return None
    components: dict[str, Any] = {}
    for (component, parser), text in zip(parsers, found.groups(), strict=True):
        if component is not None:
            try:
                components[component] = parser(text)
            except KeyError:  # a word that names no month or day
                components[component] = None
    return _assemble(components, now_ms) if components else None


def _digits(marker: Any) -> str:
    """Return the regular expression of a decimal component; year, month and day may have a fixed width."""
    form, width = marker.integerFormat, 0
    if marker.component in ("Y", "M", "D"):
        has_width = marker.width is not None and marker.width[1] is not None
        width = marker.width[1] if has_width else form.mandatoryDigits + form.optionalDigits
        width = width if has_width or width > 1 else 0
    least = max(0, width - form.optionalDigits)
    count = "+" if not width else f"{{{width}}}" if form.optionalDigits == 0 else f"{{{least},{width}}}"
    return f"[0-9]{count}" + ("(?:th|st|nd|rd)" if form.ordinal else "")


_DATES = (("YMD", "YMD"), ("YD", "Yd"), ("XxwF", "xXw"), ("XWF", "XW"))


def _assemble(components: dict[str, Any], now_ms: int) -> float:
    """Return milliseconds since 1970; missing components follow rules of JSONata 2.0.6.

    Raises:
        JException: a component between two others is missing, or a date is given by weeks.
    """
    present = {component for component in "YXMxWwdDPHhmsf" if components.get(component)}
    date = next((order for order, marks in _DATES if _is_kind(present & set("YXMxWwdD"), marks)), "YMD")
    time = "Hmsf"
    if not _is_kind(present & set("PHhmsf"), "Hmsf") and _is_kind(present & set("PHhmsf"), "Phmsf"):
        time = "Phmsf"
    _complete(components, date + time, now_ms)
    if date in ("XxwF", "XWF"):
        raise JException("D3136", -1)
    month = components.get("M") or 0
    month = month - 1 if month > 0 else 0
    if date == "YD":
        first = _utc_ms(components["Y"], 0, 1, 0, 0, 0, 0)
        day = _EPOCH + timedelta(milliseconds=first + (components["d"] - 1) * _DAY_MS)
        month, components["D"] = day.month - 1, day.day
    if time == "Phmsf":
        components["H"] = (0 if components["h"] == _MONTHS else components["h"]) + 12 * (components.get("P") == 1)
    parts = (components["Y"], month, components["D"], components["H"], components["m"], components["s"])
    zone = components.get("Z") or components.get("z") or 0
    return _utc_ms(*parts, components["f"]) - zone * 60_000


def _is_kind(present: set[str], marks: str) -> bool:
    return bool(present) and present <= set(marks)


def _complete(components: dict[str, Any], order: str, now_ms: int) -> None:
    now = _EPOCH + timedelta(milliseconds=now_ms)
    is_begun = is_ended = False
    for component in order:
        if components.get(component) is None:
            known = DateTimeUtils._get_datetime_fragment  # noqa: SLF001
            least = 1 if component in "MDd" else 0
            components[component] = least if is_begun else _number_of(known(now, component))
            is_ended = is_ended or is_begun
        else:
            is_begun = True
            if is_ended:
                raise JException("D3136", -1)


def _number_of(text: str) -> float:
    return {"am": 0.0, "pm": 1.0}[text] if text in ("am", "pm") else float(text)


@contextmanager
def _codes(picture: str | None) -> Iterator[None]:
    """Give the library's errors about `picture` their codes."""
    try:
        yield
    except JException:
        raise
    except (KeyError, IndexError):
        raise JException("D3132", -1, _unknown_component(picture or "")) from None
    except RuntimeError as error:
        code = next((code for text, code in _CODES.items() if str(error).startswith(text)), None)
        if code is None:
            raise
        raise JException(code, -1, _unknown_component(picture or "")) from None
    except (ValueError, TypeError, ArithmeticError, AttributeError, re.error):
        raise Failure("D3132", f'The picture "{picture}" has a part that cannot be read') from None


_COMPONENTS: Mapping[str, str] = dict.fromkeys("YMDdFWwXxHhPmsfZzCE", "")


def _unknown_component(picture: str) -> str:
    marks = _MARK.findall(picture)
    return next((mark for mark in marks if mark not in _COMPONENTS), picture)


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
    parsed = [_parse_picture(text, symbols) for text in subpictures]
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


def _parse_picture(text: str, symbols: _Symbols) -> _Picture:
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
    mantissa = scaled.scaleb(-exponent, _WIDE_DIGITS)
    rounded = mantissa.quantize(Decimal(1).scaleb(-most), rounding=ROUND_HALF_EVEN, context=_WIDE_DIGITS)
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
