"""Signals that end the emulator's shell: each block that it leaves can clean up, once.

`unum_cli.project.interruption` has the same code, because the emulator and the command line share no package.
"""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_ENDING = (signal.SIGTERM, signal.SIGHUP)


def leave_on_signals() -> None:
    """Raise SystemExit after SIGTERM and SIGHUP, with 128 plus signal as exit code."""
    for number in _ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, _leave)


def ignore_signals() -> None:
    """Ignore further signals, which would interrupt cleaning up."""
    for number in (signal.SIGINT, *_ENDING):
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def deferred_signals() -> Iterator[Callable[[], None]]:
    """Defer signals while a program starts, so that no exception hides its process.

    Yields:
        Function that delivers deferred signals, and ends deferring.
    """
    deferred: list[int] = []
    # Programs do not inherit such handlers, as they would a mask or SIG_IGN.
    before = {
        number: signal.signal(number, lambda number, _frame: deferred.append(number))
        for number in (signal.SIGINT, *_ENDING)
        if signal.getsignal(number) is not signal.SIG_IGN
    }

    def deliver() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)
        before.clear()
        while deferred:
            signal.raise_signal(deferred.pop(0))

    try:
        yield deliver
    finally:
        deliver()


def _leave(number: int, _frame: FrameType | None) -> None:
    ignore_signals()
    sys.exit(128 + number)
