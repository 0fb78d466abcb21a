"""What stays of a fan-out that begins anew because its execution is redriven: the outcomes of before, under new names.

Of each branch all is kept that it committed before it failed. The copies are made by create-if-absent, before anything
says that the fan-out begins anew: so whoever dies in between, or does it twice, does no harm.
"""

from collections.abc import Iterator, Mapping

from unum_runtime.cold_start.records import dataclass, replace
from unum_runtime.errors import ExecutionNotRedrivable, RefusedDelivery
from unum_runtime.model.checkpoint import Checkpoint, Failure, Phase
from unum_runtime.model.ir import Json, Work, Workflow
from unum_runtime.model.naming import Frames, checkpoint_key
from unum_runtime.protocol.fanout.packing import commit_packed, place_of
from unum_runtime.protocol.history.timeline import branches, tolerates_failures
from unum_runtime.protocol.planning.evaluation import redriven
from unum_runtime.protocol.planning.plan import BranchFailed, Commit, CompleteBranch, Effect, OpenScope, branch, plan
from unum_runtime.protocol.runtime import Runtime


@dataclass(frozen=True)
class Kept:
    """What stays of a branch.

    Attributes:
        steps: its commits, in their order, under new names.
        inside: a fan-out that the last of them opened, and the one that takes its place; None where it opened none.
        failed_inside: whether the branch failed because that fan-out did.
        is_over: whether nothing of it runs again.
    """

    steps: tuple[Checkpoint, ...]
    inside: tuple[OpenScope, OpenScope] | None
    failed_inside: bool
    is_over: bool


def runs_again(rt: Runtime, before: OpenScope, after: OpenScope) -> bool:
    """Whether anything in the fan-out `before` is to run again when it begins anew as `after`.

    Raises:
        ExecutionNotRedrivable: something in it would fail again.
    """
    again = [_runs_again(rt, kept) for kept in _all_kept(rt, before, after)]  # all, as each may be a reason to refuse
    return any(again)


def carry(rt: Runtime, before: OpenScope, after: OpenScope) -> None:
    """Copy what stays of the fan-out `before` to the names that it has in `after`.

    Raises:
        StoreError: some may not have been copied; do it again.
    """
    for kept in _all_kept(rt, before, after):
        if all(copy(rt, checkpoint) for checkpoint in kept.steps) and kept.inside is not None:
            carry(rt, *kept.inside)


def pure_failure(workflow: Workflow, before: Effect, last: Checkpoint) -> bool:
    """Whether `last`, a commit after which its scope fails, fails it by what no user code did.

    Args:
        workflow: the workflow.
        before: what led to it.
        last: the commit.
    """
    is_own = isinstance(last.outcome, Failure) and isinstance(workflow.states.get(last.state), Work)
    return not is_own or (isinstance(before, Commit) and before.phase is Phase.LEFT)


def planned(rt: Runtime, checkpoint: Checkpoint) -> Effect:
    """What follows `checkpoint`.

    Raises:
        ExecutionNotRedrivable: it was collected.
    """
    try:
        return plan(rt.workflow, checkpoint)
    except RefusedDelivery as refused:
        raise ExecutionNotRedrivable(
            f"{refused}; under eager collection nothing is kept to go on from: start another execution"
        ) from refused


def still_fails(opened: OpenScope) -> ExecutionNotRedrivable:
    """Why a fan-out is not redriven of which nothing could run again."""
    return ExecutionNotRedrivable(
        f"state {opened.scope.state!r} failed although none of its branches would run again: it would fail again, so "
        "fork at a state before it instead"
    )


def same_size(before: OpenScope, after: Effect) -> OpenScope:
    """`after`, if it opens as many branches as `before` did.

    Raises:
        ExecutionNotRedrivable: it does not, because that depends on chance or on the time.
    """
    if isinstance(after, OpenScope) and after.scope.size == before.scope.size:
        return after
    state, size = before.scope.state, before.scope.size
    raise ExecutionNotRedrivable(f"state {state!r}: had {size} branches, and would have others now: fork at it instead")


def _all_kept(rt: Runtime, before: OpenScope, after: OpenScope) -> Iterator[Kept]:
    courses = branches(rt.store, rt.workflow.name, before.scope)
    for index, course in enumerate(courses):
        yield _kept(rt, before, index, course, after)


def _kept(rt: Runtime, opened: OpenScope, index: int, course: list[Checkpoint], after: OpenScope) -> Kept:
    failed_in, effect = "", planned(rt, course[-1]) if course else None
    if isinstance(effect, BranchFailed) and _may_succeed(rt, opened, index, course, effect.failure):
        failed_in, course = course[-1].state, course[:-1]
        effect = planned(rt, course[-1]) if course else None
    frames, count = after.scope.branch(index), redriven(after.arrival.evaluation.variables)
    steps = tuple(_renamed(checkpoint, frames, count) for checkpoint in course)
    is_over = isinstance(effect, CompleteBranch | BranchFailed)
    if not isinstance(effect, OpenScope):
        return Kept(steps, None, failed_inside=False, is_over=is_over)
    again = same_size(effect, planned(rt, steps[-1]))
    steps = (*steps[:-1], replace(steps[-1], opens=again.scope))
    return Kept(steps, (effect, again), failed_inside=failed_in == again.scope.state, is_over=is_over)


def _may_succeed(rt: Runtime, opened: OpenScope, index: int, course: list[Checkpoint], failure: Failure) -> bool:
    """Whether branch `index`, which `failure` ended, may come to something else when it runs again.

    Raises:
        ExecutionNotRedrivable: it cannot, and its fan-out needs it.
    """
    led_to = planned(rt, course[-2]) if len(course) > 1 else branch(opened, index)
    if not pure_failure(rt.workflow, led_to, course[-1]):
        return True
    if tolerates_failures(opened.arrival.state):
        return False
    raise ExecutionNotRedrivable(
        f"branch {index} of {opened.scope.state!r} failed after {course[-1].state!r}, by no user code, with "
        f"{failure.error}: it would again, so fork at a state before {opened.scope.state!r}, or with another input"
    )


def _runs_again(rt: Runtime, kept: Kept) -> bool:
    if kept.is_over:
        return False
    if kept.inside is not None and not runs_again(rt, *kept.inside) and kept.failed_inside:
        raise still_fails(kept.inside[0])
    return True


def _renamed(checkpoint: Checkpoint, frames: Frames, count: Mapping[str, Json]) -> Checkpoint:
    """`checkpoint` of a branch in the branch that takes its place; fan-outs inside are retried from the beginning.

    What tells how often the execution was redriven, `count`, is that of now.
    """
    continuation = (
        replace(checkpoint.continuation, retries=()) if checkpoint.phase is Phase.ENTERED else checkpoint.continuation
    )
    continuation = replace(continuation, variables={**continuation.variables, **count}) if count else continuation
    return replace(checkpoint, name=replace(checkpoint.name, frames=frames), continuation=continuation, opens=None)


def copy(rt: Runtime, checkpoint: Checkpoint) -> bool:
    """Commit `checkpoint`, if nothing is; whether `checkpoint` is what is committed under its name now."""
    place = place_of(rt.workflow, checkpoint.state, checkpoint.name)
    if place is None:
        key = checkpoint_key(rt.workflow.name, checkpoint.name)
        winner = rt.store.create(key, checkpoint.to_item(), expires_at_s=rt.expires_at_s())
    else:
        winner, _ = commit_packed(rt, place, checkpoint, plan(rt.workflow, checkpoint))
    return winner is None or Checkpoint.from_item(checkpoint.name, winner) == checkpoint
