"""Schema of a Parquet file, and the assembly of nested values from columns.

Source: Apache Parquet, "Nested Encoding" and "Parquet Logical Types" (Lists, Maps, Backward-compatibility rules).

JSON forms of Parquet's logical types.

AWS documents no form. Numbers, texts, arrays and objects are themselves; times since 1970 are milliseconds, as Step
Functions was observed to give; what JSON has no type for is a text.
"""

import base64
import math
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import chain
from typing import Any, TypeAlias
from uuid import UUID

from unum_runtime.features.data_sets.parquet.encodings import BYTE_ARRAY, DOUBLE, FIXED, FLOAT, INT96, Physical
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

_REQUIRED, _OPTIONAL, _REPEATED = 0, 1, 2
_MAPS, _LIST = (1, 2), 3
_MAP_TYPE, _LIST_TYPE = 2, 3
_MOST_NESTED = 100
_NO_PHYSICAL = Physical(0)


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


@dataclass
class Column:
    """Levels and values of one leaf in a row group.

    Attributes:
        repetitions: repetition levels.
        definitions: definition levels.
        present: values that are not null.
        at: position in the levels.
        taken: number of values taken.
    """

    repetitions: list[int]
    definitions: list[int]
    present: list[Json]
    at: int = 0
    taken: int = 0


@dataclass
class Node:
    """Field of the schema.

    Attributes:
        element: its description in the file.
        path: names from the root.
        definition: definition level at which it exists.
        repetition: repetition level of its elements.
        children: fields of a group.
        physical: type of a leaf.
        convert: conversion of a leaf's values.
        column: data of a leaf in the current row group.
        leaves: leaves in this field, or the leaf itself.
    """

    element: Fields
    path: tuple[bytes, ...]
    definition: int
    repetition: int
    children: list["Node"] = field(default_factory=list)
    physical: Physical = _NO_PHYSICAL
    convert: Convert | None = None
    column: Column = field(default_factory=lambda: Column([], [], []))
    leaves: list["Node"] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Name of the field."""
        return self.path[-1].decode()

    def values(self, count: int) -> Iterator[Json]:
        """Yield the field's value in each of `count` rows."""
        if self.children or self.repetition:
            yield from (self.value() for _ in range(count))
        else:  # most columns are flat, and most rows have many of them
            present, exists = iter(self.column.present), self.definition
            yield from (next(present) if level == exists else None for level in self.column.definitions)

    def value(self) -> Json:
        """Return the value at the current position of the columns, and move them behind it."""
        kind, column = self.element.get(3, _REQUIRED), self.leaves[0].column
        if kind == _REQUIRED:
            return self._inside()
        if column.definitions[column.at] < self.definition:
            for leaf in self.leaves:  # each has one entry for what does not exist
                leaf.column.at += 1
            return None if kind == _OPTIONAL else []
        if kind == _OPTIONAL:
            return self._inside()
        found = [self._inside()]
        while column.at < len(column.repetitions) and column.repetitions[column.at] == self.repetition:
            found.append(self._inside())
        return found

    def _inside(self) -> Json:
        if not self.children:
            column = self.column
            column.at, column.taken = column.at + 1, column.taken + 1
            return column.present[column.taken - 1]
        return self._shaped({child.name: child.value() for child in self.children})

    def _shaped(self, members: dict[str, Any]) -> Json:
        """Return a list or map in place of the groups that encode it."""
        logical = self.element.get(10) or {}
        converted = self.element.get(6, -1)
        only = self.children[0]
        if len(self.children) > 1 or only.element.get(3) != _REPEATED:
            return members
        if _LIST_TYPE in logical or converted == _LIST:
            return [item[only.children[0].name] for item in members[only.name]] if self._wraps() else members[only.name]
        if (_MAP_TYPE in logical or converted in _MAPS) and only.children:
            key, *value = (child.name for child in only.children)
            return {as_key(entry[key]): entry[value[0]] if value else None for entry in members[only.name]}
        return members

    def _wraps(self) -> bool:
        """Return True if the elements of this list are in a group of their own each (backward-compatibility rules)."""
        only = self.children[0]
        return len(only.children) == 1 and only.name not in ("array", f"{self.name}_tuple")


def parse_schema(elements: list[Fields]) -> Node:
    """Return the root of the schema.

    Raises:
        ValueError: it nests too deeply, or has no columns.
    """
    root, used = _node(elements, 0, (), 0, 0)
    if used != len(elements) or not root.children:
        raise ValueError("expected a schema with columns")
    return root


def _node(
    elements: list[Fields], at: int, above: tuple[bytes, ...], definition: int, repetition: int
) -> tuple[Node, int]:
    """Return node number `at` of the schema, including its children, and the number of the next node."""
    if len(above) > _MOST_NESTED:
        raise ValueError(f"the schema nests deeper than {_MOST_NESTED}")
    element, is_root = elements[at], not at
    kind = _REQUIRED if is_root else element.get(3, _REQUIRED)
    definition, repetition = definition + (kind != _REQUIRED), repetition + (kind == _REPEATED)
    node = Node(element, above if is_root else (*above, element[4]), definition, repetition)
    at += 1
    if not element.get(5):
        node.physical, node.convert, node.leaves = Physical(element[1], element.get(2, 0)), conversion(element), [node]
    for _ in range(element.get(5) or 0):
        child, at = _node(elements, at, node.path, definition, repetition)
        node.children.append(child)
    node.leaves = [*chain.from_iterable(child.leaves for child in node.children)] or node.leaves
    return node, at
