"""Decoders of values in pages, by encoding and physical type.

Source: Apache Parquet, "Encodings".
"""

import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

from unum_runtime.features.data_sets.parquet.thrift import read_varint, unzigzag

BOOLEAN, INT32, INT64, INT96, FLOAT, DOUBLE, BYTE_ARRAY, FIXED = range(8)
PLAIN, PLAIN_DICTIONARY, RLE, RLE_DICTIONARY = 0, 2, 3, 8
_DELTA, _DELTA_LENGTH, _DELTA_BYTES, _SPLIT = 5, 6, 7, 9

_FORMATS: Mapping[int, str] = {INT32: "i", INT64: "q", FLOAT: "f", DOUBLE: "d"}
_INT96_BYTES = 12


class Physical(NamedTuple):
    """Physical type of a column.

    Attributes:
        kind: number of the type.
        length: bytes of a value, for FIXED_LEN_BYTE_ARRAY.
    """

    kind: int
    length: int = 0

    @property
    def size(self) -> int:
        """Bytes of one value; 0 for values of several lengths."""
        if self.kind in _FORMATS:
            return struct.calcsize(_FORMATS[self.kind])
        return _INT96_BYTES if self.kind == INT96 else self.length


def decode(encoding: int, physical: Physical, data: bytes, count: int) -> list[Any]:
    """Return `count` values in `data`, which are not indexes in a dictionary.

    Raises:
        ValueError: the encoding is not supported for this type, or the data are too short.
    """
    match encoding, physical.kind:
        case 0, _:
            found = _plain(physical, data, count)
        case 3, 0:
            found = [value == 1 for value in hybrid(data[4:], 1, count)]
        case 5, (1 | 2):
            found = _delta(data, 0, physical.size * 8, count)[0]
        case 6, 6:
            found = _delta_lengths(data, 0, count)
        case 7, (6 | 7):
            found = _delta_bytes(data, count)
        case 9, _ if physical.size:
            found = _plain(physical, b"".join(data[index::count] for index in range(count)), count)
        case _:
            raise ValueError(f"a column of the type {physical.kind} has the encoding {encoding}; it is not supported")
    if len(found) < count:
        raise ValueError(f"a page has {len(found)} values; its header says {count}")
    return found[:count]


def hybrid(data: bytes, width: int, count: int) -> list[int]:
    """Return `count` integers of `width` bits: runs of one value, and groups of packed values.

    Raises:
        ValueError: the data end before.
    """
    if not width:
        return [0] * count
    found: list[int] = []
    at, size = 0, (width + 7) // 8
    while len(found) < count:
        if at >= len(data):
            raise ValueError(f"a page has {len(found)} levels or indexes; its header says {count}")
        header, at = read_varint(data, at)
        left = count - len(found)
        if header & 1:
            end = at + (header >> 1) * width
            found += _unpacked(data[at:end], width, min((header >> 1) * 8, left))
            at = end
        else:
            found += [int.from_bytes(data[at : at + size], "little")] * min(header >> 1, left)
            at += size
    return found


def _unpacked(data: bytes, width: int, count: int) -> list[int]:
    """Return at most `count` integers of `width` bits, the lowest bits first."""
    if not width:
        return [0] * count
    mask, shifts = (1 << width) - 1, range(0, 8 * width, width)
    words = (int.from_bytes(data[at : at + width], "little") for at in range(0, len(data), width))
    return [word >> shift & mask for word in words for shift in shifts][:count]


def _plain(physical: Physical, data: bytes, count: int) -> list[Any]:
    if physical.kind == BOOLEAN:
        return [bit == 1 for bit in _unpacked(data, 1, count)]
    if physical.kind == BYTE_ARRAY:
        return _lengths_before(data, count)
    if physical.kind in _FORMATS:
        return [*struct.unpack_from(f"<{count}{_FORMATS[physical.kind]}", data)]
    size = physical.size
    return [data[at : at + size] for at in range(0, count * size, size)][: len(data) // size]


def _lengths_before(data: bytes, count: int) -> list[bytes]:
    found, at = [], 0
    for _ in range(count):
        (size,) = struct.unpack_from("<I", data, at)
        at += 4 + size
        if at > len(data):
            raise ValueError("a page ends inside a value")
        found.append(data[at - size : at])
    return found


def _delta(data: bytes, at: int, bits: int, most: int) -> tuple[list[int], int]:
    """Decode up to `most` delta-encoded integers; return values and end position."""
    block, at = read_varint(data, at)
    parts, at = read_varint(data, at)
    count, at = read_varint(data, at)
    value, at = read_varint(data, at)
    if not parts or count > most:
        raise ValueError("a page has a header of differences that cannot be")
    size, last = block // parts, unzigzag(value)
    found, half, whole = [last], 1 << (bits - 1), 1 << bits
    while len(found) < count:
        least, at = read_varint(data, at)
        widths, at = data[at : at + parts], at + parts
        for width in widths:
            if len(found) >= count:
                break  # the parts behind the last value are not there
            end = at + size * width // 8
            if end > len(data):
                raise ValueError("a page ends inside its differences")
            for difference in _unpacked(data[at:end], width, min(size, count - len(found))):
                last = (last + unzigzag(least) + difference + half) % whole - half  # differences may overflow
                found.append(last)
            at = end
    return found[:count], at


def _delta_lengths(data: bytes, at: int, most: int) -> list[bytes]:
    lengths, at = _delta(data, at, 32, most)
    found = []
    for length in lengths:
        found.append(data[at : at + length])
        at += length
    if at > len(data):
        raise ValueError("a page ends inside a value")
    return found


def _delta_bytes(data: bytes, most: int) -> list[bytes]:
    """Decode DELTA_BYTE_ARRAY: each value shares a prefix with the previous value."""
    prefixes, at = _delta(data, 0, 32, most)
    found, last = [], b""
    for prefix, suffix in zip(prefixes, _delta_lengths(data, at, most), strict=True):
        last = last[:prefix] + suffix
        found.append(last)
    return found
