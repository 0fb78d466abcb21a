"""Time, injected: production reads the system's clock, the simulator turns its own."""

import time
from typing import Protocol


class Clock(Protocol):
    """Tells the time."""

    def now_ms(self) -> int:
        """Milliseconds since 1970-01-01T00:00:00Z."""
        ...


class SystemClock:
    """The clock of the machine."""

    def now_ms(self) -> int:
        """See `Clock.now_ms`."""
        return time.time_ns() // 1_000_000


class SkippingClock:
    """The clock of the machine, but for the waits that were skipped."""

    def __init__(self) -> None:
        self._skipped_ms = 0

    def now_ms(self) -> int:
        """See `Clock.now_ms`."""
        return time.time_ns() // 1_000_000 + self._skipped_ms

    def skip_to(self, ms: int) -> None:
        """Let it be `ms` or later, in milliseconds since 1970."""
        self._skipped_ms += max(0, ms - self.now_ms())
