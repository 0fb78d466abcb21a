"""Line charts as SVG, for the performance pages."""

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape

WIDTH, HEIGHT = 640, 360
LEFT, RIGHT, TOP, BOTTOM = 70, 170, 40, 50
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Colours that colour-blind readers can distinguish. Source: Okabe and Ito, "Color Universal Design"."""

Points = Sequence[tuple[float, float]]


def line_chart(title: str, x_label: str, y_label: str, lines: Mapping[str, Points]) -> str:
    """Return a chart with logarithmic axes.

    Args:
        title: the chart's title.
        x_label: label of the horizontal axis.
        y_label: label of the vertical axis.
        lines: points (x, y) with positive coordinates, by line name.
    """
    xs, ys = ([point[axis] for points in lines.values() for point in points] for axis in (0, 1))
    across = _Axis(xs, LEFT, WIDTH - RIGHT)
    up = _Axis(ys, HEIGHT - BOTTOM, TOP)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        f'font-size="12"><title>{escape(title)}</title><rect width="100%" height="100%" fill="white"/>'
    )
    parts = [head, _text(WIDTH / 2, 20, title, anchor="middle"), *_grid(across, up), *_curves(lines, across, up)]
    parts += [
        _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, x_label, anchor="middle"),
        f'<g transform="rotate(-90 16 {HEIGHT / 2})">{_text(16, HEIGHT / 2, y_label, anchor="middle")}</g>',
    ]
    return "\n".join([*parts, "</svg>\n"])


class _Axis:
    """Map values to pixels; both ends of the axis are powers of ten."""

    def __init__(self, values: Sequence[float], begin: float, end: float) -> None:
        self.begin, self.end = begin, end
        self.low = math.floor(math.log10(min(values)))
        # At least one decade, because `at` divides by the axis's length.
        self.high = max(self.low + 1, math.ceil(math.log10(max(values))))

    def at(self, value: float) -> float:
        """Return the pixel of `value`."""
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return round(self.begin + share * (self.end - self.begin), 1)

    @property
    def ticks(self) -> list[float]:
        """The powers of ten on the axis."""
        return [10.0**power for power in range(self.low, self.high + 1)]


def _grid(across: _Axis, up: _Axis) -> Iterator[str]:
    for tick in across.ticks:
        x = across.at(tick)
        yield _line(x, up.begin, x, up.end)
        yield _text(x, up.begin + 16, _number(tick), anchor="middle")
    for tick in up.ticks:
        y = up.at(tick)
        yield _line(across.begin, y, across.end, y)
        yield _text(across.begin - 6, y + 4, _number(tick), anchor="end")


def _number(tick: float) -> str:
    """Return a power of ten without exponent."""
    return f"{tick:,.0f}" if tick >= 1 else f"{tick:g}"


def _curves(lines: Mapping[str, Points], across: _Axis, up: _Axis) -> Iterator[str]:
    for number, (name, points) in enumerate(lines.items()):
        colour = COLOURS[number % len(COLOURS)]
        pixels = [(across.at(x), up.at(y)) for x, y in points]
        path = " ".join(f"{x},{y}" for x, y in pixels)
        yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
        yield from (f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>' for x, y in pixels)
        yield _text(across.end + 12, TOP + 12 + 18 * number, name, fill=colour)


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="#ddd"/>'


def _text(x: float, y: float, text: str, *, anchor: str = "start", fill: str = "#222") -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="{fill}">{escape(text)}</text>'
