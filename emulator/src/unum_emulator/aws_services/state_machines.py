"""Step Functions without ministack's pause of 0.15 s before every execution.

AWS has no such pause; in comparisons, the emulated Step Functions would look slower than it is.
"""

import time
from typing import Any

from ministack.services import stepfunctions

from unum_emulator.patching import replace

_PAUSE_S = 0.15


class _Time:
    """Module `time` without the pause at each start."""

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)

    def sleep(self, seconds: float) -> None:
        # Wait states use `time.sleep` too, and must keep their durations.
        if seconds != _PAUSE_S:
            time.sleep(seconds)


def install() -> None:
    """Give ministack's Step Functions a clock without the pause."""
    replace(stepfunctions, "time", _Time())
