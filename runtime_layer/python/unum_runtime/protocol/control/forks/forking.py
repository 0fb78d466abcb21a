"""Finish a fork: copy the original's steps, then commit the fork's first own step.

The start record of a fork is written first and names its origin, so whoever reads it can finish the fork: the request
again, a nudge, or the sweep. Until the first own step is committed, nothing plans from what the fork has: its copies
are incomplete, and the start record would lead to the workflow's first state.
"""

from collections.abc import Mapping

from unum_runtime.cold_start.records import replace
from unum_runtime.errors import (
    ExecutionAlreadyExists,
    ExecutionDoesNotExist,
    ExecutionNotRedrivable,
    InconsistentHistory,
    NodeNotForkable,
    RefusedDelivery,
)
from unum_runtime.model.checkpoint import Checkpoint, Continuation, ForkOrigin
from unum_runtime.model.naming import SHARD_SIZE, Execution, Name, Scope
from unum_runtime.protocol.control.redrives.entry import (
    Entry,
    commit_step,
    copy_branches,
    entered,
    entering,
    note_copies,
)
from unum_runtime.protocol.control.walk import Tally, Trip, leave_rest_if_short, walk
from unum_runtime.protocol.delivery.commit import draft
from unum_runtime.protocol.delivery.join import join_results
from unum_runtime.protocol.history.past import past_of
from unum_runtime.protocol.history.timeline import branches_of_shard, from_start, top_level
from unum_runtime.protocol.planning.evaluation import without_redrives
from unum_runtime.protocol.planning.plan import OpenScope, plan
from unum_runtime.protocol.runtime import Runtime


def unfinished(steps: list[Checkpoint]) -> ForkOrigin | None:
    """Return the origin of a fork without a first own step among `steps`, its start record and top level; else None."""
    origin = steps[0].fork
    if origin is None or any(step.name.step == origin.step and not step.is_stop for step in steps):
        return None
    return origin


def finish(rt: Runtime, record: Checkpoint, origin: ForkOrigin) -> None:
    """Make the missing copies of the fork with start record `record`, and commit its first own step.

    Args:
        rt: a runtime of the fork's version.
        record: the start record.
        origin: the fork's origin.

    Raises:
        ExecutionDoesNotExist: the original execution has expired.
        ExecutionAlreadyExists: the fork was stopped before it was finished.
        NodeNotForkable: the original's outcome was collected since the request.
        TimeIsShort: some copies are left; call it again.
        StoreError: some copies may be missing; call it again.
    """
    steps = from_start(rt.store, rt.workflow.name, origin.execution.name)
    if steps[0].name.execution != origin.execution:
        raise ExecutionDoesNotExist(
            f"execution {origin.execution}: has expired before its fork {record.name.execution.name!r} was finished; "
            "another execution has its name"
        )
    execution, kept = record.name.execution, kept_steps(steps, origin)
    _copy(rt, kept[1:], execution)
    # Last, because it may read all results of a fan-out, and a delivery that only copies needs none of them.
    first = first_step(rt, Name(execution, (), origin.step), kept[-1], origin)
    if commit_step(rt, replace(first, began=record.began)).is_stop:
        raise _stopped(rt, execution)


def kept_steps(steps: list[Checkpoint], origin: ForkOrigin) -> list[Checkpoint]:
    """Return the `steps` before the fork's first own one, the last without its scope if the node opened it."""
    *before, last = [step for step in steps if step.name.step < origin.step]
    is_opened = last.opens is not None and last.opens.state == origin.node  # the fork runs it again
    return [*before, replace(last, opens=None)] if is_opened else [*before, last]


def first_step(rt: Runtime, name: Name, before: Checkpoint, origin: ForkOrigin) -> Checkpoint:
    """Return the fork's first own commit `name`, which enters the node of `origin` after `before`.

    Raises:
        NodeNotForkable: the input is unknown or too large, no step is left, or the node's data flow fails.
    """
    try:
        return entering(rt, name, _entry(rt, before, origin), rt.clock.now_ms())[0]
    except ExecutionNotRedrivable as refused:
        raise NodeNotForkable(str(refused)) from refused


def _entry(rt: Runtime, before: Checkpoint, origin: ForkOrigin) -> Entry:
    """Return the entry of the node after `before`.

    Raises:
        NodeNotForkable: the input is unknown and not in the request.
    """
    found = _entry_before(rt, before, origin.node)
    if origin.value is not None:
        found = Entry(
            origin.node,
            origin.value,
            found.continuation if found else Continuation(variables=before.continuation.variables),
        )
    if found is None:
        raise NodeNotForkable(
            f"state {origin.node!r}: expected a known input, but it ran on another version, or its input was "
            "collected; give an input"
        )
    return replace(found, continuation=_not_redriven(found.continuation))


