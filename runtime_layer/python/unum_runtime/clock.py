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
