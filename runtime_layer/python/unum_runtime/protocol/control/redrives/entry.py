"""Entry, the commit that enters a state of the top level once more, and copies of commits, for redrives and forks.

All copies of a part are stored before the next part begins, each create-if-absent. `walk` tells which part comes next,
and of that one a query tells what is missing.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from unum_runtime.cold_start.records import dataclass, replace
from unum_runtime.errors import ExecutionNotRedrivable, RefusedDelivery
from unum_runtime.json_text import to_text
from unum_runtime.model.checkpoint import Checkpoint, Continuation, Failure, Item, Phase, Success
from unum_runtime.model.deletion_notes import copies_key
from unum_runtime.model.envelope import Value
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import Name, Scope, checkpoint_key, shard_partition
from unum_runtime.protocol.delivery.commit import limit_outcome
from unum_runtime.protocol.history.timeline import of_shard
from unum_runtime.protocol.planning.plan import Commit, Effect, Finish, Invoke, OpenScope, plan
from unum_runtime.protocol.runtime import Runtime

NOT_LISTED: Item = {}

Copy: TypeAlias = Callable[[Runtime, Checkpoint], bool]
"""Commits a copy unless its name is taken; returns True if it is committed now."""


@dataclass(frozen=True)
class Entry:
    """Entry of a state.

    Attributes:
        state: name of the state.
        value: its input.
        continuation: its variables.
    """

    state: str
    value: Success
    continuation: Continuation


def entered(effect: Effect) -> Entry | None:
    """Return the state entry that `effect` leads to; None without a state or known input."""
    match effect:
        case Invoke(state=state, input=Value(given, _, variables)):
            return Entry(state, given, Continuation(variables=variables))
        case OpenScope(scope, arrival):
            return Entry(scope.state, Success(arrival.value), Continuation(variables=arrival.evaluation.variables))
        case Commit(state=state, phase=Phase.ENTERED, outcome=Success() as value, continuation=continuation):
            return Entry(state, value, continuation)
    return None


def entering(rt: Runtime, name: Name, entry: Entry, at_ms: int) -> tuple[Checkpoint, Effect]:
    """Return the commit that enters a state again under `name` at `at_ms`, and its effect.

    Raises:
        ExecutionNotRedrivable: the input is too large to be stored, no step is left, or nothing would run.
    """
    outcome = limit_outcome(rt, entry.value, entry.continuation, what="input")
    if isinstance(outcome, Failure):
        raise ExecutionNotRedrivable(f"state {entry.state!r}: {outcome.cause}")
    checkpoint = Checkpoint(
        name=name,
        state=entry.state,
        phase=Phase.ENTERED,
        outcome=outcome,
        digest=rt.workflow.digest,
        committed_ms=at_ms,
        continuation=entry.continuation,
    )
    following = planned(rt.workflow, checkpoint)
    if isinstance(following, Finish):  # no event would follow, so no delivery could end the execution
        ended = following.ending.outcome
        cause = ended.cause if isinstance(ended, Failure) else "with this input the execution would end at once"
        raise ExecutionNotRedrivable(f"state {entry.state!r}: {cause}")
    return replace(checkpoint, opens=following.scope if isinstance(following, OpenScope) else None), following


def planned(workflow: Workflow, checkpoint: Checkpoint) -> Effect:
    """Return the effect of `checkpoint`.

    Raises:
        ExecutionNotRedrivable: its outcome was collected.
    """
    try:
        return plan(workflow, checkpoint)
    except RefusedDelivery as refused:
        raise ExecutionNotRedrivable(
            f"{refused}; eager collection keeps no results to continue from: start another execution"
        ) from refused


def commit_step(rt: Runtime, checkpoint: Checkpoint, listed: Item = NOT_LISTED) -> Checkpoint:
    """Commit `checkpoint` unless its name is taken; return the winner. `listed` is its list-index entry."""
    key = checkpoint_key(rt.workflow.name, checkpoint.name)
    winner = rt.store.create(key, checkpoint.to_item() | listed, expires_at_s=rt.expires_at_s())
    return checkpoint if winner is None else Checkpoint.from_item(checkpoint.name, winner)


def note_copies(rt: Runtime, name: Name, scope: Scope) -> None:
    """Note that copies of `scope` are stored before the step `name`, which opens it; another request may have.

    Whoever makes copies may die before that step. Only by this note does a deletion find them then.

    Raises:
        StoreError: unknown whether it is noted; nothing is copied yet.
    """
    opens = to_text([scope.state, scope.iteration, scope.generation, scope.size])
    item: Item = {"ir": rt.workflow.digest, "opens": opens}  # as in the step itself
    rt.store.create(copies_key(rt.workflow.name, name), item, expires_at_s=rt.expires_at_s())


def copy_branches(
    rt: Runtime, target: Scope, shard: int, branches: Sequence[Sequence[Checkpoint]], copy: Copy
) -> list[bool]:
    """Copy missing steps of `branches` into `shard` of `target`.

    Args:
        rt: the runtime, which may make several copies at once.
        target: the scope of the copies.
        shard: the shard.
        branches: for each branch the commits under their new names, in order.
        copy: makes one copy.

    Returns:
        For each branch, True if all its copies are committed; False if it has another commit under one of the names.

    Raises:
        StoreError: some copies may be missing; call it again.
    """
    items = rt.store.query(shard_partition(rt.workflow.name, target, shard))
    present = {found.name: found for found in of_shard(target, items)}
    absent = [step for steps in branches for step in steps if step.name not in present]
    made = rt.concurrently(partial(copy, rt), absent)
    is_committed = dict(zip((step.name for step in absent), made, strict=True))
    return [all(is_committed.get(step.name, present.get(step.name) == step) for step in steps) for steps in branches]
