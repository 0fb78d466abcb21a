"""Time limits of a Task's try, across all its deliveries."""

from collections.abc import Mapping
from typing import TypeAlias

from unum_runtime.cold_start.records import replace
from unum_runtime.model.checkpoint import Failure
from unum_runtime.model.ir import Pattern, Task
from unum_runtime.protocol.runtime import CallbackPending, JobPending
from unum_runtime.protocol.waiting.callback import Limits

TimeLimits: TypeAlias = Mapping[str, float | None]
"""Limits in seconds, by the error that exceeding each causes; None for a field that evaluates to nothing."""


def user_code_limit_s(task: Task, limits: TimeLimits) -> float | None:
    """Return user code's time limit in seconds; None without limit."""
    # Heartbeats are expected from the responder alone. User code in a Lambda function sends none, so for every other
    # pattern a heartbeat limit is a limit of the whole run.
    if task.pattern is Pattern.CALLBACK:
        return limits.get("States.Timeout")
    return min((limit for limit in limits.values() if limit is not None), default=None)


def exceeded_limit(task: Task, limits: TimeLimits, elapsed_ms: int) -> Failure | None:
    """Return States.Timeout or States.HeartbeatTimeout after an exceeded limit, else None."""
    for error, limit_s in limits.items():
        if limit_s is not None and elapsed_ms > limit_s * 1000:
            return Failure(error, f"state {task.name!r}: took longer than {limit_s:g} s")
    return None


def responder_limits(limits: TimeLimits) -> Limits:
    """Return time limits for the task token's responder."""
    return Limits(limits.get("States.Timeout"), limits.get("States.HeartbeatTimeout"))


def check_before(deadline_ms: int, now_ms: int, found: JobPending | CallbackPending) -> JobPending | CallbackPending:
    """Return `found` with its next check no later than the execution's deadline."""
    left_ms = max(0, deadline_ms - now_ms)
    if isinstance(found, CallbackPending):
        return JobPending(None, left_ms)
    return replace(found, delay_ms=min(found.delay_ms, left_ms))
