"""Arrivals: what this sandbox knows of each of its deliveries, for the records of commits."""

import os
import time
from contextlib import suppress
from typing import Any

from unum_runtime.clock import Clock
from unum_runtime.model.delivery_record import Arrival

_init_ms: list[int] = []
"""Duration of the init phase, until the first delivery takes it."""

_START_TICKS = 19
"""Position of ``starttime`` after the command in /proc/PID/stat. Source: proc_pid_stat(5)."""


def end_init() -> None:
    """Note the end of the init phase, which the first delivery waits for unless the sandbox was prepared ahead."""
    # Source: AWS Lambda Developer Guide, "Using Lambda environment variables".
    if os.environ.get("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand") == "on-demand":
        _init_ms.append(_process_age_ms())


def arrival_of(context: Any, clock: Clock) -> Arrival:
    """Return the facts about the delivery with Lambda's `context`, which begins now."""
    return Arrival(
        began_ms=clock.now_ms(),
        request_id=context.aws_request_id,
        log_stream=getattr(context, "log_stream_name", None) or "",
        init_ms=_init_ms.pop() if _init_ms else None,
    )


def _process_age_ms() -> int:
    """Return the time since this process began; 0 on systems that do not tell."""
    with suppress(OSError, AttributeError, IndexError, ValueError):
        with open("/proc/self/stat", encoding="utf-8") as file:  # noqa: PTH123 - 6 ms of import
            started = int(file.read().rpartition(")")[2].split()[_START_TICKS])
        return round((time.clock_gettime(time.CLOCK_BOOTTIME) - started / os.sysconf("SC_CLK_TCK")) * 1000)
    return 0
