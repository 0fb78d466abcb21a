"""Numeric functions of JSONata, with doubles as in the reference implementation. Undefined arguments are None."""

import math
import re
from functools import reduce
from operator import add

from unum_runtime.asl.jsonata.equality import to_double
from unum_runtime.asl.jsonata.library import JException

_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[Ee][-+]?[0-9]+)?")
_RADIX = re.compile(r"0(?:[xX][0-9A-Fa-f]+|[oO][0-7]+|[bB][01]+)")
_RADICES = {"x": 16, "o": 8, "b": 2}
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_ROUGH = 2.0**54
"""Doubles from here on do not determine their last digits; JavaScript shows zeros there."""


def finite(number: float) -> float:
    """Return `number`.

    Raises:
        JException: it is too large, or no number.
    """
    if not math.isfinite(number):
        raise JException("D1001", -1, number)
    return number


def total(numbers: list[float] | None) -> float | None:
    """Implement ``$sum``, in the order of the items; Python's own sum differs between its versions."""
    return None if numbers is None else finite(reduce(add, map(to_double, numbers), 0.0))


def average(numbers: list[float] | None) -> float | None:
    """Implement ``$average``."""
    return reduce(add, map(to_double, numbers), 0.0) / len(numbers) if numbers else None


def largest(numbers: list[float] | None) -> float | None:
    """Implement ``$max``."""
    return max(map(to_double, numbers)) if numbers else None


def smallest(numbers: list[float] | None) -> float | None:
    """Implement ``$min``."""
    return min(map(to_double, numbers)) if numbers else None


def number(value: float | str | None) -> float | None:
    """Implement ``$number``."""
    if value is None or not isinstance(value, str):
        return None if value is None else value + 0
    if _RADIX.fullmatch(value):
        return to_double(int(value[2:], _RADICES[value[1].lower()]))
    found = float(value) if _NUMBER.fullmatch(value) else math.inf
    if math.isinf(found):
        raise JException("D3030", -1, value)
    return found


def floor(value: float | None) -> float | None:
    """Implement ``$floor``."""
    return None if value is None else math.floor(finite(value))


def ceil(value: float | None) -> float | None:
    """Implement ``$ceil``."""
    return None if value is None else math.ceil(finite(value))


def absolute(value: float | None) -> float | None:
    """Implement ``$abs``."""
    return None if value is None else abs(finite(value))


def square_root(value: float | None) -> float | None:
    """Implement ``$sqrt``."""
    if value is not None and value < 0:
        raise JException("D3060", -1, value)
    return None if value is None else math.sqrt(finite(to_double(value)))


def power(base: float | None, exponent: float | None) -> float | None:
    """Implement ``$power``."""
    if base is None:
        return None
    try:
        found = math.pow(to_double(base), math.nan if exponent is None else to_double(exponent))
    except (OverflowError, ValueError):
        found = math.nan
    if not math.isfinite(found):
        raise JException("D3061", -1, base, exponent)
    return found


def round_half_even(value: float | None, precision: float | None) -> float | None:
    """Implement ``$round``: the decimal point of the shortest text moves, so that 1.005 is exactly in the middle."""
    if value is None:
        return None
    if not precision:
        return float(round(finite(to_double(value))))
    return finite(_shift(float(round(finite(_shift(to_double(value), precision)))), -precision))


def _shift(value: float, places: float) -> float:
    if not (math.isfinite(value) and float(places).is_integer()):
        return math.nan
    mantissa, _, exponent = repr(value).partition("e")
    return float(f"{mantissa}e{int(exponent or 0) + int(places)}")


def format_base(value: float | None, radix: float | None) -> str | None:
    """Implement ``$formatBase``."""
    if value is None:
        return None
    base = round_half_even(10 if radix is None else radix, None)
    if base is None or not 2 <= base <= 36:  # noqa: PLR2004 - JSONata's bounds
        raise JException("D3100", -1, base)
    whole = round_half_even(value, None) or 0.0
    return ("-" if whole < 0 else "") + _digits(abs(whole), int(base))


def _digits(whole: float, base: int) -> str:
    """Return integer digits, formatted like JavaScript."""
    digits = []
    while whole >= _ROUGH:
        whole /= base
        digits.append("0")
    while whole > 0 or not digits:
        digit = math.fmod(whole, base)
        digits.append(_DIGITS[int(digit)])
        whole = (whole - digit) / base
    return "".join(reversed(digits))
