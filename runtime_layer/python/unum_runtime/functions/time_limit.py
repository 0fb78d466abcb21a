"""Time limit that interrupts user code."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from unum_runtime.coroutines import GRACE_S, Interruption, cancel_running
from unum_runtime.errors import StatesError


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Limit the block to `seconds`; None sets no limit. A coroutine is cancelled, other code interrupted.

    Code that catches the interruption runs on, and a later check refuses its result as too late.

    Raises:
        StatesError: ``States.Timeout``.
    """
    # Python runs signal handlers in the main thread alone. Lambda calls handlers there; local runs may not.
    if seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    import signal  # noqa: PLC0415 - few Tasks have a limit

    previous = signal.signal(signal.SIGALRM, _interrupt)
    try:
        with _alarm(seconds):
            yield
    except Interruption:
        raise StatesError("States.Timeout", f"took longer than {seconds:g} s") from None
    finally:
        signal.signal(signal.SIGALRM, previous)


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    import signal  # noqa: PLC0415 - see above

    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _interrupt(_signal: int, _frame: Any) -> None:
    if not cancel_running():
        raise Interruption
    # A coroutine that does not end in time is interrupted like any other code.
    import signal  # noqa: PLC0415 - see above

    signal.setitimer(signal.ITIMER_REAL, GRACE_S)
