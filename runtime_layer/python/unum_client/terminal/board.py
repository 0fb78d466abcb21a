"""Table of an execution's states, redrawn while the execution runs."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self, TextIO

from unum_client.reading.progress import Progress, Reach
from unum_client.terminal.amounts import aligned, duration_text, printable

HEADINGS = ("STATE", "DONE", "FAILED", "RUNNING", "SLOWEST", "STATUS")
_RIGHT = frozenset(HEADINGS[1:5])

# Source: "XTerm Control Sequences", DECSET 1049 (a screen of one's own) and 7 (lines that are too long are wrapped).
_ENTER, _LEAVE = "\x1b[?1049h\x1b[?7l", "\x1b[?7h\x1b[?1049l"
_HOME, _ERASE_REST, _ERASE_BELOW, _PLAIN = "\x1b[H", "\x1b[K", "\x1b[J", "\x1b[0m"

_COLOURS: Mapping[Reach, str] = {
    Reach.NOT_REACHED: "\x1b[2m",
    Reach.RUNNING: "\x1b[34m",
    Reach.SUCCEEDED: "\x1b[32m",
    Reach.FAILED: "\x1b[31m",
    Reach.STOPPED: "\x1b[33m",
}


@dataclass
class Board:
    """Table of an execution's progress; a context manager.

    On a terminal it uses the alternate screen; the last table remains on the main screen afterwards. Each redraw starts
    at the top with the current size, because a resize may have wrapped or moved earlier lines. Other streams get one
    line for each state with changed counts.

    Attributes:
        stream: output stream.
    """

    stream: TextIO
    _shown: Mapping[str, Progress] = field(default_factory=dict)
    _lines: list[str] = field(default_factory=list)
    _is_terminal: bool = field(init=False)

    def __post_init__(self) -> None:
        self._is_terminal = self.stream.isatty()

    def __enter__(self) -> Self:
        if self._is_terminal:
            self.stream.write(_ENTER)
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_terminal:
            self.stream.write(_LEAVE + "".join(f"{line}\n" for line in self._lines))
            self.stream.flush()

    def show(self, states: Mapping[str, Progress], title: str) -> None:
        """Show the progress of `states`, below `title`."""
        if self._is_terminal:
            self._draw(states, title)
        else:
            self._print_changes(states)
        self.stream.flush()
        self._shown = states

    def _draw(self, states: Mapping[str, Progress], title: str) -> None:
        headings, *rows = aligned([HEADINGS, *map(row, states, states.values())], _RIGHT)
        coloured = [_coloured(line, each.reach) for line, each in zip(rows, states.values(), strict=True)]
        self._lines = [printable(title), headings, *coloured]
        height = os.get_terminal_size(self.stream.fileno()).lines
        lines = self._lines if len(self._lines) <= height else [*self._lines[: height - 1], "…"]
        self.stream.write(_HOME + "\n".join(f"{line}{_ERASE_REST}" for line in lines) + _ERASE_BELOW)

    def _print_changes(self, states: Mapping[str, Progress]) -> None:
        for name, each in states.items():
            if each != self._shown.get(name, Progress(over=each.over)):
                counts = f"{each.succeeded} done, {each.failed} failed, {each.running} running"
                self.stream.write(f"{printable(name)}: {counts}\n")


def row(name: str, state: Progress) -> tuple[str, ...]:
    """Return cells of the state called `name`, in the order of `HEADINGS`."""
    counts = (state.succeeded, state.failed, state.running)
    slowest = duration_text(state.slowest_ms) if state.slowest_ms else "-"
    return (name, *(str(count) if count else "-" for count in counts), slowest, str(state.reach))


def _coloured(line: str, reach: Reach) -> str:
    return line if "NO_COLOR" in os.environ else f"{_COLOURS[reach]}{line}{_PLAIN}"  # https://no-color.org
