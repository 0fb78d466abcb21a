"""Reader of Thrift's compact protocol: metadata of Parquet as plain Python values.

Source: Apache Thrift, "Thrift compact protocol".
"""

import struct
from collections.abc import Callable, Mapping
from typing import Any

Fields = dict[int, Any]
"""A struct: values by the numbers of its fields."""

_MOST_NESTED = 32
_CONTINUED = 0x80
_LONG = 15
"""Length of a list that follows as an integer."""

_TRUE, _FALSE, _STOP = 1, 2, 0
_LIST, _SET, _MAP, _STRUCT = 9, 10, 11, 12


def read_struct(data: bytes, at: int = 0) -> tuple[Fields, int]:
    """Parse the struct at `at`; return value and end position.

    Raises:
        ValueError: it nests too deeply, or has an unknown type.
        IndexError: the data end inside it.
    """
    reader = _Reader(data, at)
    return reader.struct(0), reader.at


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the variable-length integer at `at`, and the position behind it."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < _CONTINUED:
            return value, at


def unzigzag(value: int) -> int:
    """Return the signed integer that `value` encodes."""
    return value >> 1 ^ -(value & 1)


class _Reader:
    def __init__(self, data: bytes, at: int) -> None:
        self._data, self.at = data, at

    def struct(self, depth: int) -> Fields:
        if depth > _MOST_NESTED:
            raise ValueError(f"metadata nest deeper than {_MOST_NESTED}")
        found, number = Fields(), 0
        while (header := self.byte()) != _STOP:
            number = number + (header >> 4) if header >> 4 else self.integer()
            kind = header & 15
            # The type of a boolean field is its value; in lists, a byte is.
            found[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind, depth)
        return found

    def _value(self, kind: int, depth: int) -> Any:
        if kind in _SIMPLE:
            return _SIMPLE[kind](self)
        if kind in (_LIST, _SET):
            header = self.byte()
            size = header >> 4 if header >> 4 != _LONG else self._varint()
            return [self._value(header & 15, depth) for _ in range(size)]
        if kind == _MAP:
            size = self._varint()
            kinds = self.byte() if size else 0
            return [(self._value(kinds >> 4, depth), self._value(kinds & 15, depth)) for _ in range(size)]
        if kind == _STRUCT:
            return self.struct(depth + 1)
        raise ValueError(f"metadata have a value of the unknown type {kind}")

    def byte(self) -> int:
        self.at += 1
        return self._data[self.at - 1]

    def _varint(self) -> int:
        value, self.at = read_varint(self._data, self.at)
        return value

    def integer(self) -> int:
        return unzigzag(self._varint())

    def double(self) -> float:
        self.at += 8
        return float(struct.unpack_from("<d", self._data, self.at - 8)[0])

    def binary(self) -> bytes:
        size = self._varint()
        self.at += size
        if self.at > len(self._data):
            raise IndexError(self.at)
        return self._data[self.at - size : self.at]


_SIMPLE: Mapping[int, Callable[[_Reader], Any]] = {
    _TRUE: lambda reader: reader.byte() == _TRUE,
    _FALSE: lambda reader: reader.byte() == _TRUE,
    3: _Reader.byte,
    **dict.fromkeys((4, 5, 6), _Reader.integer),
    7: _Reader.double,
    8: _Reader.binary,
}
