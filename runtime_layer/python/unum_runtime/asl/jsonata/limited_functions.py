"""Functions of the library whose results may be far larger than their arguments, with a check before the call."""

from typing import Any

from unum_runtime.asl.jsonata.evaluation_limits import MAX_CHARACTERS, MAX_ITEMS, check_size
from unum_runtime.asl.jsonata.library import Functions


def pad(string: str | None, width: float | None, char: str | None) -> Any:
    """Implement ``$pad``."""
    if string is not None and width is not None:
        check_size(abs(width), MAX_CHARACTERS, "characters")
    return Functions.pad(string, width, char)


def join(parts: list[str] | None, separator: str | None) -> Any:
    """Implement ``$join``."""
    if parts is not None:
        size = sum(map(len, parts)) + len(separator or "") * len(parts)
        check_size(size, MAX_CHARACTERS, "characters")
    return Functions.join(parts, separator)


def join_arrays(*arrays: list[Any] | None) -> Any:
    """Implement ``$zip``."""
    check_size(sum(len(array) for array in arrays if array is not None), MAX_ITEMS, "items")
    return Functions.zip(*arrays)
