"""Decompression of pages: Snappy and LZ4 in Python, Gzip and, since Python 3.14, Zstandard by the standard library.

Source: Snappy, "Compressed Format Description"; LZ4, "Block Format Description"; Apache Parquet, "Compression".
"""

import zlib
from collections.abc import Callable, Mapping

from unum_runtime.features.data_sets.parquet.thrift import read_varint

_GZIP_WINDOW = 31
_OFFSET_BYTES = {2: 2, 3: 4}
_NIBBLE, _MORE = 15, 255
"""Lengths of LZ4 that more bytes are added to."""

_CODECS = ("UNCOMPRESSED", "SNAPPY", "GZIP", "LZO", "BROTLI", "LZ4", "ZSTD", "LZ4_RAW")


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
