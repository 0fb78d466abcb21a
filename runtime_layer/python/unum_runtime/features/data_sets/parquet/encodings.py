"""Decoders of values in pages, by encoding and physical type.

Source: Apache Parquet, "Encodings".

Decompression of pages: Snappy and LZ4 in Python, Gzip and, since Python 3.14, Zstandard by the standard library.

Source: Snappy, "Compressed Format Description"; LZ4, "Block Format Description"; Apache Parquet, "Compression".
"""

import struct
import zlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from unum_runtime.features.data_sets.parquet.thrift import read_varint, unzigzag

_GZIP_WINDOW = 31
_OFFSET_BYTES = {2: 2, 3: 4}
_NIBBLE, _MORE = 15, 255
"""Lengths of LZ4 that more bytes are added to."""

_CODECS = ("UNCOMPRESSED", "SNAPPY", "GZIP", "LZO", "BROTLI", "LZ4", "ZSTD", "LZ4_RAW")

BOOLEAN, INT32, INT64, INT96, FLOAT, DOUBLE, BYTE_ARRAY, FIXED = range(8)
PLAIN, PLAIN_DICTIONARY, RLE, RLE_DICTIONARY = 0, 2, 3, 8
_DELTA, _DELTA_LENGTH, _DELTA_BYTES, _SPLIT = 5, 6, 7, 9

_FORMATS: Mapping[int, str] = {INT32: "i", INT64: "q", FLOAT: "f", DOUBLE: "d"}
_INT96_BYTES = 12


def decompress(codec: int, data: bytes, size: int) -> bytes:
    """Return the content of `data`, which has `size` bytes.

    Raises:
        ValueError: the codec is not supported, or the content has another size.
    """
    name = _CODECS[codec] if codec < len(_CODECS) else str(codec)
    if name not in _SUPPORTED:
        supported = ", ".join(_SUPPORTED)
        raise ValueError(f"compressed with {name}, which is not supported by this version; use one of {supported}")
    found = _SUPPORTED[name](data, size)
    if len(found) != size:
        raise ValueError(f"a page has {len(found)} bytes after decompression; its header says {size}")
    return found


def _snappy(data: bytes, size: int) -> bytes:
    _, at = read_varint(data, 0)
    out = bytearray()
    while at < len(data) and len(out) <= size:
        tag = data[at]
        at += 1
        if tag & 3 == 0:
            length, at = _snappy_literal(data, at, tag >> 2)
            out += data[at : at + length]
            at += length
            continue
        if tag & 3 == 1:
            length, offset = (tag >> 2 & 7) + 4, tag >> 5 << 8 | data[at]
            at += 1
        else:
            width = _OFFSET_BYTES[tag & 3]
            length, offset = (tag >> 2) + 1, int.from_bytes(data[at : at + width], "little")
            at += width
        _repeat(out, offset, length)
    return bytes(out)


def _snappy_literal(data: bytes, at: int, length: int) -> tuple[int, int]:
    """Return length and position of a literal, whose tag holds `length`."""
    width = max(0, length - 59)  # 60 to 63 stand for lengths in one to four bytes
    return (int.from_bytes(data[at : at + width], "little") if width else length) + 1, at + width


def _lz4(data: bytes, size: int) -> bytes:
    out, at = bytearray(), 0
    while at < len(data) and len(out) <= size:
        token = data[at]
        length, at = _lz4_length(data, at + 1, token >> 4)
        out += data[at : at + length]
        at += length
        if at >= len(data):
            break  # the last sequence ends behind its literals
        offset = int.from_bytes(data[at : at + 2], "little")
        length, at = _lz4_length(data, at + 2, token & 15)
        if length > size:
            raise ValueError(f"a page repeats {length} bytes; its header says {size}")
        _repeat(out, offset, length + 4)
    return bytes(out)


def _lz4_length(data: bytes, at: int, length: int) -> tuple[int, int]:
    if length == _NIBBLE:
        while True:
            at += 1
            length += data[at - 1]
            if data[at - 1] != _MORE:
                break
    return length, at


def _repeat(out: bytearray, offset: int, length: int) -> None:
    """Append `length` bytes from `offset` bytes before the end, which may overlap with what is appended."""
    if not 0 < offset <= len(out):
        raise ValueError(f"a page refers to the byte {offset} before its {len(out)}")
    start = len(out) - offset
    if offset >= length:
        out += out[start : start + length]
    else:
        out += (bytes(out[start:]) * (length // offset + 1))[:length]


def _gzip(data: bytes, size: int) -> bytes:
    out = b""
    while data and len(out) <= size:  # a page may have several members
        stream = zlib.decompressobj(_GZIP_WINDOW)
        out += stream.decompress(data, size + 1)
        data = stream.unused_data
    return out


def _zstd(data: bytes, size: int) -> bytes:
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415 - Python 3.14
    except ImportError as error:
        reason = "compressed with ZSTD, which needs Python 3.14: give a function of the workflow that runtime, or use"
        raise ValueError(f"{reason} SNAPPY or GZIP") from error
    return bytes(zstd.ZstdDecompressor().decompress(data, size + 1))


_SUPPORTED: Mapping[str, Callable[[bytes, int], bytes]] = {
    "UNCOMPRESSED": lambda data, _size: data,
    "SNAPPY": _snappy,
    "GZIP": _gzip,
    "LZ4_RAW": _lz4,
    "ZSTD": _zstd,
}


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
