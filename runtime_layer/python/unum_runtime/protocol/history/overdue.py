"""Overdue commits: steps of an execution that should have been committed long ago.

Evidence is the committed steps, stored jobs and the definition. Retries write nothing, and the queues of Lambda cannot
be read. An overdue commit may therefore still come, so that every recovery must be harmless then.
"""

from unum_runtime.asl.recovery import longest_wait_ms
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Task
from unum_runtime.protocol.history.pending import Missing, WaitsFor
from unum_runtime.protocol.planning.evaluation import deadline
from unum_runtime.protocol.runtime import Runtime


def is_overdue(rt: Runtime, missing: Missing, silent_ms: int) -> bool:
    """Return True if `missing` was expected at least `silent_ms` milliseconds ago.

    Args:
        rt: a runtime of the execution's version.
        missing: a pending commit.
        silent_ms: longer than a Task takes with all attempts, the intervals between them not counted.
    """
    expected_ms = _expected_ms(rt.workflow, missing)
    return expected_ms is not None and rt.clock.now_ms() - expected_ms >= silent_ms


def _expected_ms(workflow: Workflow, missing: Missing) -> int | None:
    """Return the due time of `missing`, in milliseconds since 1970; None without limit."""
    match missing.waits_for:
        case WaitsFor.TIME:
            return None
        case WaitsFor.DELIVERY:
            return missing.due_ms + _longest_wait_ms(workflow, missing.state)
        case WaitsFor.JOB:  # the last poll may have found a failure; a retry starts the job again after its interval
            return (missing.until_ms or missing.due_ms) + _longest_wait_ms(workflow, missing.state)
        case WaitsFor.ANSWER:  # a responder may take until the execution's deadline
            return deadline(workflow, missing.name.execution)


def _longest_wait_ms(workflow: Workflow, name: str) -> int:
    state = workflow.states[name]
    return longest_wait_ms(state.retry) if isinstance(state, Task) else 0
