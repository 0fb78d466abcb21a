"""Rows of Parquet files as JSON, with the standard library alone: the schema, nested values from columns, types.

AWS documents no form of a row. Numbers, texts, arrays and objects are themselves; times since 1970 are milliseconds, as
Step Functions was observed to give; what JSON has no type for is a text. Only layers of workflows with data sets
contain this package.

Source: Apache Parquet, "File Format", "Nested Encoding" and "Parquet Logical Types" (Lists, Maps,
Backward-compatibility rules).
"""

import base64
import math
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import chain
from typing import Any, BinaryIO, TypeAlias
from uuid import UUID

from unum_runtime.features.data_sets.dataset_objects import memory_mb
from unum_runtime.features.data_sets.parquet.encodings import (
    BYTE_ARRAY,
    DOUBLE,
    FIXED,
    FLOAT,
    INT96,
    PLAIN,
    PLAIN_DICTIONARY,
    RLE,
    RLE_DICTIONARY,
    Physical,
    decode,
    decompress,
    hybrid,
)
from unum_runtime.features.data_sets.parquet.thrift import Fields, read_struct
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

_MAGIC, _ENCRYPTED = b"PAR1", b"PARE"
_TAIL = 8
_DATA, _DICTIONARY, _DATA_2 = 0, 2, 3
_BYTES_PER_VALUE = 64
"""Memory for one value of a column; a header may claim any number of values."""

__all__ = ["rows"]


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


def rows(stream: BinaryIO) -> Iterator[dict[str, Json]]:
    """Yield the rows of the file in `stream`, one row group after the other.

    Raises:
        ValueError: the file is broken, or uses what is not supported.
    """
    data = stream.read()
    if data[-4:] == _ENCRYPTED:
        raise ValueError("an encrypted Parquet file is not supported")
    if len(data) < _TAIL + 4 or data[-4:] != _MAGIC or data[:4] != _MAGIC:
        raise ValueError("expected a Parquet file, which begins and ends with PAR1")
    try:
        (size,) = struct.unpack_from("<I", data, len(data) - _TAIL)
        metadata, _ = read_struct(data[-_TAIL - size : -_TAIL])
        schema = parse_schema(metadata[2])
        for group in metadata.get(4) or ():
            yield from _group(data, schema, group)
    except (LookupError, TypeError, struct.error, zlib.error, ArithmeticError, AttributeError) as error:
        raise ValueError(f"a broken Parquet file: {type(error).__name__}: {error}") from error


def _group(data: bytes, schema: Node, group: Fields) -> Iterator[dict[str, Json]]:
    described = {tuple(chunk[3][3]): chunk[3] for chunk in group[1]}
    for leaf in schema.leaves:
        leaf.column = _column(data, leaf, described[leaf.path])
    columns = [(node.name, node.values(int(group[3]))) for node in schema.children]
    names = [name for name, _ in columns]
    for values in zip(*(values for _, values in columns), strict=True):
        yield dict(zip(names, values, strict=True))


def _column(data: bytes, leaf: Node, described: Fields) -> Column:
    """Return levels and values of a column chunk."""
    count, at = described[5], described.get(11) or described[9]
    if count > (memory_mb() << 20) // _BYTES_PER_VALUE:
        raise ValueError(
            f"a column has {count} values in one row group; give the function more memory, or split the file"
        )
    column, dictionary = Column([], [], []), list[Any]()
    while len(column.definitions) < count:
        header, start = read_struct(data, at)
        at = start + header[3]
        page = data[start:at]
        if header[2] > (memory_mb() << 20) // 8:
            raise ValueError(f"a page has {header[2]} bytes; give the function more memory, or write smaller pages")
        if header[1] == _DICTIONARY:
            content = decompress(described[4], page, header[2])
            dictionary = _converted(leaf, decode(PLAIN, leaf.physical, content, header[7][1]))
        elif header[1] in (_DATA, _DATA_2):
            _read_page(column, leaf, header, page, described[4], dictionary)
    return column


def _read_page(column: Column, leaf: Node, header: Fields, page: bytes, codec: int, dictionary: list[Any]) -> None:
    """Append a page to `column`."""
    if header[1] == _DATA:
        details, content, at = header[5], decompress(codec, page, header[2]), 0
        count, encoding = details[1], details[2]
        repetitions, at = _levels(content, at, leaf.repetition, count, details[4])
        definitions, at = _levels(content, at, leaf.definition, count, details[3])
    else:
        details = header[8]
        count, encoding, in_repetitions, at = details[1], details[4], details[6], details[5] + details[6]
        repetitions = hybrid(page[:in_repetitions], leaf.repetition.bit_length(), count)
        definitions = hybrid(page[in_repetitions:at], leaf.definition.bit_length(), count)
        # Levels of these pages are never compressed.
        content = page[at:]
        if details.get(7, True) and content:
            content = decompress(codec, content, header[2] - at)
        at = 0
    present = sum(level == leaf.definition for level in definitions)
    column.repetitions += repetitions
    column.definitions += definitions
    column.present += _page_values(leaf, encoding, content[at:], present, dictionary)


def _levels(content: bytes, at: int, most: int, count: int, encoding: int) -> tuple[list[int], int]:
    """Return `count` levels from byte `at`, and the next byte; a file omits levels whose maximum `most` is 0."""
    if not most:
        return [0] * count, at
    if encoding != RLE:
        raise ValueError(f"levels have the encoding {encoding}, which is not supported")
    (size,) = struct.unpack_from("<I", content, at)
    end = at + 4 + size
    return hybrid(content[at + 4 : end], most.bit_length(), count), end


def _page_values(leaf: Node, encoding: int, content: bytes, count: int, dictionary: list[Any]) -> list[Any]:
    if not count:
        return []
    if encoding not in (PLAIN_DICTIONARY, RLE_DICTIONARY):
        return _converted(leaf, decode(encoding, leaf.physical, content, count))
    return [dictionary[index] for index in hybrid(content[1:], content[0], count)]


def _converted(leaf: Node, values: list[Any]) -> list[Any]:
    try:
        return values if leaf.convert is None else [*map(leaf.convert, values)]
    except ValueError as error:
        raise ValueError(f"column {'.'.join(path.decode() for path in leaf.path)}: {error}") from error
