"""Redrive: continue a failed execution from successful steps, keeping execution and name.

A step after the one that ended the execution enters the failed state again with its original input. The last step then
ends nothing, so the execution runs. Nothing is deleted. Late events of earlier steps find their names taken, or belong
to branches that no join reads any more.

Source: AWS Step Functions Developer Guide, "Restarting state machine executions with redrive".
"""

from collections.abc import Iterable, Mapping

from unum_runtime.cold_start.records import dataclass, replace
from unum_runtime.errors import ExecutionNotRedrivable
from unum_runtime.model.checkpoint import Began, Checkpoint, Failure, Phase, Status, Success
from unum_runtime.model.ir import Workflow
from unum_runtime.model.list_index import Kind
from unum_runtime.model.list_index import entry as list_entry
from unum_runtime.model.naming import SHARD_SIZE, Execution, Frames, Scope, checkpoint_key
from unum_runtime.model.states import Json, Work
from unum_runtime.protocol.control.forks.forking import unfinished
from unum_runtime.protocol.control.nudge import nudge_whole, own_steps
from unum_runtime.protocol.control.redrives.entry import (
    Entry,
    commit_step,
    copy_branches,
    entered,
    entering,
    note_copies,
    planned,
)
from unum_runtime.protocol.control.versions import pin, pinned
from unum_runtime.protocol.control.walk import Tally, Trip, walk
from unum_runtime.protocol.fanout.packing import commit_packed, place_of
from unum_runtime.protocol.history.timeline import begin_effect, branches_of_shard, redrives, tolerates_failures
from unum_runtime.protocol.planning.evaluation import REDRIVEN_AT, REDRIVES, deadline, of_execution
from unum_runtime.protocol.planning.plan import (
    BranchFailed,
    Commit,
    CompleteBranch,
    Effect,
    Finish,
    Invoke,
    OpenScope,
    plan,
)
from unum_runtime.protocol.runtime import Runtime

# Compatibility of what an execution has committed with the definition that is deployed now.


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


# Redrive of a fan-out: copy branch outcomes into a replacement scope.
#
# Each branch keeps every step that it committed before its failure. The copies are created if absent, before the commit
# that opens the new scope. A redrive may therefore die in between, or run twice, without harm; see `walk`.


@dataclass(frozen=True)
class Kept:
    """Kept steps of a branch.

    Attributes:
        steps: its commits under new names, in order.
        inside: the scope that the last of them opened and its replacement; None without one.
        is_over: True if no part of the branch runs again.
    """

    steps: tuple[Checkpoint, ...]
    inside: "_Pair | None"
    is_over: bool


def runs_again(rt: Runtime, old: Workflow, before: OpenScope, after: OpenScope) -> bool:
    """Return True if any part of scope `before`, opened under `old`, runs again when `after` replaces it.

    Raises:
        ExecutionNotRedrivable: a part of it would fail again, or cannot continue on this version.
        TimeIsShort: some branches are left; call it again.
    """
    return walk(rt, _Checking(rt, old), _Pair(before, after), _trip(rt, "check", after)).branches > 0


def carry(rt: Runtime, old: Workflow, before: OpenScope, after: OpenScope) -> None:
    """Copy the kept steps of the scope `before`, opened under `old`, to their names in `after`.

    Raises:
        TimeIsShort: some steps are left; call it again.
        StoreError: some steps may not have been copied; call it again.
    """
    walk(rt, _Carrying(rt, old), _Pair(before, after), _trip(rt, "copy", after))


def _trip(rt: Runtime, purpose: str, after: OpenScope) -> Trip:
    scope = after.scope
    # What one version has checked or copied says nothing about another.
    return Trip(scope.execution, f"{purpose}.{scope.iteration}.{scope.generation}.{rt.workflow.digest}", is_once=True)


