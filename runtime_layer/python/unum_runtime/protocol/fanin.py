"""Fan-in: who completes a scope, and what the scope's results are.

Every scope has a set of completed branch indexes, cut into shards so that each stays one small item, and above several
shards a set of full shards. The sets are upserted and only grow, so adding twice changes nothing; every delivery that
sees a set full goes on, because the one before it may have died between adding and going on.
"""

from collections.abc import Iterator

from unum_runtime.errors import InconsistentHistory, StoreError
from unum_runtime.model.checkpoint import Checkpoint, Phase
from unum_runtime.model.envelope import Results
from unum_runtime.model.ir import Json
from unum_runtime.model.naming import (
    SHARD_SIZE,
    Key,
    Name,
    Scope,
    checkpoint_key,
    completion_key,
    root_key,
    shard_partition,
)
from unum_runtime.protocol.advance import Moment, join, needs_value
from unum_runtime.protocol.checkpoint import verified
from unum_runtime.protocol.plan import Commit, Complete, Invoke, Open, branch, plan, started_after
from unum_runtime.protocol.runtime import Runtime


def complete(rt: Runtime, scope: Scope, index: int) -> list[Invoke | Commit]:
    """Add branch `index` to the completed ones.

    Returns:
        What this branch has to start: the branch that waits for it under MaxConcurrency, or the join.
    """
    waiting = started_after(rt.workflow, scope, index)[:1]
    started = [branch(rt.workflow, origin(rt, scope), following) for following in waiting]
    return [*started, go_on(rt, scope)] if _fills(rt, scope, index) else started


def go_on(rt: Runtime, scope: Scope) -> Invoke | Commit:
    """What follows a scope that is complete: its results are joined by the Task that needs them, or else here."""
    follower = rt.workflow.fan_out(scope.state).join
    if follower is None:
        return joined(rt, scope)
    return Invoke(_after(scope), follower, Results(scope))


def joined(rt: Runtime, scope: Scope) -> Commit:
    """The outcome of a complete scope's fan-out state.

    Raises:
        InconsistentHistory: not exactly one result for every branch.
        RefusedDelivery: the results were collected, because what was made of them is committed.
    """
    fan_out = rt.workflow.fan_out(scope.state)
    ends = [_end(rt, scope, index, last) for index, last in enumerate(_branches(rt, scope))]
    value = origin(rt, scope).value if needs_value(rt.workflow, fan_out) else None
    entered_ms = max(checkpoint.committed_ms for checkpoint, _ in ends)
    outcome = join(rt.workflow, fan_out, value, [result for _, result in ends], _moment(rt, scope, entered_ms))
    return Commit(scope.join, scope.state, Phase.LEFT, outcome, joins=scope, as_of_ms=entered_ms)


def origin(rt: Runtime, scope: Scope) -> Open:
    """The fan-out as its originator committed it.

    Raises:
        StoreError: the originator's checkpoint is not there.
        InconsistentHistory: it says something else than the frames.
    """
    key = checkpoint_key(rt.workflow.name, scope.origin)
    item = rt.store.read([key]).get(key)
    if item is None:
        raise StoreError(f"{scope.origin}: the checkpoint that opened {scope.state!r} is missing; has it expired?")
    opened = plan(rt.workflow, Checkpoint.from_item(scope.origin, item))
    if not isinstance(opened, Open) or opened.scope != scope:
        raise InconsistentHistory(f"{scope.origin}: expected that it opens {scope}, found {opened}")
    return opened


def _fills(rt: Runtime, scope: Scope, index: int) -> bool:
    """Whether all branches of the scope have completed, as seen right after adding `index`."""
    shard = scope.branch(index)[-1].shard
    expires_at_s = rt.expires_at_s()
    key = completion_key(rt.workflow.name, scope, shard)
    if len(rt.store.add(key, index, expires_at_s=expires_at_s)) < scope.shard_size(shard):
        return False
    if scope.shards == 1:
        return True
    return len(rt.store.add(root_key(rt.workflow.name, scope), shard, expires_at_s=expires_at_s)) == scope.shards


def _branches(rt: Runtime, scope: Scope) -> Iterator[Checkpoint | None]:
    """The last checkpoint of each branch, in their order; None where there is none."""
    for shard in range(scope.shards):
        items = rt.store.query(shard_partition(rt.workflow.name, scope, shard))
        last = {index: (step, item) for (index, step), item in ((_position(key), item) for key, item in items.items())}
        first = shard * SHARD_SIZE
        for index in range(first, first + scope.shard_size(shard)):
            step, item = last.get(index, (0, None))
            name = Name(scope.execution, scope.branch(index), step)
            yield None if item is None else verified(rt, name, str(item["state"]), item)


def _end(rt: Runtime, scope: Scope, index: int, checkpoint: Checkpoint | None) -> tuple[Checkpoint, Json]:
    """The last checkpoint of a branch and the branch's result."""
    effect = checkpoint and plan(rt.workflow, checkpoint)
    if checkpoint is None or not isinstance(effect, Complete):
        raise InconsistentHistory(
            f"{scope.join}: expected {scope.size} results of {scope.state!r}, but branch {index} has none"
        )
    return checkpoint, effect.value


def _position(key: Key) -> tuple[int, int]:
    index, step = key.sort.split(".")
    return int(index), int(step)


def _after(scope: Scope) -> Name:
    return Name(scope.execution, scope.frames, scope.iteration + 1)


def _moment(rt: Runtime, scope: Scope, entered_ms: int) -> Moment:
    return Moment(rt.workflow.name, scope.execution, entered_ms)
