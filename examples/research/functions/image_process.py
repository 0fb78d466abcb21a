"""A picture is a list of rows of brightnesses, 0 to 255; a face is a group of bright pixels."""

from typing import Any

BRIGHT = 200
SMALLEST_FACE = 3
"""Pixels; smaller groups are noise."""

Pixel = tuple[int, int]


def thumbnail(event: dict[str, Any], _context: Any) -> list[list[int]]:
    """Return the picture at half its size: each pixel is the mean of four."""
    rows: list[list[int]] = event["rows"]
    return [
        [(a + b + c + d) // 4 for a, b, c, d in zip(upper[::2], upper[1::2], lower[::2], lower[1::2], strict=True)]
        for upper, lower in zip(rows[::2], rows[1::2], strict=True)
    ]


def find_faces(event: dict[str, Any], _context: Any) -> list[dict[str, int]]:
    """Return the box of each group of bright pixels that touch, from the top of the picture."""
    bright = {(y, x) for y, row in enumerate(event["rows"]) for x, value in enumerate(row) if value >= BRIGHT}
    groups = []
    while bright:
        group = _group(min(bright), bright)
        bright -= group
        groups.append(group)
    return [_box(group) for group in groups if len(group) >= SMALLEST_FACE]


def publish(event: tuple[Any, Any], _context: Any) -> dict[str, Any]:
    """Return both results as one document."""
    small, faces = event
    return {"thumbnail": small, "faces": faces}


def _group(start: Pixel, bright: set[Pixel]) -> set[Pixel]:
    """Return the pixels that are connected with `start`."""
    found, open_ends = {start}, [start]
    while open_ends:
        y, x = open_ends.pop()
        touching = {(y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)} & bright - found
        found |= touching
        open_ends += touching
    return found


def _box(group: set[Pixel]) -> dict[str, int]:
    rows, columns = {y for y, _ in group}, {x for _, x in group}
    return {"top": min(rows), "left": min(columns), "bottom": max(rows), "right": max(columns)}
