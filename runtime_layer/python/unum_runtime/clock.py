"""Clocks: the system's in production, a virtual one in the simulator."""

import time
from typing import Protocol


class Clock(Protocol):
    """Source of the current time."""

    def now_ms(self) -> int:
        """Return milliseconds since 1970-01-01T00:00:00Z."""
        ...


class SystemClock:
    """Clock of the machine."""

    def now_ms(self) -> int:
        """Return the time; see `Clock.now_ms`."""
        return time.time_ns() // 1_000_000


class SkippingClock:
    """Clock of the machine that skips waits."""

    def __init__(self) -> None:
        self._skipped_ms = 0

    def now_ms(self) -> int:
        """Return the time; see `Clock.now_ms`."""
        return time.time_ns() // 1_000_000 + self._skipped_ms

    def skip_to(self, ms: int) -> None:
        """Advance to `ms`, in milliseconds since 1970, unless that is past."""
        self._skipped_ms += max(0, ms - self.now_ms())
