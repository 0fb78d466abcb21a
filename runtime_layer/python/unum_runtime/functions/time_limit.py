"""User code that takes too long is interrupted where it is."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from unum_runtime.errors import StatesError


class _Interruption(BaseException):
    """Raised in the midst of user code, which catches no such thing unless it catches everything."""


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Let what is inside run for `seconds`; None sets no limit.

    It needs the main thread, in which Lambda calls handlers, because Python gives signals to no other. Code that
    catches the interruption runs on; its result comes too late all the same.

    Raises:
        StatesError: ``States.Timeout``.
    """
    if seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    import signal  # noqa: PLC0415 - few Tasks have a limit

    previous = signal.signal(signal.SIGALRM, _interrupt)
    try:
        with _alarm(seconds):
            yield
    except _Interruption:
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


def _interrupt(_signal: int, _frame: Any) -> NoReturn:
    raise _Interruption
