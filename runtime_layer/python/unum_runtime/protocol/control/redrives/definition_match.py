"""Compatibility of what an execution has committed with the definition that is deployed now."""

from collections.abc import Iterable

from unum_runtime.errors import ExecutionNotRedrivable
from unum_runtime.model.checkpoint import Checkpoint, Phase
from unum_runtime.model.ir import Workflow
from unum_runtime.protocol.control.redrives.entry import planned
from unum_runtime.protocol.planning.plan import Effect


def check_steps(old: Workflow, new: Workflow, steps: Iterable[Checkpoint]) -> None:
    """Raise ExecutionNotRedrivable unless `new` can continue from `steps`, which were committed under `old`.

    Raises:
        ExecutionNotRedrivable: the text names the state.
    """
    if old is new:
        return
    for step in steps:
        fault = _fault(old, new, step) if step.state else None
        if fault is not None:
            raise ExecutionNotRedrivable(
                f"state {step.state!r}: execution {step.name.execution.name!r} has committed it, and in the definition "
                f"deployed now it {fault}"
            )


def planned_anew(new: Workflow, step: Checkpoint) -> Effect:
    """Return the effect of `step` by the definition `new`.

    Raises:
        ExecutionNotRedrivable: `step` leads to a state that is gone, or its outcome was collected.
    """
    goes_to = step.continuation.goes_to
    if goes_to is not None and goes_to not in new.states:
        raise ExecutionNotRedrivable(
            f"state {goes_to!r}: a catcher of {step.state!r} has led to it, and it does not exist in the definition "
            "deployed now"
        )
    return planned(new, step)


def _fault(old: Workflow, new: Workflow, step: Checkpoint) -> str | None:
    before, after = old.states[step.state], new.states.get(step.state)
    if after is None:
        return "does not exist"
    if type(before) is not type(after):
        return f"is a {type(after).__name__} instead of a {type(before).__name__}"
    if before.scope != after.scope:
        return f"is inside {after.scope!r} instead of {before.scope!r}"
    # Steps are numbered by commits. A state whose result is committed with the next one would share that one's number.
    if step.phase is Phase.LEFT and old.passes_name_on(step.state) != new.passes_name_on(step.state):
        return "commits its result with another state, or no longer does"
    # The numbers of steps of neighbouring branches must match, and both definitions may number them differently.
    if any(
        task.meets_previous or task.after_previous for task in (*old.tasks, *new.tasks) if task.scope == after.scope
    ):
        return "is in a scope whose branches join their neighbours"
    return None
