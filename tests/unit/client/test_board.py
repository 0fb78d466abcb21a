"""The table of states, on a terminal and into a file."""

import io
import os
import pty
import termios
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TextIO

import pytest

from unum_client.reading.progress import Progress
from unum_client.terminal.board import Board

BEFORE = {"Split": Progress(succeeded=1, slowest_ms=20), "Count": Progress(running=3), "Sum": Progress()}
AFTER = {**BEFORE, "Count": Progress(succeeded=2, failed=1, slowest_ms=1500)}

END = "(end)"


@dataclass
class Terminal:
    """A terminal of the operating system, and what was written to it."""

    stream: TextIO
    master: int

    def resize(self, lines: int, columns: int) -> None:
        termios.tcsetwinsize(self.master, (lines, columns))

    def read_output(self) -> str:
        self.stream.write(END)
        self.stream.flush()
        found = ""
        while not found.endswith(END):
            found += os.read(self.master, 100_000).decode()
        return found.removesuffix(END).replace("\r\n", "\n")

    def screen(self) -> list[str]:
        """The lines of the last drawing."""
        return self.read_output().rpartition("\x1b[H")[2].removesuffix("\x1b[J").replace("\x1b[K", "").split("\n")


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    monkeypatch.setenv("NO_COLOR", "1")
    master, slave = pty.openpty()
    with os.fdopen(slave, "w") as stream:
        found = Terminal(stream, master)
        found.resize(24, 80)
        yield found
    os.close(master)


def test_a_terminal_shows_the_table_as_it_is_now(terminal: Terminal) -> None:
    board = Board(terminal.stream)
    board.show(BEFORE, "e RUNNING")
    board.show(AFTER, "e RUNNING")
    assert [line.split() for line in terminal.screen()] == [
        ["e", "RUNNING"],
        ["STATE", "DONE", "FAILED", "RUNNING", "SLOWEST", "STATUS"],
        ["Split", "1", "-", "-", "20", "ms", "succeeded"],
        ["Count", "2", "1", "-", "1.50", "s", "failed"],
        ["Sum", "-", "-", "-", "-", "not", "reached"],
    ]


def test_the_table_fits_the_size_that_the_terminal_has_now(terminal: Terminal) -> None:
    board = Board(terminal.stream)
    board.show(BEFORE, "e")
    assert len(terminal.screen()) == 5
    terminal.resize(4, 80)
    board.show(BEFORE, "e")
    title, _, split, rest = terminal.screen()
    assert (title, split.split()[0], rest) == ("e", "Split", "…")
    terminal.resize(5, 20)
    board.show(BEFORE, "e")
    assert len(terminal.screen()) == 5


def test_what_was_shown_last_remains(terminal: Terminal) -> None:
    with Board(terminal.stream) as board:
        board.show(BEFORE, "e RUNNING")
        board.show(AFTER, "e FAILED")
    written = terminal.read_output()
    assert written.startswith("\x1b[?1049h")
    remains = written.rpartition("\x1b[?1049l")[2]
    assert remains.splitlines()[0] == "e FAILED"
    assert len(remains.splitlines()) == 5


def test_an_interruption_gives_the_terminal_back(terminal: Terminal) -> None:
    def interrupted() -> None:
        with Board(terminal.stream):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert terminal.read_output().endswith("\x1b[?7h\x1b[?1049l")


def test_states_have_colours(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR")
    Board(terminal.stream).show(AFTER, "e")
    lines = terminal.screen()
    assert [line[:5] for line in lines[2:]] == ["\x1b[32m", "\x1b[31m", "\x1b[2mS"]


def test_names_cannot_move_the_cursor(terminal: Terminal) -> None:
    Board(terminal.stream).show({"a\x1b[2Jb\n": Progress()}, "e")
    assert terminal.screen()[2].startswith("a\ufffd[2Jb\ufffd")


def test_elsewhere_each_change_is_a_line() -> None:
    stream = io.StringIO()
    with Board(stream) as board:
        for states in (BEFORE, BEFORE, AFTER):
            board.show(states, "e")
    assert stream.getvalue().splitlines() == [
        "Split: 1 done, 0 failed, 0 running",
        "Count: 0 done, 0 failed, 3 running",
        "Count: 2 done, 1 failed, 0 running",
    ]
