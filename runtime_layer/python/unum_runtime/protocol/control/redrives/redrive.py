"""Redrive: continue a failed execution from successful steps, keeping execution and name.

A step after the one that ended the execution enters the failed state again with its original input. The last step then
ends nothing, so the execution runs. Nothing is deleted. Late events of earlier steps find their names taken, or belong
to branches that no join reads any more.

Source: AWS Step Functions Developer Guide, "Restarting state machine executions with redrive".
"""

from unum_runtime.cold_start.records import replace
from unum_runtime.errors import ExecutionNotRedrivable
from unum_runtime.model.checkpoint import Began, Checkpoint, Status, Success
from unum_runtime.model.ir import Workflow
from unum_runtime.model.list_index import Kind
from unum_runtime.model.list_index import entry as list_entry
from unum_runtime.model.naming import Execution
from unum_runtime.protocol.control.forks.forking import unfinished
from unum_runtime.protocol.control.nudge import nudge_whole, own_steps
from unum_runtime.protocol.control.redrives.copying import note_copies
from unum_runtime.protocol.control.redrives.definition_match import check_steps, planned_anew
from unum_runtime.protocol.control.redrives.entry import Entry, commit_step, entered, entering, planned
from unum_runtime.protocol.control.redrives.redrive_fan_out import (
    carry,
    pure_failure,
    runs_again,
    same_size,
    still_fails,
)
from unum_runtime.protocol.control.versions import pin, pinned
from unum_runtime.protocol.history.timeline import redrives
from unum_runtime.protocol.planning.evaluation import REDRIVEN_AT, REDRIVES, deadline
from unum_runtime.protocol.planning.plan import Effect, Finish, Invoke, OpenScope
from unum_runtime.protocol.runtime import Runtime


def redrive(rt: Runtime, execution_name: str, began: Began | None = None, old: Workflow | None = None) -> int:
    """Continue a failed execution; nudge it if an earlier redrive is still running.

    The earlier redrive may have died between its commit and its event; only another redrive sends that event.

    Args:
        rt: a runtime with the addresses of all functions; of the execution's IR, unless `old` is given.
        execution_name: name of the execution.
        began: the versions to run on from here; None for those so far.
        old: the IR that the execution runs on so far; None for that of `rt`.

    Returns:
        Time of the redrive, in milliseconds since 1970.

    Raises:
        ExecutionDoesNotExist: no execution has that name.
        ExecutionNotRedrivable: the execution did not fail, its time is over, no part of it could run again, or the IR
            of `rt` cannot continue what was committed under `old`.
        NotOurEvent: the execution runs on another version.
        TimeIsShort: some branches are left to check, copy or send; redrive again.
        UnumError: a service did not answer; redrive again.
    """
    steps = own_steps(rt, execution_name, old)
    redriven = under_way(steps) or _begin_again(rt, old or rt.workflow, steps, began)
    nudge_whole(rt, execution_name)
    return redriven.committed_ms


def under_way(steps: list[Checkpoint]) -> Checkpoint | None:
    """Return the last redrive among top-level `steps`; None without one, or after a later end."""
    found = redrives(steps)
    return found[-1][1] if found and steps[-1].ending is None else None


def _begin_again(rt: Runtime, old: Workflow, steps: list[Checkpoint], began: Began | None) -> Checkpoint:
    *_, before, last = _redrivable(rt, steps)
    was = planned(old, before)
    is_pure = bool(last.state) and pure_failure(old, was, last)
    base = last if isinstance(last.outcome, Success) else before
    now_ms = rt.clock.now_ms()
    # What ended in a failure goes on from now: a Wait that follows it has not begun.
    kept = base if base is before else replace(base, committed_ms=now_ms)
    entry = _entry(rt, old, kept, was, is_pure=is_pure)
    if entry is None:
        raise ExecutionNotRedrivable(
            f"execution {last.name.execution.name!r} ended after {last.state!r} by no user code: it would again, so "
            "fork at a state before, or with another input"
        )
    # Two redrives at once compete for this name, and the loser continues from the winner's commit.
    name = replace(last.name, step=last.name.step + 1)
    checkpoint, following = entering(rt, name, _counted(rt, entry, steps, now_ms), now_ms)
    if isinstance(was, OpenScope) and base is before:
        again = same_size(was, following)
        # A redrive that has begun to copy was checked before. Reading a wide scope again would take long.
        if pinned(rt.store, rt.workflow.name, name) is None and not runs_again(rt, old, was, again):
            _refuse_if_failed(was, last)
        # Copies of an earlier, unfinished request have its time: all of the redrive must show the same.
        at_ms = pin(rt, name, began)
        entry = _counted(rt, entry, steps, at_ms)
        # The checks above took time: a step from before them would be older than the redrive that it tells of.
        checkpoint, following = entering(rt, name, entry, max(now_ms, at_ms))
        again = same_size(was, following)
        note_copies(rt, name, again.scope)
        # Copies come first: once the commit below exists, deliveries read the new scope.
        carry(rt, old, was, again)
    listed = list_entry(rt.workflow.name, checkpoint.name.execution, Kind.REDRIVEN)
    return commit_step(rt, replace(checkpoint, began=began), listed)