@dataclass(frozen=True)
class _Pair:
    """A scope and its replacement.

    Attributes:
        before: the scope.
        after: its replacement.
        has_failed: True if the branch around failed because of the scope.
    """

    before: OpenScope
    after: OpenScope
    has_failed: bool = False


class _Keeping:
    """A walk through scopes and their replacements."""

    def __init__(self, rt: Runtime, old: Workflow) -> None:
        self._rt, self._old = rt, old

    def scope(self, node: _Pair) -> Scope:
        """See `Tree.scope`."""
        return node.after.scope

    def leave(self, node: _Pair, tally: Tally) -> None:
        """See `Tree.leave`."""

    def _kept(self, node: _Pair, shard: int) -> dict[int, Kept]:
        """Return what each branch of one shard keeps."""
        rt, first = self._rt, shard * SHARD_SIZE
        sequences = branches_of_shard(rt.store, rt.workflow.name, node.before.scope, shard)
        return {
            index: _kept(rt, self._old, node.before, index, sequences, node.after)
            for index in range(first, first + len(sequences))
        }


class _Checking(_Keeping):
    """Walk that counts branches to run again; it raises ExecutionNotRedrivable for a scope without any."""

    def visit(self, node: _Pair, shard: int, *, is_done: bool) -> tuple[Tally, Mapping[int, _Pair]]:  # noqa: ARG002
        """See `Tree.visit`."""
        kept = self._kept(node, shard)
        return Tally(sum(not each.is_over for each in kept.values())), _inside(kept)

    def leave(self, node: _Pair, tally: Tally) -> None:
        """Raise ExecutionNotRedrivable if the scope failed and none of its branches runs again."""
        if node.has_failed and not tally.branches:
            raise still_fails(node.before)


class _Carrying(_Keeping):
    """A walk that copies what branches keep."""

    def visit(self, node: _Pair, shard: int, *, is_done: bool) -> tuple[Tally, Mapping[int, _Pair]]:  # noqa: ARG002
        """See `Tree.visit`."""
        kept = self._kept(node, shard)
        is_copied = copy_branches(self._rt, node.after.scope, shard, [each.steps for each in kept.values()], copy)
        return Tally(), _inside({index: kept[index] for index, is_own in zip(kept, is_copied, strict=True) if is_own})


def _inside(kept: Mapping[int, Kept]) -> dict[int, _Pair]:
    """Return the scopes inside branches, with their replacements."""
    return {index: each.inside for index, each in kept.items() if each.inside is not None}


def pure_failure(workflow: Workflow, before: Effect | None, last: Checkpoint) -> bool:
    """Return True if a scope failed after `last` without user code, so that it would fail again.

    Args:
        workflow: the workflow.
        before: the effect that led to `last`; None if it is unknown, and then no commit of an output.
        last: the last commit of the scope.
    """
    is_own = isinstance(last.outcome, Failure) and isinstance(workflow.states.get(last.state), Work)
    return not is_own or (isinstance(before, Commit) and before.phase is Phase.LEFT)


def still_fails(opened: OpenScope) -> ExecutionNotRedrivable:
    """Return the error for a failed fan-out without repeatable branches."""
    return ExecutionNotRedrivable(
        f"state {opened.scope.state!r} failed although none of its branches would run again: it would fail again, so "
        "fork at a state before it instead"
    )


def same_size(before: OpenScope, after: Effect) -> OpenScope:
    """Return `after` if it opens the same fan-out with equally many branches.

    Raises:
        ExecutionNotRedrivable: another number of branches, because it depends on chance or on the time; or another
            state, because the definition has changed.
    """
    state, size = before.scope.state, before.scope.size
    if not isinstance(after, OpenScope) or after.scope.state != state:
        raise ExecutionNotRedrivable(
            f"state {state!r}: its branches have results, and by the definition deployed now another state comes first"
        )
    if after.arrival.state.needs != before.arrival.state.needs:
        raise ExecutionNotRedrivable(f"state {state!r}: has other nodes or edges now than it had: fork at it instead")
    if after.scope.size == size:
        return after
    raise ExecutionNotRedrivable(f"state {state!r}: had {size} branches, and would have others now: fork at it instead")


