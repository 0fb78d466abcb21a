"""Redrive of a fan-out: copy branch outcomes into a replacement scope.

Each branch keeps every step that it committed before its failure. The copies are created if absent, before the commit
that opens the new scope. A redrive may therefore die in between, or run twice, without harm; see `walk`.
"""

from collections.abc import Mapping

from unum_runtime.cold_start.records import dataclass, replace
from unum_runtime.errors import ExecutionNotRedrivable
from unum_runtime.model.checkpoint import Checkpoint, Failure, Phase
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import SHARD_SIZE, Frames, Scope, checkpoint_key
from unum_runtime.model.states import Json, Work
from unum_runtime.protocol.control.redrives.copying import copy_branches
from unum_runtime.protocol.control.redrives.definition_match import check_steps, planned_anew
from unum_runtime.protocol.control.redrives.entry import planned
from unum_runtime.protocol.control.walk import Tally, Trip, walk
from unum_runtime.protocol.fanout.packing import commit_packed, place_of
from unum_runtime.protocol.history.timeline import begin_effect, branches_of_shard, tolerates_failures
from unum_runtime.protocol.planning.evaluation import of_execution
from unum_runtime.protocol.planning.plan import BranchFailed, Commit, CompleteBranch, Effect, OpenScope, plan
from unum_runtime.protocol.runtime import Runtime


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
