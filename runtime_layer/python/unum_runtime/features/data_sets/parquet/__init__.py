"""Rows of Parquet files as JSON, with the standard library alone.

Source: Apache Parquet, "File Format" and "Parquet Logical Types". The Developer Guide, "ItemReader (Map)", documents no
form of a row. Only layers of workflows with data sets contain this package.
"""

import struct
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO

from unum_runtime.features.data_sets.dataset_objects import memory_mb
from unum_runtime.features.data_sets.parquet.encodings import (
    PLAIN,
    PLAIN_DICTIONARY,
    RLE,
    RLE_DICTIONARY,
    decode,
    decompress,
    hybrid,
)
from unum_runtime.features.data_sets.parquet.schema import Column, Node, parse_schema
from unum_runtime.features.data_sets.parquet.thrift import Fields, read_struct
from unum_runtime.model.states import Json

_MAGIC, _ENCRYPTED = b"PAR1", b"PARE"
_TAIL = 8
_DATA, _DICTIONARY, _DATA_2 = 0, 2, 3
_BYTES_PER_VALUE = 64
"""Memory for one value of a column; a header may claim any number of values."""

__all__ = ["rows"]


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
