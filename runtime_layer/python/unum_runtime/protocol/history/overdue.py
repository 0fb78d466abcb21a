"""Whether something should have happened in an execution long ago.

It is told from what is committed, from what is stored of jobs, and from the definition; for nothing is written while a
Task is tried again, and what Lambda or a queue keeps cannot be looked at. So what is silent may still come; whatever is
done about it must not matter then.
"""

from unum_runtime.asl.recovery import longest_wait_ms
from unum_runtime.model.ir import Task, Workflow
from unum_runtime.protocol.history.pending import Missing, WaitsFor
from unum_runtime.protocol.planning.evaluation import deadline
from unum_runtime.protocol.runtime import Runtime


def is_silent(rt: Runtime, missing: Missing, silent_ms: int) -> bool:
    """Whether `missing` should have come `silent_ms` milliseconds ago.

    Args:
        rt: a runtime of the version that the execution runs on.
        missing: a commit that the execution waits for.
        silent_ms: longer than a Task takes with all of its tries, the intervals between them not counted.
    """
    expected_ms = _expected_ms(rt.workflow, missing)
    return expected_ms is not None and rt.clock.now_ms() - expected_ms >= silent_ms


def _expected_ms(workflow: Workflow, missing: Missing) -> int | None:
    """From when on `missing` is to be expected, in milliseconds since 1970; None if it may take any time."""
    match missing.waits_for:
        case WaitsFor.TIME:
            return None
        case WaitsFor.DELIVERY:
            return missing.due_ms + _longest_wait_ms(workflow, missing.state)
        case WaitsFor.JOB:  # which may have failed when it was looked at last, and be started again
            return (missing.until_ms or missing.due_ms) + _longest_wait_ms(workflow, missing.state)
        case WaitsFor.ANSWER:  # whoever has the token need not hurry before that
            return deadline(workflow, missing.name.execution)


def _longest_wait_ms(workflow: Workflow, name: str) -> int:
    state = workflow.states[name]
    return longest_wait_ms(state.retry) if isinstance(state, Task) else 0
