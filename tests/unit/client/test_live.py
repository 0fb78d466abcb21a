"""The table of steps, on a terminal and into a file."""

import io
from dataclasses import replace

import pytest

from unum_client import Step
from unum_client.terminal.amounts import duration_text, size_text
from unum_client.terminal.live import LiveTable
from unum_runtime.model.checkpoint import Checkpoint, Failure, Phase, Success
from unum_runtime.model.naming import Execution, Frame, Name

EXECUTION = Execution("e", 1_800_000_000_000)
PLAIN = Step.of(
    Checkpoint(
        name=Name(EXECUTION, (), 1),
        state="Resize",
        phase=Phase.LEFT,
        outcome=Success({"a": "é"}),
        digest="d",
        committed_ms=1_800_000_001_500,
        duration_ms=1234,
        attempt=1,
    )
)
FRAMES = (Frame("M", 1, 0, 3, 5), Frame("P", 2, 0, 1, 2))
BRANCH = Step.of(replace(PLAIN.checkpoint, name=Name(EXECUTION, FRAMES, 0), outcome=Failure("Bad", "why")))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_rows_are_appended_where_there_is_no_terminal() -> None:
    stream = io.StringIO()
    table = LiveTable(stream)
    table.add(PLAIN)
    table.add(BRANCH)
    table.close()
    assert [line.split() for line in stream.getvalue().splitlines()] == [
        ["STATE", "INDEX", "ATTEMPT", "QUEUED", "DURATION", "BYTES", "STATUS"],
        ["Resize", "-", "1", "-", "1.23", "s", "10", "B", "SUCCEEDED"],
        ["Resize", "3.1", "1", "-", "1.23", "s", "0", "B", "FAILED", "Bad"],
    ]
    assert "\x1b" not in stream.getvalue()


def test_a_terminal_has_colours_and_a_last_line_that_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    stream = Terminal()
    now_s = iter([0.0, 2.5])
    table = LiveTable(stream, now_s=lambda: next(now_s))
    table.add(PLAIN)
    assert stream.getvalue().endswith("1 steps, 2.50 s …")
    assert "\x1b[32mResize" in stream.getvalue()
    table.close()
    assert stream.getvalue().endswith("\r\x1b[2K")


def test_colours_can_be_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    stream = Terminal()
    LiveTable(stream).add(PLAIN)
    assert "\x1b[32m" not in stream.getvalue()


def test_columns_widen_and_names_cannot_move_the_cursor() -> None:
    stream = io.StringIO()
    table = LiveTable(stream)
    table.add(replace(PLAIN, state="x" * 40))
    table.add(replace(PLAIN, state="a\x1b[2Jb\n"))
    _, first, second = stream.getvalue().splitlines()
    assert second.startswith("a\ufffd[2Jb\ufffd")
    assert len(first) == len(second)


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0 ms"),
        (999, "999 ms"),
        (1_000, "1.00 s"),
        (59_999, "59.99 s"),
        (60_000, "1 min 00 s"),
        (3_599_999, "59 min 59 s"),
        (11_100_000, "3 h 05 min"),
    ],
)
def test_durations(ms: int, text: str) -> None:
    assert duration_text(ms) == text


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (999, "999 B"), (1_500, "1.5 kB"), (380_000, "380.0 kB"), (2 * 10**12, "2000.0 GB")]
)
def test_sizes(size: int, text: str) -> None:
    assert size_text(size) == text
