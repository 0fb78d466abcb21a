"""Bars of a Gantt chart, in thousandths of its width."""

from collections.abc import Sequence
from dataclasses import dataclass

from unum_cli.timing.levels import Row
from unum_cli.timing.stretches import Part
from unum_client.terminal.amounts import duration_text

WIDTH = 1000
_LEAST = 3
"""Least width of a bar, so that short work beside long waits can be seen."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One part of a row's bar."""

    part: Part
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class Line:
    """A row with its bars.

    Attributes:
        row: the row.
        bars: its bars, from left to right.
        text: the same in words.
        begun_ms: begin, in milliseconds after that of the chart.
        code_ms: duration of user code.
    """

    row: Row
    bars: tuple[Bar, ...]
    text: str
    begun_ms: int
    code_ms: int


def chart(rows: Sequence[Row], from_ms: int, to_ms: int) -> list[Line]:
    """Return the lines of `rows`, drawn between two times in milliseconds since 1970."""
    scale = WIDTH / max(to_ms - from_ms, 1)
    return [_line(row, from_ms, scale) for row in rows]


def _line(row: Row, from_ms: int, scale: float) -> Line:
    bars = [
        Bar(each.part, _x(each.from_ms - from_ms, scale), max(_LEAST, round((each.to_ms - each.from_ms) * scale, 1)))
        for each in row.stretches
        if each.to_ms > each.from_ms or each.part is Part.CODE
    ]
    lengths: dict[Part, int] = {}
    for each in row.stretches:
        lengths[each.part] = lengths.get(each.part, 0) + each.to_ms - each.from_ms
    begun_ms = row.stretches[0].from_ms - from_ms if row.stretches else 0
    text = ", ".join(f"{part} {duration_text(length)}" for part, length in lengths.items() if length)
    return Line(row, tuple(bars), text or "no time", begun_ms, lengths.get(Part.CODE, 0))


def _x(ms: int, scale: float) -> float:
    return min(round(max(ms, 0) * scale, 1), WIDTH - _LEAST)
