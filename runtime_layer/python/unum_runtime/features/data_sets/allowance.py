"""Limits of a data set by the function's memory: small archives may hold any number of items, and of bytes.

All items of a Map are in memory before its branches begin.
"""

import io
import os
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, TypeVar, cast

ITEMS_PER_MB = 1_000
"""Most items of a data set for each MB of the function's memory; a small row of CSV takes some 200 bytes."""

MEMORY_PER_BYTE = 8
"""Bytes of memory for one byte of an object; JSON takes up to ten times its size."""

_LOCAL_MB = 1_024
_Item = TypeVar("_Item")


def memory_mb() -> int:
    """Return the function's memory in MB (AWS Lambda Developer Guide, "Defined runtime environment variables")."""
    return int(os.environ.get("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", _LOCAL_MB))


def limited(items: Iterable[_Item]) -> Iterator[_Item]:
    """Yield `items`.

    Raises:
        ValueError: there are more than the function's memory allows.
    """
    most = ITEMS_PER_MB * memory_mb()
    for count, item in enumerate(items):
        if count == most:
            raise ValueError(
                f"expected at most {most} items in a function with {memory_mb()} MB, got more; set MaxItems, split the "
                "data set, or give the function more memory"
            )
        yield item


def limited_stream(stream: BinaryIO) -> BinaryIO:
    """Return `stream`, reading of which raises ValueError after as many bytes as the function's memory allows."""
    return cast("BinaryIO", io.BufferedReader(_Limited(stream, (memory_mb() << 20) // MEMORY_PER_BYTE)))


class _Limited(io.RawIOBase):
    def __init__(self, stream: BinaryIO, most: int) -> None:
        self._stream, self._most, self._left = stream, most, most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        # One byte beyond the limit tells a longer object from one that ends there.
        data = self._stream.read(min(len(buffer), self._left + 1))
        self._left -= len(data)
        if self._left < 0:
            raise ValueError(
                f"expected at most {self._most >> 20} MB of data in a function with {memory_mb()} MB, got more; split "
                "the object, or give the function more memory"
            )
        buffer[: len(data)] = data
        return len(data)