def _kept(
    rt: Runtime, old: Workflow, opened: OpenScope, index: int, shard: list[list[Checkpoint]], after: OpenScope
) -> Kept:
    sequence = shard[index % SHARD_SIZE]
    failed_in, effect = "", planned(old, sequence[-1]) if sequence else None
    if isinstance(effect, BranchFailed) and _may_succeed(old, opened, index, shard, effect.failure):
        # Without its failed step the branch continues from the step before, which repeats only that one.
        failed_in, sequence = sequence[-1].state, sequence[:-1]
        effect = planned(old, sequence[-1]) if sequence else None
    check_steps(old, rt.workflow, sequence)
    steps = _renamed_all(rt, sequence, after.scope.branch(index), of_execution(after.arrival.evaluation.variables))
    if not isinstance(effect, OpenScope):
        ahead = planned_anew(rt.workflow, steps[-1]) if steps else effect
        return Kept(steps, None, is_over=isinstance(ahead, CompleteBranch | BranchFailed))
    again = same_size(effect, planned_anew(rt.workflow, steps[-1]))
    # Inner scopes have the new frames and generation, so their copies need the new scope in `opens`.
    steps = (*steps[:-1], replace(steps[-1], opens=again.scope))
    return Kept(steps, _Pair(effect, again, has_failed=failed_in == again.scope.state), is_over=False)


def _may_succeed(old: Workflow, opened: OpenScope, index: int, shard: list[list[Checkpoint]], failure: Failure) -> bool:
    """Return True if branch `index`, ended by `failure`, may have another outcome when it runs again.

    Raises:
        ExecutionNotRedrivable: it would fail again, and its fan-out needs it.
    """
    sequence = shard[index % SHARD_SIZE]
    # In a branch, only its begin may commit a failure without an invocation, and ends it. A region has one shard.
    begins = begin_effect(opened, index, lambda source: shard[source][-1])
    if not pure_failure(old, begins, sequence[-1]):
        return True
    if tolerates_failures(opened.arrival.state):
        return False
    raise ExecutionNotRedrivable(
        f"branch {index} of {opened.scope.state!r} failed after {sequence[-1].state!r}, by no user code, with "
        f"{failure.error}: it would again, so fork at a state before {opened.scope.state!r}, or with another input"
    )


def _renamed_all(
    rt: Runtime, sequence: list[Checkpoint], frames: Frames, count: Mapping[str, Json]
) -> tuple[Checkpoint, ...]:
    return tuple(replace(_renamed(each, frames, count), digest=rt.workflow.digest) for each in sequence)


def _renamed(checkpoint: Checkpoint, frames: Frames, count: Mapping[str, Json]) -> Checkpoint:
    """Return `checkpoint` in the branch with `frames`, with the current `count` of redrives.

    Retries of scopes inside start from 0 again.
    """
    continuation = (
        replace(checkpoint.continuation, retries=()) if checkpoint.phase is Phase.ENTERED else checkpoint.continuation
    )
    continuation = replace(continuation, variables={**continuation.variables, **count}) if count else continuation
    return replace(checkpoint, name=replace(checkpoint.name, frames=frames), continuation=continuation, opens=None)


def copy(rt: Runtime, checkpoint: Checkpoint) -> bool:
    """Commit `checkpoint` unless its name is taken; return True if it is committed now."""
    place = place_of(rt.workflow, checkpoint.state, checkpoint.name)
    if place is None:
        key = checkpoint_key(rt.workflow.name, checkpoint.name)
        winner = rt.store.create(key, checkpoint.to_item(), expires_at_s=rt.expires_at_s())
    else:
        winner, _ = commit_packed(rt, place, checkpoint, plan(rt.workflow, checkpoint))
    return winner is None or Checkpoint.from_item(checkpoint.name, winner) == checkpoint


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
