"""Step Functions without ministack's pause of 0.15 s before every execution.

AWS has no such pause, and a comparison with the emulated Step Functions would flatter everybody else.
"""

import time
from typing import Any

from ministack.services import stepfunctions

from unum_emulator.patching import replace

_PAUSE_S = 0.15


class _Time:
    """The module `time`, except for that one pause."""

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)

    def sleep(self, seconds: float) -> None:
        if seconds != _PAUSE_S:
            time.sleep(seconds)


def install() -> None:
    """Give ministack's Step Functions another clock."""
    replace(stepfunctions, "time", _Time())
