"""Output without control characters: errors and results of functions are data, and a terminal would obey them."""

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

_LINES = "\n\t"
_CONTROLS = (*range(0x20), *range(0x7F, 0xA0))
_DIRECTIONS = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
"""Controls of the direction of writing, which can make a text look like another one.

Source: Unicode Standard Annex 9, "Directional Formatting Characters".
"""

_SURROGATES = range(0xD800, 0xE000)
"""Halves of characters, which no encoding has a form for."""

_ESCAPES = {code: f"\\u{code:04x}" for code in (*_CONTROLS, *_DIRECTIONS, *_SURROGATES) if chr(code) not in _LINES}
"""JSON's escapes, which are valid in JSON and readable elsewhere."""


class SafeOutput(io.TextIOBase):
    """Text stream that writes control characters as escapes.

    Attributes:
        stream: the stream behind it.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write `text` with escapes, and return its length."""
        self.stream.write(text.translate(_ESCAPES))
        return len(text)

    def flush(self) -> None:
        """Flush the stream behind it."""
        self.stream.flush()

    def isatty(self) -> bool:
        """Return True if the stream behind it is a terminal."""
        return self.stream.isatty()

    def fileno(self) -> int:
        """Return the file descriptor of the stream behind it."""
        return self.stream.fileno()


def speak_utf8() -> None:
    """Use UTF-8 for pipes and files under every locale; replace what a terminal cannot show."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            if stream.isatty():
                stream.reconfigure(errors="replace")
            else:
                stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    if isinstance(sys.stdin, io.TextIOWrapper) and not sys.stdin.isatty():
        sys.stdin.reconfigure(encoding="utf-8-sig")


@contextmanager
def safe_output() -> Iterator[None]:
    """Make standard output and standard error safe within the block."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = map(SafeOutput, before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def raw(stream: TextIO) -> TextIO:
    """Return the stream behind `stream`, for tables that move the cursor and clean their cells themselves."""
    return stream.stream if isinstance(stream, SafeOutput) else stream
