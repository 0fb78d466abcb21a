"""Live table of an execution's steps, one row per commit."""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TextIO

from unum_client.control import Missing
from unum_client.descriptions import Step, StepStatus
from unum_client.terminal.amounts import duration_text, padded_line, printable, size_text, time_text
from unum_runtime.protocol.history.pending import WaitsFor

HEADINGS = ("STATE", "INDEX", "ATTEMPT", "QUEUED", "DURATION", "BYTES", "STATUS")
_FIRST_WIDTHS = (24, 9, 7, 10, 10, 9, 9)
_RIGHT = frozenset({"ATTEMPT", "QUEUED", "DURATION", "BYTES"})

_COLOURS: Mapping[StepStatus, str] = {
    StepStatus.ENTERED: "\x1b[34m",
    StepStatus.SUCCEEDED: "\x1b[32m",
    StepStatus.FAILED: "\x1b[31m",
    StepStatus.CAUGHT: "\x1b[33m",
    StepStatus.RETRIED: "\x1b[33m",
    StepStatus.COLLECTED: "\x1b[2m",
}
_PLAIN, _ERASE_LINE = "\x1b[0m", "\r\x1b[2K"


@dataclass
class LiveTable:
    """Table that grows by a row per step; on a terminal, the last line shows the elapsed time.

    Attributes:
        stream: output stream.
        now_s: seconds on a monotonic clock.
    """

    stream: TextIO
    now_s: Callable[[], float] = time.monotonic
    _widths: list[int] = field(default_factory=lambda: list(_FIRST_WIDTHS))
    _rows: int = 0
    _begun_s: float = field(init=False)
    _is_terminal: bool = field(init=False)

    def __post_init__(self) -> None:
        self._begun_s = self.now_s()
        self._is_terminal = self.stream.isatty()

    def add(self, step: Step) -> None:
        """Write the row of `step`, and the headings before the first row."""
        if self._rows == 0:
            self._write(self._line(HEADINGS), "")
        self._rows += 1
        self._write(self._line(row(step)), _COLOURS[step.status])
        if self._is_terminal:
            elapsed = duration_text(int((self.now_s() - self._begun_s) * 1000))
            self.stream.write(f"{self._rows} steps, {elapsed} …")
        self.stream.flush()

    def add_pending(self, missing: Missing, now: datetime) -> None:
        """Write the row of a commit that the execution waits for."""
        if self._rows == 0:
            self._write(self._line(HEADINGS), "")
        self._rows += 1
        self._write(self._line(pending_row(missing, now)), _COLOURS[StepStatus.ENTERED])
        self.stream.flush()

    def close(self) -> None:
        """Erase the last line."""
        if self._is_terminal:
            self.stream.write(_ERASE_LINE)
            self.stream.flush()

    def _line(self, cells: tuple[str, ...]) -> str:
        """Pad `cells` to columns, which widen permanently for wider cells."""
        self._widths = [max(width, len(cell)) for width, cell in zip(self._widths, cells, strict=True)]
        return padded_line(cells, HEADINGS, self._widths, _RIGHT)

    def _write(self, line: str, colour: str) -> None:
        if not self._is_terminal:
            self.stream.write(f"{line}\n")
        elif colour and "NO_COLOR" not in os.environ:  # https://no-color.org
            self.stream.write(f"{_ERASE_LINE}{colour}{line}{_PLAIN}\n")
        else:
            self.stream.write(f"{_ERASE_LINE}{line}\n")


def row(step: Step) -> tuple[str, ...]:
    """Return the cells of `step`, in the order of `HEADINGS`."""
    status = f"{step.status} {step.error}" if step.error else str(step.status)
    delivery, notes = step.delivery, notes_of(step)
    return (
        printable(step.state),
        ".".join(map(str, step.index)) or "-",
        str(step.attempt),
        "-" if delivery is None else duration_text(delivery.queued_ms),
        duration_text(step.lasted_ms),
        size_text(step.bytes),
        printable(f"{status} ({notes})" if notes else status),
    )


def pending_row(missing: Missing, now: datetime) -> tuple[str, ...]:
    """Return the cells of a commit that the execution waits for, in the order of `HEADINGS`."""
    since_ms = max(0, round((now - missing.since).total_seconds() * 1000))
    index = ".".join(map(str, missing.index)) or "-"
    return (printable(missing.state), index, "-", "-", duration_text(since_ms), "-", waiting_text(missing))


def waiting_text(missing: Missing) -> str:
    """Return the pending cause and end time of the commit's wait."""
    if missing.waits_for is WaitsFor.DELIVERY:
        return "RUNNING"
    until = "" if missing.until is None else f" until {time_text(missing.until)}"
    return f"WAITING for {_WAITS[missing.waits_for]}{until}"


_WAITS: Mapping[WaitsFor, str] = {
    WaitsFor.TIME: "its time",
    WaitsFor.ANSWER: "an answer",
    WaitsFor.JOB: "its job, looked at",
}


def notes_of(step: Step) -> str:
    """Return what else is known of the step: a cold sandbox, a wait, earlier attempts, and why Lambda gave it up."""
    delivery = step.delivery
    if delivery is None:
        return ""
    notes = [f"cold, init {duration_text(delivery.init_ms)}"] if delivery.init_ms is not None else []
    if delivery.waited_ms:
        notes.append("waited")
    if step.attempt:
        errors = ", ".join(failed.error or "an error without a name" for failed in delivery.failed)
        notes.append(f"retried {_times(step.attempt)}{errors and f' after {errors}'}")
    if delivery.given_up:
        notes.append(f"Lambda gave up: {delivery.given_up}")
    return "; ".join(notes)


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"