def _entry(rt: Runtime, old: Workflow, base: Checkpoint, was: Effect, *, is_pure: bool) -> Entry | None:
    """Return the entry of the state to continue with, after the last commit `base` that is kept; None without one.

    By the same definition that is the state that failed. By another one it is what follows `base` there, which may be
    new, and may mend a failure without user code.
    """
    if old is rt.workflow:
        return None if is_pure else _waiting(was)
    check_steps(old, rt.workflow, [base])
    effect = planned_anew(rt.workflow, base)
    if isinstance(effect, Finish) and isinstance(effect.ending.outcome, Success):
        raise ExecutionNotRedrivable(
            f"state {base.state!r}: by the definition deployed now, no state runs after it; redrive on the original one"
        )
    return _waiting(effect)


def _refuse_if_failed(opened: OpenScope, last: Checkpoint) -> None:
    """Raise ExecutionNotRedrivable if the scope itself failed in `last`; a failed join may run again."""
    if last.state == opened.scope.state:
        raise still_fails(opened)


def _waiting(effect: Effect) -> Entry | None:
    """Return the entry that `effect` leads to, with the end of a Wait; retry intervals are over."""
    entry = entered(effect)
    # A Wait keeps the end that it has by `effect`; waiting its whole duration again would be a second Wait.
    if entry is None or not isinstance(effect, Invoke) or effect.retries:
        return entry
    return replace(entry, continuation=replace(entry.continuation, until_ms=effect.due_ms))


def _counted(rt: Runtime, entry: Entry, steps: list[Checkpoint], at_ms: int) -> Entry:
    """Return `entry` with redrive count and time, if the workflow reads them: one redrive per end among `steps`."""
    if not rt.workflow.counts_redrives:
        return entry
    count = sum(step.ending is not None for step in steps)
    variables = {**entry.continuation.variables, REDRIVES: count, REDRIVEN_AT: at_ms}
    return replace(entry, continuation=replace(entry.continuation, variables=variables))


def _redrivable(rt: Runtime, steps: list[Checkpoint]) -> list[Checkpoint]:
    """Return `steps`.

    Raises:
        ExecutionNotRedrivable: the execution runs, has succeeded, or its time is over.
    """
    ending, execution = steps[-1].ending, steps[-1].name.execution
    origin = unfinished(steps)
    if origin is not None:
        raise ExecutionNotRedrivable(
            f"execution {execution.name!r}: is a fork of {origin.execution.name!r} that was not finished; fork again, "
            "under another name if it was stopped"
        )
    if ending is None or ending.status is Status.SUCCEEDED:
        status = Status.RUNNING if ending is None else ending.status
        raise ExecutionNotRedrivable(
            f"execution {execution.name!r}: expected one that failed, was stopped or ran out of time; it is {status}"
        )
    if _is_too_late(rt, execution):
        raise ExecutionNotRedrivable(
            f"execution {execution.name!r}: the time is over that it may take, by its TimeoutSeconds or the "
            "retention of the workflow; start another, or fork"
        )
    return steps


def _is_too_late(rt: Runtime, execution: Execution) -> bool:
    now_ms, deadline_ms = rt.clock.now_ms(), deadline(rt.workflow, execution)
    return now_ms // 1000 >= rt.last_s(execution) or (deadline_ms is not None and now_ms >= deadline_ms)
