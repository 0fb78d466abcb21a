"""Redrive of a fan-out: copy branch outcomes into a replacement scope.

Each branch keeps every step that it committed before its failure. The copies are created if absent, before the commit
that opens the new scope. A redrive may therefore die in between, or run twice, without harm; see `copying`.
"""

from collections.abc import Mapping

from unum_runtime.cold_start.records import dataclass, replace
from unum_runtime.errors import ExecutionNotRedrivable
from unum_runtime.model.checkpoint import Checkpoint, Failure, Phase
from unum_runtime.model.ir import Json, Work, Workflow
from unum_runtime.model.naming import SHARD_SIZE, Frames, checkpoint_key
from unum_runtime.protocol.control.compatibility import check_steps, planned_anew
from unum_runtime.protocol.control.copying import copy_branches, parts_left
from unum_runtime.protocol.control.entry import planned
from unum_runtime.protocol.fanout.packing import commit_packed, place_of
from unum_runtime.protocol.history.timeline import branches_of_shard, tolerates_failures
from unum_runtime.protocol.planning.evaluation import of_execution
from unum_runtime.protocol.planning.plan import BranchFailed, Commit, CompleteBranch, Effect, OpenScope, branch, plan
from unum_runtime.protocol.runtime import Runtime


@dataclass(frozen=True)
class Kept:
    """Kept steps of a branch.

    Attributes:
        steps: its commits under new names, in order.
        inside: the scope that the last of them opened and its replacement; None without one.
        failed_inside: True if the branch failed because of that scope.
        is_over: True if no part of the branch runs again.
    """

    steps: tuple[Checkpoint, ...]
    inside: tuple[OpenScope, OpenScope] | None
    failed_inside: bool
    is_over: bool


def runs_again(rt: Runtime, old: Workflow, before: OpenScope, after: OpenScope) -> bool:
    """Return True if any part of scope `before`, opened under `old`, runs again when `after` replaces it.

    Raises:
        ExecutionNotRedrivable: a part of it would fail again, or cannot continue on this version.
    """
    # No short circuit: every branch may be a reason to refuse.
    again = [
        _runs_again(rt, old, kept)
        for shard in range(before.scope.shards)
        for kept in _kept_in(rt, old, before, after, shard)
    ]
    return any(again)


def carry(rt: Runtime, old: Workflow, before: OpenScope, after: OpenScope) -> None:
    """Copy the kept steps of the scope `before`, opened under `old`, to their names in `after`.

    Raises:
        TimeIsShort: some steps are left; call it again.
        StoreError: some steps may not have been copied; call it again.
    """
    for shard in parts_left(rt, after.scope):
        kept = _kept_in(rt, old, before, after, shard)
        is_copied = copy_branches(rt, after.scope, shard, [each.steps for each in kept], copy)
        for inside in (each.inside for each, is_done in zip(kept, is_copied, strict=True) if is_done):
            if inside is not None:
                carry(rt, old, *inside)


def pure_failure(workflow: Workflow, before: Effect, last: Checkpoint) -> bool:
    """Return True if a scope failed after `last` without user code, so that it would fail again.

    Args:
        workflow: the workflow.
        before: the effect that led to `last`.
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
    """Return `after` if it opens the same fan-out as `before`, with as many branches.

    Raises:
        ExecutionNotRedrivable: another number of branches, because it depends on chance or on the time; or another
            state, because the definition has changed.
    """
    state, size = before.scope.state, before.scope.size
    if not isinstance(after, OpenScope) or after.scope.state != state:
        raise ExecutionNotRedrivable(
            f"state {state!r}: its branches have results, and by the definition deployed now another state comes first"
        )
    if after.scope.size == size:
        return after
    raise ExecutionNotRedrivable(f"state {state!r}: had {size} branches, and would have others now: fork at it instead")


def _kept_in(rt: Runtime, old: Workflow, before: OpenScope, after: OpenScope, shard: int) -> list[Kept]:
    """Return what the branches of one shard keep."""
    sequences = branches_of_shard(rt.store, rt.workflow.name, before.scope, shard)
    return [
        _kept(rt, old, before, index, sequence, after) for index, sequence in enumerate(sequences, shard * SHARD_SIZE)
    ]


def _kept(
    rt: Runtime, old: Workflow, opened: OpenScope, index: int, sequence: list[Checkpoint], after: OpenScope
) -> Kept:
    failed_in, effect = "", planned(old, sequence[-1]) if sequence else None
    if isinstance(effect, BranchFailed) and _may_succeed(old, opened, index, sequence, effect.failure):
        # Without its failed step the branch continues from the step before, which repeats only that one.
        failed_in, sequence = sequence[-1].state, sequence[:-1]
        effect = planned(old, sequence[-1]) if sequence else None
    check_steps(old, rt.workflow, sequence)
    steps = _renamed_all(rt, sequence, after.scope.branch(index), of_execution(after.arrival.evaluation.variables))
    if not isinstance(effect, OpenScope):
        ahead = effect if old is rt.workflow or not steps else planned_anew(rt.workflow, steps[-1])
        return Kept(steps, None, failed_inside=False, is_over=isinstance(ahead, CompleteBranch | BranchFailed))
    again = same_size(effect, planned_anew(rt.workflow, steps[-1]))
    # Inner scopes have the new frames and generation, so their copies need the new scope in `opens`.
    steps = (*steps[:-1], replace(steps[-1], opens=again.scope))
    return Kept(steps, (effect, again), failed_inside=failed_in == again.scope.state, is_over=False)


def _may_succeed(old: Workflow, opened: OpenScope, index: int, sequence: list[Checkpoint], failure: Failure) -> bool:
    """Return True if branch `index`, ended by `failure`, may have another outcome when it runs again.

    Raises:
        ExecutionNotRedrivable: it would fail again, and its fan-out needs it.
    """
    led_to = planned(old, sequence[-2]) if len(sequence) > 1 else branch(opened, index)
    if not pure_failure(old, led_to, sequence[-1]):
        return True
    if tolerates_failures(opened.arrival.state):
        return False
    raise ExecutionNotRedrivable(
        f"branch {index} of {opened.scope.state!r} failed after {sequence[-1].state!r}, by no user code, with "
        f"{failure.error}: it would again, so fork at a state before {opened.scope.state!r}, or with another input"
    )


def _runs_again(rt: Runtime, old: Workflow, kept: Kept) -> bool:
    if kept.is_over:
        return False
    if kept.inside is not None and not runs_again(rt, old, *kept.inside) and kept.failed_inside:
        raise still_fails(kept.inside[0])
    return True


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
