"""Functions of the library whose results may be far larger than their arguments, with a check before the call."""

import re
from typing import Any

from unum_runtime.asl.jsonata.library import Functions, JException
from unum_runtime.asl.jsonata.limits import MAX_CHARACTERS, MAX_ITEMS, check_size

MAX_PICTURE = 1_000
"""Maximum characters of a picture of ``$fromMillis`` and similar functions."""

_FAILED = "D3137"
"""JSONata's code of errors with their own message."""

_WIDE = re.compile(r"[,-]\s*\d{4,}[^\[\]]*\]", re.ASCII)
"""Width of a component above 999, as in ``[Y,*-1000]``."""


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


def from_millis(time_ms: float | None, picture: str | None, zone: str | None) -> Any:
    """Implement ``$fromMillis``."""
    check_picture(picture)
    return Functions.datetime_from_millis(time_ms, picture, zone)


def check_picture(picture: str | None) -> None:
    """Raise an error for a picture that is very long, or asks for very long texts."""
    check_size(len(picture or ""), MAX_PICTURE, "characters as picture")
    if wide := _WIDE.search(picture or ""):
        raise JException(_FAILED, -1, f"picture: expected widths of at most 3 digits, got {wide[0]!r}")
