"""JSON forms of Parquet's logical types.

AWS documents no form. Numbers, texts, arrays and objects are themselves; times since 1970 are milliseconds, as Step
Functions was observed to give; what JSON has no type for is a text.
"""

import base64
import math
import struct
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from typing import Any, TypeAlias
from uuid import UUID

from unum_runtime.features.data_sets.parquet.encodings import BYTE_ARRAY, DOUBLE, FIXED, FLOAT, INT96
from unum_runtime.features.data_sets.parquet.thrift import Fields
from unum_runtime.json_text import to_ascii
from unum_runtime.model.states import Json

Convert: TypeAlias = Callable[[Any], Json]

_TYPE, _CONVERTED, _SCALE, _LOGICAL = 1, 6, 7, 10
_EPOCH = date(1970, 1, 1)
_JULIAN_EPOCH = 2_440_588
_MS_PER_DAY = 86_400_000
_CONVERTED_NAMES = {
    0: "text",
    4: "text",
    5: "decimal",
    6: "date",
    7: "time 1",
    8: "time 2",
    9: "timestamp 1",
    10: "timestamp 2",
    11: "unsigned 8",
    12: "unsigned 16",
    13: "unsigned 32",
    14: "unsigned 64",
    19: "text",
}
_LOGICAL_NAMES = {1: "text", 4: "text", 5: "decimal", 6: "date", 12: "text", 14: "uuid", 15: "half"}
_TIMES, _INTEGER = {7: "time", 8: "timestamp"}, 10
_UNITS_PER_MS = {1: 1, 2: 1_000, 3: 1_000_000}


def conversion(element: Fields) -> Convert | None:
    """Return the function from decoded values to JSON for a leaf of the schema; None if values are JSON."""
    kind, _, detail = _meaning(element).partition(" ")
    if kind:
        return _LOGICAL_CONVERSIONS[kind](int(detail or 0), element)
    return _PHYSICAL_CONVERSIONS.get(element[_TYPE])


def as_key(value: Json) -> str:
    """Return the key of a map as the name of a member."""
    return value if isinstance(value, str) else to_ascii(value)


def _meaning(element: Fields) -> str:
    """Return the logical type: its name, and unit or bits."""
    logical: Fields = element.get(_LOGICAL) or {}
    for number, detail in logical.items():
        if number in _TIMES:
            return f"{_TIMES[number]} {next(iter(detail[2]))}"
        if number == _INTEGER:
            return "" if detail.get(2) else f"unsigned {detail[1]}"
        if number in _LOGICAL_NAMES:
            return _LOGICAL_NAMES[number]
    return _CONVERTED_NAMES.get(element.get(_CONVERTED, -1), "")


def _scale(element: Fields) -> int:
    return int((element.get(_LOGICAL) or {}).get(5, {}).get(1, element.get(_SCALE, 0)))


def _decimal(scale: int) -> Convert:
    def convert(value: Any) -> str:
        number = int.from_bytes(value, "big", signed=True) if isinstance(value, bytes) else value
        digits = str(abs(number)).zfill(scale + 1)
        text = f"{digits[:-scale]}.{digits[-scale:]}" if scale else digits
        return f"-{text}" if number < 0 else text

    return convert


def _time(per_ms: int) -> Convert:
    def convert(value: int) -> str:
        seconds, rest = divmod(value, 1000 * per_ms)
        digits = len(str(1000 * per_ms)) - 1
        return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{rest:0{digits}d}"

    return convert


def _milliseconds(per_ms: int) -> Convert | None:
    return None if per_ms == 1 else lambda value: value // per_ms


def _int96(value: bytes) -> int:
    """Return milliseconds since 1970 for nanoseconds of a day, and the Julian day."""
    nanoseconds, day = struct.unpack("<qi", value)
    return int((day - _JULIAN_EPOCH) * _MS_PER_DAY + nanoseconds // 1_000_000)


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError(f"a column has the number {value}, which is not JSON; write null in its place")
    return value


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


_LOGICAL_CONVERSIONS: Mapping[str, Callable[[int, Fields], Convert | None]] = {
    "text": lambda _detail, _element: lambda value: value.decode(),
    "decimal": lambda _detail, element: _decimal(_scale(element)),
    "date": lambda _detail, _element: lambda days: (_EPOCH + timedelta(days)).isoformat(),
    "time": lambda unit, _element: _time(_UNITS_PER_MS[unit]),
    "timestamp": lambda unit, _element: _milliseconds(_UNITS_PER_MS[unit]),
    "unsigned": lambda bits, _element: lambda value: value % (1 << bits),
    "uuid": lambda _detail, _element: lambda value: str(UUID(bytes=value)),
    "half": lambda _detail, _element: lambda value: _finite(struct.unpack("<e", value)[0]),
}
_PHYSICAL_CONVERSIONS: Mapping[int, Convert] = {
    INT96: _int96,
    **dict.fromkeys((FLOAT, DOUBLE), _finite),
    **dict.fromkeys((BYTE_ARRAY, FIXED), _base64),
}
