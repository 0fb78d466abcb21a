"""SVG pictures of a definition, or of an execution's progress in it."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from xml.sax.saxutils import escape, quoteattr

from unum_cli.picture.nested_graph import END, START
from unum_cli.picture.placement import (
    DETAIL_LETTER,
    LABEL_HEIGHT,
    LINE_HEIGHT,
    NAME_LETTER,
    PADDING,
    Box,
    Drawing,
    Point,
    Wire,
    lay_out,
    shown_label,
)
from unum_cli.picture.wording import kind, retrier_text, shortened, width
from unum_client.reading.progress import Progress, Reach
from unum_client.terminal.amounts import duration_text
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Choice, Fail, Map, State, Succeed, Task, Wait, Work

_HEAD_HEIGHT = 52
_TITLE_LETTER = 10
_LEGEND_HEIGHT = 30
_STUB = 10

_COLOURS = {
    Reach.NOT_REACHED: ("#ffffff", "#b6bcc6"),
    Reach.RUNNING: ("#dbeafe", "#2563eb"),
    Reach.SUCCEEDED: ("#dcfce7", "#15803d"),
    Reach.FAILED: ("#fee2e2", "#b91c1c"),
    Reach.STOPPED: ("#f3f4f6", "#6b7280"),
}
"""Fill and line of a state by what became of it."""

_KINDS: dict[type[State], tuple[str, str]] = {
    Task: ("#e0ecff", "#3565b0"),
    Choice: ("#fff3d6", "#a66a00"),
    Wait: ("#f0e8fb", "#7044a8"),
    Fail: ("#fde4e4", "#b03535"),
    Succeed: ("#e1f5e5", "#2f7d43"),
}
"""Fill and line of a state by its type, where there is no execution."""

_PLAIN = ("#f4f5f7", "#5b6573")

_ARROWS = {"arrow": "#5b6573", "arrow-up": "#8a4fbf", "arrow-caught": "#b03535"}
"""Heads of transitions: downwards, upwards, and after an error."""

_STYLE = """\
text { font-family: 'Helvetica Neue', Helvetica, Arial, 'DejaVu Sans', sans-serif; fill: #1f2733; }
.title { font-size: 17px; font-weight: 600; }
.name { font-size: 13px; font-weight: 600; }
.detail, .label, .legend { font-size: 11px; fill: #4b5563; }
.middle { text-anchor: middle; }
.branch { fill: #ffffff; fill-opacity: 0.65; stroke: #d4d8de; stroke-dasharray: 3 3; }
.wire { fill: none; stroke: #5b6573; stroke-width: 1.4; marker-end: url(#arrow); }
.up { stroke: #8a4fbf; stroke-dasharray: 6 3; marker-end: url(#arrow-up); }
.caught { stroke: #b03535; stroke-dasharray: 2 3; marker-end: url(#arrow-caught); }
.pale { opacity: 0.35; }
.plate { fill: #ffffff; stroke: #d4d8de; }"""


def document(
    workflow: Workflow,
    drawing: Drawing,
    captions: Mapping[str, tuple[str, ...]],
    progress: Mapping[str, Progress] | None,
    head: tuple[str, str],
) -> str:
    """Return the picture: head, graph, and a legend for an execution.

    Args:
        workflow: workflow of the states.
        drawing: their positions.
        captions: lines in each state's box.
        progress: progress of an execution, or None.
        head: title and subtitle.
    """
    body = list(_Painter(workflow, captions, progress).drawing(drawing))
    # A definition alone has no colours to explain.
    legend = list(_legend(_HEAD_HEIGHT + drawing.height)) if progress else []
    head_width = max(width(head[0], _TITLE_LETTER), width(head[1], DETAIL_LETTER)) + 2 * PADDING
    total_width = max(drawing.width, head_width, _legend_width() if progress else 0)
    total_height = _HEAD_HEIGHT + drawing.height + (_LEGEND_HEIGHT if progress else 0)
    size = f'width="{_n(total_width)}" height="{_n(total_height)}" viewBox="0 0 {_n(total_width)} {_n(total_height)}"'
    shift = _n((total_width - drawing.width) / 2)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
            f"<title>{_text(' '.join(filter(None, head)))}</title>",
            f"<style>{_STYLE}</style>",
            f"<defs>{''.join(_arrow(name, colour) for name, colour in _ARROWS.items())}</defs>",
            '<rect width="100%" height="100%" fill="#ffffff"/>',
            _line_of_text("title", Point(PADDING, 24), head[0]),
            _line_of_text("detail", Point(PADDING, 42), head[1]),
            f'<g transform="translate({shift} {_HEAD_HEIGHT})">',
            *body,
            "</g>",
            *legend,
            "</svg>",
            "",
        ]
    )


class _Painter:
    """Painter of the boxes and wires of one picture."""

    def __init__(
        self, workflow: Workflow, captions: Mapping[str, tuple[str, ...]], progress: Mapping[str, Progress] | None
    ) -> None:
        self._states = workflow.states
        self._captions = captions
        self._progress = progress

    def drawing(self, drawing: Drawing) -> Iterator[str]:
        for box in drawing.boxes:
            yield from self._marker(box) if box.name in (START, END) else self._box(box)
        for wire in drawing.wires:
            yield from self._wire(wire)
        # Labels last: SVG paints in order, and a line must not cover text.
        for wire in drawing.wires:
            yield from _label(wire)

    def _wire(self, wire: Wire) -> Iterator[str]:
        is_taken = self._progress is None or wire.edge.is_taken(self._progress)
        flags = {"up": wire.upward, "caught": wire.edge.caught, "pale": not is_taken}
        classes = ["wire", *(name for name, holds in flags.items() if holds)]
        path = _loop(wire.points) if wire.edge.source == wire.edge.target else _curve(wire.points)
        yield f'<path class="{" ".join(classes)}" d="{path}"/>'

    def _marker(self, box: Box) -> Iterator[str]:
        radius = box.width / 2
        x, y = _n(box.corner.x + radius), _n(box.corner.y + radius)
        if box.name == END:
            yield f'<circle cx="{x}" cy="{y}" r="{_n(radius - 1)}" fill="#ffffff" stroke="#1f2733" stroke-width="1.5"/>'
            radius -= 3
        yield f'<circle cx="{x}" cy="{y}" r="{_n(radius - 1)}" fill="#1f2733"/>'

    def _box(self, box: Box) -> Iterator[str]:
        state = self._states[box.name]
        yield f'<g transform="translate({_n(box.corner.x)} {_n(box.corner.y)})">'
        yield f"<title>{_text(self._tooltip(state))}</title>"
        if isinstance(state, Map):
            yield self._outline(state, box, 6)
            yield self._outline(state, box, 3)
        yield self._outline(state, box, 0)
        yield from self._lines(box)
        for inset in box.inner:
            yield f'<g transform="translate({_n(inset.corner.x)} {_n(inset.corner.y)})">'
            size = f'width="{_n(inset.drawing.width)}" height="{_n(inset.drawing.height)}"'
            yield f'<rect class="branch" {size} rx="6"/>'
            yield from self.drawing(inset.drawing)
            yield "</g>"
        yield "</g>"

    def _outline(self, state: State, box: Box, shift: float) -> str:
        """Return the box; for a Map also boxes `shift` pixels behind it, which stand for branches."""
        fill, line = self._colours(state)
        dashes = ' stroke-dasharray="5 3"' if self._reach(state) is Reach.NOT_REACHED else ""
        paint = f'fill="{fill}" stroke="{line}" stroke-width="1.4"{dashes}'
        size = f'width="{_n(box.width)}" height="{_n(box.height)}"'
        radius = _n(box.height / 2) if isinstance(state, Choice | Succeed | Fail) else "7"
        return f'<rect x="{shift}" y="{-shift}" {size} rx="{radius}" {paint}/>'

    def _lines(self, box: Box) -> Iterator[str]:
        name, *details = self._captions[box.name]
        middle = Point(box.width / 2, PADDING / 2 + 11)
        yield _line_of_text("name middle", middle, name)
        for row, line in enumerate(details, start=1):
            yield _line_of_text("detail middle", Point(middle.x, middle.y + row * LINE_HEIGHT), line)

    def _colours(self, state: State) -> tuple[str, str]:
        reach = self._reach(state)
        if reach:
            return _COLOURS[reach]
        return _KINDS.get(type(state), _PLAIN)

    def _reach(self, state: State) -> Reach | None:
        return self._progress[state.name].reach if self._progress else None

    def _tooltip(self, state: State) -> str:
        reach = self._reach(state)
        retriers = state.retry if isinstance(state, Work) else ()
        return "\n".join([f"{state.name}: {reach}" if reach else state.name, *map(retrier_text, retriers)])


def _label(wire: Wire) -> Iterator[str]:
    if wire.label_at is None:
        return
    shown = shown_label(wire.edge)
    plate = width(shown, DETAIL_LETTER) + PADDING / 2
    x, y = wire.label_at
    yield "<g>"
    yield f"<title>{_text(wire.edge.label)}</title>"
    corner = f'x="{_n(x - plate / 2)}" y="{_n(y - LABEL_HEIGHT / 2)}"'
    yield f'<rect class="plate" {corner} width="{_n(plate)}" height="{LABEL_HEIGHT}" rx="4"/>'
    yield _line_of_text("label middle", Point(x, y + 4), shown)
    yield "</g>"


def _curve(points: Sequence[Point]) -> str:
    """Return an SVG path through `points`, vertical at each point."""
    path = [f"M{_at(points[0])}"]
    for start, end in pairwise(_with_stub(points)):
        if start.x == end.x:
            path.append(f"L{_at(end)}")
        else:
            middle = (start.y + end.y) / 2
            path.append(f"C{_at(Point(start.x, middle))} {_at(Point(end.x, middle))} {_at(end)}")
    return " ".join(path)


def _with_stub(points: Sequence[Point]) -> list[Point]:
    """Return `points` with a straight last segment, so that the arrowhead follows the line."""
    *way, end = dict.fromkeys(points)
    stub = _STUB if end.y > way[-1].y else -_STUB
    return [*way, Point(end.x, end.y - stub), end]


def _loop(points: Sequence[Point]) -> str:
    """Return a path from the first point around the second to the third."""
    start, far, end = points
    return f"M{_at(start)} C{_at(Point(far.x + 8, start.y))} {_at(Point(far.x + 8, end.y))} {_at(end)}"


def _legend(top: float) -> Iterator[str]:
    x = float(PADDING)
    for reach, (fill, line) in _COLOURS.items():
        dashes = ' stroke-dasharray="5 3"' if reach is Reach.NOT_REACHED else ""
        corner = f'x="{_n(x)}" y="{_n(top + 6)}"'
        yield f'<rect {corner} width="16" height="12" rx="3" fill="{fill}" stroke="{line}"{dashes}/>'
        yield _line_of_text("legend", Point(x + 22, top + 16), reach)
        x += _legend_step(reach)


def _legend_step(reach: Reach) -> float:
    return 22 + width(reach, NAME_LETTER) + PADDING


def _legend_width() -> float:
    return PADDING + sum(map(_legend_step, Reach))


def _arrow(name: str, colour: str) -> str:
    size = 'viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"'
    return f'<marker id="{name}" {size}><path d="M0 0.5 L8 4 L0 7.5 Z" fill="{colour}"/></marker>'


def _line_of_text(classes: str, at: Point, text: str) -> str:
    return f'<text class={quoteattr(classes)} x="{_n(at.x)}" y="{_n(at.y)}">{_text(text)}</text>'


def _text(text: str) -> str:
    """Escape `text` for XML; drop control characters, which XML forbids even escaped, except line ends."""
    return escape("".join(char if char.isprintable() or char == "\n" else "\ufffd" for char in text))


def _at(point: Point) -> str:
    return f"{_n(point.x)} {_n(point.y)}"


def _n(number: float) -> str:
    """Format a number with at most one decimal, for short and equal texts."""
    return f"{number:.1f}".removesuffix(".0")


LONGEST_LINE = 34


def draw(
    workflow: Workflow, *, progress: Mapping[str, Progress] | None = None, title: str = "", subtitle: str = ""
) -> str:
    """Return SVG text, equal for equal arguments.

    Args:
        workflow: workflow to draw.
        progress: progress of an execution, which colours states and adds durations; None draws the definition.
        title: text above the graph (default: the workflow's name).
        subtitle: text below the title, for example the execution's name and status.
    """
    captions = {name: _caption(state, progress[name] if progress else None) for name, state in workflow.states.items()}
    return document(workflow, lay_out(workflow, captions), captions, progress, (title or workflow.name, subtitle))


def _caption(state: State, progress: Progress | None) -> tuple[str, ...]:
    """Return the lines in a state's box; equally many for each state, so that boxes of a layer align."""
    lines = [state.name, kind(state)]
    if progress:
        lines.append(_measured(state, progress))
    return tuple(shortened(line, LONGEST_LINE) for line in lines)


def _measured(state: State, progress: Progress) -> str:
    """Return count and duration of an execution's visits, as text."""
    if progress.reach is Reach.NOT_REACHED:
        return "not reached"
    times = progress.succeeded + progress.failed + progress.running
    counts = _counts(progress) if times > 1 or progress.running else ""
    duration = _duration(progress) if isinstance(state, Task) else ""
    return " · ".join(filter(None, (counts, duration))) or progress.reach


def _counts(progress: Progress) -> str:
    unfinished = "stopped" if progress.over else "running"
    named = ((progress.succeeded, "done"), (progress.failed, "failed"), (progress.running, unfinished))
    return ", ".join(f"{count} {name}" for count, name in named if count)


def _duration(progress: Progress) -> str:
    match progress.succeeded + progress.failed:
        case 0:
            return ""
        case 1:
            return duration_text(progress.duration_ms)
    return f"slowest {duration_text(progress.slowest_ms)}"
