"""A Gantt chart of an execution as text."""

from collections.abc import Iterator

from unum_cli.timing.levels import Levels, Row
from unum_cli.timing.stretches import Part
from unum_client.terminal.amounts import duration_text
from unum_runtime.model.naming import Frames

COLUMNS = 64
MARKS = {
    Part.QUEUE: ".",
    Part.COLD: "o",
    Part.TRIES: "x",
    Part.CODE: "#",
    Part.WAITING: "-",
    Part.BRANCHES: "=",
}
LEGEND = "  ".join(f"{mark} {part}" for part, mark in MARKS.items())


def gantt(levels: Levels) -> str:
    """Return the chart, one line for each step, with those of branches below their fan-out."""
    rows = [*_rows(levels, (), 0)]
    times = [time for _, row in rows for stretch in row.stretches for time in (stretch.from_ms, stretch.to_ms)]
    begin, end = min(times), max(times)
    width = max(len(label) for label, _ in rows)
    lines = [f"{label:<{width}}  {_bar(row, begin, end)}  {row.note or row.status}" for label, row in rows]
    return "\n".join([*lines, "", f"{'':<{width}}  {duration_text(end - begin)} in all; {LEGEND}"])


def _rows(levels: Levels, frames: Frames, depth: int) -> Iterator[tuple[str, Row]]:
    for row in levels.rows(frames):
        yield f"{'  ' * depth}{row.state}", row
        origin = levels.by_key.get(row.key) if row.branches is not None else None
        if origin is not None and origin.opens is not None:
            for index in range(origin.opens.size):
                yield from _rows(levels, origin.opens.branch(index), depth + 1)


def _bar(row: Row, begin: int, end: int) -> str:
    scale = COLUMNS / max(1, end - begin)
    cells = [" "] * COLUMNS
    for stretch in row.stretches:
        first = min(COLUMNS - 1, int((stretch.from_ms - begin) * scale))
        last = max(first + 1, min(COLUMNS, round((stretch.to_ms - begin) * scale)))
        cells[first:last] = MARKS[stretch.part] * (last - first)
    return "".join(cells)
