"""Tables as aligned text."""

from collections.abc import Collection, Sequence


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
