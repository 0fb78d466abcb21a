"""Waiting by asking again: pauses that grow while nothing happens, up to a deadline."""

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
    """Tells and passes the time; tests put their own in.

    Attributes:
        now_s: seconds on a clock that never goes back.
        sleep: passes so many seconds.
    """

    now_s: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


@dataclass(kw_only=True)
class Pauses:
    """The pauses of one wait.

    Attributes:
        execution_name: what is waited for.
        timeout_s: how long in all, in seconds; None waits for ever.
        waiter: tells and passes the time.
    """

    execution_name: str
    timeout_s: float | None
    waiter: Waiter
    _begun_s: float = field(init=False)
    _next_s: float = field(init=False, default=FIRST_PAUSE_S)

    def __post_init__(self) -> None:
        if self.timeout_s is not None and (not isinstance(self.timeout_s, int | float) or isnan(self.timeout_s)):
            raise ClientError(f"timeout_s: expected a number of seconds, or None, got {self.timeout_s!r}")
        self._begun_s = self.waiter.now_s()

    def restart(self) -> None:
        """Something happened: the next pause is short again."""
        self._next_s = FIRST_PAUSE_S

    def pause(self) -> None:
        """Sleep, longer than the last time, but not beyond the deadline.

        Raises:
            WaitTimedOut: the deadline has passed.
        """
        pause_s = min(self._next_s, self._left_s())
        if pause_s <= 0:
            raise WaitTimedOut(
                f"execution {self.execution_name!r} was still running after {self.timeout_s} s; "
                "it goes on: wait again, or look at its steps"
            )
        self.waiter.sleep(pause_s)
        self._next_s = min(self._next_s * GROWTH, LONGEST_PAUSE_S)

    def _left_s(self) -> float:
        if self.timeout_s is None:
            return LONGEST_PAUSE_S
        return self._begun_s + self.timeout_s - self.waiter.now_s()
