"""Polling: growing pauses while nothing changes, up to a deadline."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from math import isnan

from unum_runtime.errors import ClientError, WaitTimedOut

FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 5.0
GROWTH = 1.5


@dataclass(frozen=True, kw_only=True)
class Waiter:
    """Clock and sleep function; tests replace them.

    Attributes:
        now_s: seconds on a monotonic clock.
        sleep: function that sleeps for a number of seconds.
    """

    now_s: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


@dataclass(kw_only=True)
class Pauses:
    """Pauses of one wait.

    Attributes:
        execution_name: name of the execution.
        timeout_s: total limit in seconds; None for no limit.
        waiter: clock and sleep function.
    """

    execution_name: str
    timeout_s: float | None
    waiter: Waiter
    _begun_s: float = field(init=False)
    _next_s: float = field(init=False, default=FIRST_PAUSE_S)

    def __post_init__(self) -> None:
        # NaN compares as false with every number, so the deadline would never pass.
        if self.timeout_s is not None and (not isinstance(self.timeout_s, int | float) or isnan(self.timeout_s)):
            raise ClientError(f"timeout_s: expected a number of seconds, or None, got {self.timeout_s!r}")
        self._begun_s = self.waiter.now_s()

    def restart(self) -> None:
        """Make the next pause short again, because something changed."""
        self._next_s = FIRST_PAUSE_S

    def pause(self) -> None:
        """Sleep, each time longer, but not beyond the deadline.

        Raises:
            WaitTimedOut: the deadline has passed.
        """
        pause_s = min(self._next_s, self._left_s())
        if pause_s <= 0:
            raise WaitTimedOut(
                f"execution {self.execution_name!r} was still running after {self.timeout_s} s; "
                "it continues: wait again, or read its steps"
            )
        self.waiter.sleep(pause_s)
        self._next_s = min(self._next_s * GROWTH, LONGEST_PAUSE_S)

    def _left_s(self) -> float:
        if self.timeout_s is None:
            # Any value of at least the longest pause: without a limit, only growth bounds a pause.
            return LONGEST_PAUSE_S
        return self._begun_s + self.timeout_s - self.waiter.now_s()
