"""Time limits of a Task's try, across all its deliveries."""

from unum_runtime.cold_start.records import replace
from unum_runtime.model.checkpoint import Failure
from unum_runtime.model.states import Pattern, Task
from unum_runtime.protocol.runtime import CallbackPending, JobPending
from unum_runtime.protocol.waiting.callback import Limits


def user_code_limit_s(task: Task, limits: Limits) -> float | None:
    """Return user code's time limit in seconds; None without limit."""
    # Heartbeats are expected from the responder alone. User code in a Lambda function sends none, so for every other
    # pattern a heartbeat limit is a limit of the whole run.
    if task.pattern is Pattern.CALLBACK:
        return limits.timeout_s
    return min((limit for limit in limits if limit is not None), default=None)


def exceeded_limit(task: Task, limits: Limits, elapsed_ms: int) -> Failure | None:
    """Return States.Timeout or States.HeartbeatTimeout after an exceeded limit, else None."""
    for error, limit_s in zip(("States.Timeout", "States.HeartbeatTimeout"), limits, strict=True):
        if limit_s is not None and elapsed_ms > limit_s * 1000:
            return Failure(error, f"state {task.name!r}: took longer than {limit_s:g} s")
    return None


def check_before(deadline_ms: int, now_ms: int, found: JobPending | CallbackPending) -> JobPending | CallbackPending:
    """Return `found` with its next check no later than the execution's deadline."""
    left_ms = max(0, deadline_ms - now_ms)
    if isinstance(found, CallbackPending):
        return JobPending(None, left_ms)
    return replace(found, delay_ms=min(found.delay_ms, left_ms))
