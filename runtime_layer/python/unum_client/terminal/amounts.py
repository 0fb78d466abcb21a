"""Durations, times, sizes and tables as text for humans."""

from collections.abc import Collection, Sequence
from datetime import datetime

_UNITS = ("B", "kB", "MB", "GB")
_SECOND_MS, _MINUTE_MS, _HOUR_MS = 1_000, 60_000, 3_600_000


def aligned(rows: Sequence[Sequence[str]], right: Collection[str]) -> list[str]:
    """Return the lines of a table.

    Args:
        rows: cells; the first row holds the headings.
        right: headings of right-aligned columns.
    """
    cleaned = [[*map(printable, row)] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cleaned, strict=True)]
    return [padded_line(row, cleaned[0], widths, right) for row in cleaned]


def printable(text: str) -> str:
    """Replace characters that would move the terminal's cursor or change its colors."""
    return "".join(char if char.isprintable() else "\ufffd" for char in text)


def padded_line(row: Sequence[str], headings: Sequence[str], widths: Sequence[int], right: Collection[str]) -> str:
    """Return one line of a table, each cell padded to its column's width."""
    cells = (
        cell.rjust(width) if heading in right else cell.ljust(width)
        for heading, cell, width in zip(headings, row, widths, strict=True)
    )
    return "  ".join(cells).rstrip()


def duration_text(ms: int) -> str:
    """Format `ms` milliseconds with readable precision: ``87 ms``, ``2.31 s``, ``4 min 07 s``, ``3 h 05 min``."""
    if ms < _SECOND_MS:
        return f"{ms} ms"
    if ms < _MINUTE_MS:
        return f"{ms // 10 / 100:.2f} s"
    if ms < _HOUR_MS:
        return f"{ms // _MINUTE_MS} min {ms % _MINUTE_MS // _SECOND_MS:02} s"
    return f"{ms // _HOUR_MS} h {ms % _HOUR_MS // _MINUTE_MS:02} min"


def time_text(at: datetime) -> str:
    """Format a UTC time to the second."""
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"


def size_text(size: int) -> str:
    """Format `size` bytes in decimal units: ``512 B``, ``1.5 kB``."""
    amount, unit = float(size), 0
    while amount >= 1_000 and unit < len(_UNITS) - 1:  # noqa: PLR2004 - decimal units
        amount, unit = amount / 1_000, unit + 1
    return f"{size} B" if unit == 0 else f"{amount:.1f} {_UNITS[unit]}"