def _entry_before(rt: Runtime, before: Checkpoint, node: str) -> Entry | None:
    """Return the original entry of `node` after `before`; None if this version cannot plan it again.

    A fork may have copied `before` from an execution of another version.
    """
    is_own = not before.state or (before.digest == rt.workflow.digest and before.state in rt.workflow.states)
    if not is_own:
        return None
    try:
        effect = plan(rt.workflow, before)
        if isinstance(effect, OpenScope) and effect.scope.state != node:  # `node` is the Task that joins the scope
            effect = plan(rt.workflow, draft(rt, join_results(rt, effect.scope)))
    except (RefusedDelivery, InconsistentHistory):
        return None
    found = entered(effect)
    return found if found is not None and found.state == node else None


def _copy(rt: Runtime, steps: list[Checkpoint], execution: Execution) -> None:
    """Copy the commits inside `steps`, then the `steps` themselves, in order.

    Raises:
        ExecutionAlreadyExists: a stop record is in the place of a step.
    """
    copied = top_level(rt.store, rt.workflow.name, execution)
    if copied and copied[-1].is_stop:
        raise _stopped(rt, execution)
    present = {step.name.step for step in copied}
    for step in steps:
        # The copy of a step follows those inside its scope, so it proves that they are complete.
        if step.name.step in present:
            continue
        if step.opens is not None:
            note_copies(rt, replace(step.name, execution=execution), step.opens)
            _copy_scope(rt, step.opens, execution)
        if commit_step(rt, _copy_of(rt, step, execution)).is_stop:
            raise _stopped(rt, execution)
        leave_rest_if_short(rt)


def _copy_scope(rt: Runtime, scope: Scope, execution: Execution) -> None:
    """Copy the commits in `scope` and in the scopes inside it."""
    purpose = f"fork.{scope.iteration}.{scope.generation}.{rt.workflow.digest}"
    walk(rt, _Copying(rt, execution), scope, Trip(execution, purpose, is_once=True))


class _Copying:
    """A walk that copies the commits of each part of the original's scopes."""

    def __init__(self, rt: Runtime, execution: Execution) -> None:
        self._rt, self._execution = rt, execution

    def scope(self, node: Scope) -> Scope:
        """See `Tree.scope`."""
        return node

    def visit(self, node: Scope, shard: int, *, is_done: bool) -> tuple[Tally, Mapping[int, Scope]]:
        """See `Tree.visit`."""
        rt, target = self._rt, replace(node, execution=self._execution)
        branches = branches_of_shard(rt.store, rt.workflow.name, node, shard)
        if not is_done:
            copies = [[_copy_of(rt, step, self._execution) for step in steps] for steps in branches]
            copy_branches(rt, target, shard, copies, _commit)
        return Tally(), {_place(step): step.opens for steps in branches for step in steps if step.opens is not None}

    def leave(self, node: Scope, tally: Tally) -> None:
        """See `Tree.leave`."""


def _place(step: Checkpoint) -> int:
    """Return the place of the scope that `step` opened among those of its part: a branch may open several."""
    return step.name.frames[-1].index % SHARD_SIZE * 10**9 + step.name.step


def _commit(rt: Runtime, copy: Checkpoint) -> bool:
    return commit_step(rt, copy) == copy  # not in packs: no join will read these fan-outs again


def _copy_of(rt: Runtime, checkpoint: Checkpoint, execution: Execution) -> Checkpoint:
    """Return a copy of `checkpoint` for another execution."""
    return replace(
        checkpoint,
        name=replace(checkpoint.name, execution=execution),
        digest=rt.workflow.digest,
        continuation=_not_redriven(checkpoint.continuation),
        ending=None,  # the end before a redrive of the original must not look like the fork's end
        began=None,
        past=past_of(checkpoint, rt.workflow),
    )


def _not_redriven(continuation: Continuation) -> Continuation:
    """Return `continuation` without number and time of redrives."""
    return replace(continuation, variables=without_redrives(continuation.variables))


def _stopped(rt: Runtime, execution: Execution) -> ExecutionAlreadyExists:
    return ExecutionAlreadyExists(
        f"execution {execution.name!r} of workflow {rt.workflow.name!r} was stopped before its fork was finished: "
        "use another name"
    )
