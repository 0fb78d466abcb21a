"""Fan-in: who completes a scope, and what the scope's results are.

Every scope has a set of completed branch indexes, cut into shards so that each stays one small item, and above several
shards a set of full shards. The sets are upserted and only grow, so adding twice changes nothing; every delivery that
sees a set full goes on, because the one before it may have died between adding and going on.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby

from unum_runtime.cold_start.records import replace
from unum_runtime.errors import InconsistentHistory
from unum_runtime.model.checkpoint import Checkpoint, Continuation, Failure, Item, Phase, Success
from unum_runtime.model.envelope import Results
from unum_runtime.model.ir import FanOut, Map
from unum_runtime.model.naming import (
    SHARD_SIZE,
    Name,
    Scope,
    completion_key,
    failed_key,
    first_of,
    pack_of,
    place_in_shard,
    root_key,
    shard_partition,
)
from unum_runtime.model.pack import ENDS, is_full, unpacked
from unum_runtime.protocol.delivery.commit import verified
from unum_runtime.protocol.fanout.lanes import Lanes, next_in_lane, origin
from unum_runtime.protocol.fanout.packing import is_packed, marked_pack
from unum_runtime.protocol.planning.advance import by_branch, exceeded, join, too_many_failed
from unum_runtime.protocol.planning.evaluation import EvaluationContext
from unum_runtime.protocol.planning.plan import (
    BranchFailed,
    Commit,
    CompleteBranch,
    Effect,
    Invoke,
    OpenScope,
    plan,
)
from unum_runtime.protocol.planning.retry import NotRetried, Retry, recover
from unum_runtime.protocol.runtime import Runtime


def complete(
    rt: Runtime, scope: Scope, index: int, pack: Item | None = None, lanes: Lanes | None = None
) -> list[Invoke | Commit]:
    """Add branch `index` to the completed ones.

    Args:
        rt: the runtime.
        scope: the fan-out.
        index: the branch.
        pack: in which the branch has an entry already; None where it may have none.
        lanes: of the delivery.

    Returns:
        What this branch has to start: the join, or the branch that waits for it under MaxConcurrency. That is looked
        for last of all, so that whoever goes on with it knows how it is.
    """
    if _fills(rt, scope, index, pack):
        return [go_on(rt, scope)]
    return next_in_lane(rt, scope, index, lanes)


def complete_again(rt: Runtime, scope: Scope, ended: Iterable[int]) -> list[Invoke | Commit]:
    """Add the branches `ended`, in their order, once more; what follows if these are all.

    What waits for one of them under MaxConcurrency is not started: the caller knows which branches have begun.
    """
    full = _packs_again(rt, scope, ended) if is_packed(rt.workflow, scope.state) else _shards_again(rt, scope, ended)
    return [go_on(rt, scope)] if any(full) else []


def _packs_again(rt: Runtime, scope: Scope, ended: Iterable[int]) -> list[bool]:
    """For each pack of the branches `ended` whether it completes the scope, now that all of these have their marks."""
    full = []
    for number, indexes in groupby(ended, key=pack_of):
        pack: Item = {}
        for index in indexes:
            pack = pack if ENDS[index - first_of(number)] in pack else marked_pack(rt, scope, index)
        full.append(is_full(pack, scope.pack_size(number)) and _fills_packs(rt, scope, number))
    return full


def _shards_again(rt: Runtime, scope: Scope, ended: Iterable[int]) -> list[bool]:
    """For each shard of the branches `ended` whether it completes the scope, now that all of these are added."""
    full = []
    for shard, indexes in groupby(ended, key=lambda index: index // SHARD_SIZE):
        done: frozenset[int] = frozenset()
        for index in indexes:
            done = done if index in done else _add(rt, scope, index)
        full.append(_is_full(rt, scope, shard, len(done)))
    return full


def fail(
    rt: Runtime, scope: Scope, index: int, failure: Failure, pack: Item | None = None, lanes: Lanes | None = None
) -> list[Invoke | Commit]:
    """Branch `index` came to `failure`: its scope fails, unless enough others are left.

    A Map that tolerates failures counts them when all branches have ended; where a quorum is enough, they are counted
    at once.
    """
    fan_out = rt.workflow.fan_out(scope.state)
    if isinstance(fan_out, Map) and fan_out.tolerates:
        return complete(rt, scope, index, pack, lanes)
    if fan_out.quorum is not None:
        failed = rt.store.add(failed_key(rt.workflow.name, scope), index, expires_at_s=rt.expires_at_s())
        if scope.size - len(failed) >= fan_out.quorum:
            return next_in_lane(rt, scope, index, lanes)
    opened = origin(rt, scope) if fan_out.retry or fan_out.catch else None
    return [_failed(rt, scope, by_branch(fan_out, failure), opened)]


def go_on(rt: Runtime, scope: Scope) -> Invoke | Commit:
    """What follows a scope that is complete: its results are joined by the Task that needs them, or else here."""
    follower = rt.workflow.fan_out(scope.state).join
    if follower is None:
        return joined(rt, scope)
    return Invoke(scope.join, follower, Results(scope))


def joined(rt: Runtime, scope: Scope) -> Commit:
    """The outcome of a complete scope's fan-out state.

    Raises:
        InconsistentHistory: not exactly one result for every branch.
        OutcomeCollected: the results were collected, because what was made of them is committed.
    """
    fan_out = rt.workflow.fan_out(scope.state)
    ends = _ends(rt, scope, fan_out.quorum)
    opened = origin(rt, scope) if _needs_origin(rt, fan_out) else None
    as_of_ms = max(checkpoint.committed_ms for checkpoint, _ in ends)
    evaluation = EvaluationContext(rt.workflow, scope.execution, as_of_ms, str(scope.join))
    if opened is not None:
        evaluation = replace(evaluation, variables=opened.arrival.evaluation.variables)
    value = None if opened is None else opened.arrival.value
    results = [effect.outcome.value for _, effect in ends if isinstance(effect, CompleteBranch)]
    if too_many_failed(fan_out, value, len(ends) - len(results), scope.size, evaluation):
        return _failed(rt, scope, exceeded(), opened)
    left = join(fan_out, value, results, evaluation)
    if isinstance(left, Failure):
        return _failed(rt, scope, left, opened)
    continuation = Continuation(variables=left.variables)
    return Commit(
        scope.join, fan_out.name, Phase.LEFT, Success(left.value), continuation, joins=scope, as_of_ms=as_of_ms
    )


def _failed(rt: Runtime, scope: Scope, failure: Failure, opened: OpenScope | None) -> Commit:
    """What the scope's fan-out state comes to by `failure`; `opened` is needed where it has retriers or catchers."""
    if opened is None:
        return Commit(scope.join, scope.state, Phase.LEFT, failure, joins=scope)
    arrival, now_ms = opened.arrival, rt.clock.now_ms()
    evaluation = replace(arrival.evaluation, seed=str(scope.join))
    match recover(arrival.state, failure, arrival.value, evaluation, retries=opened.retries, now_ms=now_ms):
        case Retry(retries, due_ms):
            continuation = Continuation(
                variables=evaluation.variables, caught=failure, retries=retries, until_ms=due_ms
            )
            return Commit(scope.join, scope.state, Phase.RETRIED, Success(arrival.value), continuation, joins=scope)
        case NotRetried(outcome, continuation):
            return Commit(scope.join, scope.state, Phase.LEFT, outcome, continuation, joins=scope)


def _needs_origin(rt: Runtime, fan_out: FanOut) -> bool:
    return rt.workflow.needs_origin(fan_out) or (isinstance(fan_out, Map) and fan_out.tolerates)


def _fills(rt: Runtime, scope: Scope, index: int, pack: Item | None = None) -> bool:
    """Whether as many branches of the scope as it takes have completed, as seen right after adding `index`."""
    if is_packed(rt.workflow, scope.state):
        number, found = pack_of(index), pack or marked_pack(rt, scope, index)
        return is_full(found, scope.pack_size(number)) and _fills_packs(rt, scope, number)
    return _is_full(rt, scope, index // SHARD_SIZE, len(_add(rt, scope, index)))


def _fills_packs(rt: Runtime, scope: Scope, pack: int) -> bool:
    """Whether all packs of the scope are full, as seen right after adding `pack`; one alone needs no set."""
    packs = replace(scope, size=scope.packs)
    return packs.size == 1 or _is_full(rt, packs, pack // SHARD_SIZE, len(_add(rt, packs, pack)))


def _add(rt: Runtime, scope: Scope, index: int) -> frozenset[int]:
    """The completed branches of a shard, right after adding `index`."""
    key = completion_key(rt.workflow.name, scope, index // SHARD_SIZE)
    return rt.store.add(key, index, expires_at_s=rt.expires_at_s())


def _is_full(rt: Runtime, scope: Scope, shard: int, done: int) -> bool:
    """Whether the scope is complete, now that `done` branches of `shard` are."""
    quorum = rt.workflow.fan_out(scope.state).quorum
    if quorum is not None:
        return done >= quorum
    if done < scope.shard_size(shard):
        return False
    if scope.shards == 1:
        return True
    root = rt.store.add(root_key(rt.workflow.name, scope), shard, expires_at_s=rt.expires_at_s())
    return len(root) == scope.shards


def _branches(rt: Runtime, scope: Scope) -> Iterator[Checkpoint | None]:
    """The last checkpoint of each branch, in their order; None where there is none."""
    for shard in range(scope.shards):
        items = unpacked(rt.store.query(shard_partition(rt.workflow.name, scope, shard)), scope.execution)
        last = {
            index: (step, item) for (index, step), item in ((place_in_shard(key), item) for key, item in items.items())
        }
        first = shard * SHARD_SIZE
        for index in range(first, first + scope.shard_size(shard)):
            step, item = last.get(index, (0, None))
            name = Name(scope.execution, scope.branch(index), step)
            yield None if item is None else verified(rt, name, str(item["state"]), item)


def _ends(rt: Runtime, scope: Scope, quorum: int | None) -> list[tuple[Checkpoint, Effect]]:
    """How all branches ended, in their order; or, where a quorum is enough, so many of those that succeeded first."""
    if quorum is None:
        return [_end(rt, scope, index, last) for index, last in enumerate(_branches(rt, scope))]
    planned = [(last, plan(rt.workflow, last)) for last in _branches(rt, scope) if last is not None]
    done = [(last, effect) for last, effect in planned if isinstance(effect, CompleteBranch)]
    if len(done) < quorum:
        raise InconsistentHistory(f"{scope.join}: expected {quorum} results of {scope.state!r}, found {len(done)}")
    first = sorted(done, key=lambda end: end[0].committed_ms)[:quorum]
    return [end for end in done if end in first]


def _end(rt: Runtime, scope: Scope, index: int, checkpoint: Checkpoint | None) -> tuple[Checkpoint, Effect]:
    """The last checkpoint of a branch and how the branch ended by it."""
    effect = checkpoint and plan(rt.workflow, checkpoint)
    if checkpoint is None or not isinstance(effect, CompleteBranch | BranchFailed):
        raise InconsistentHistory(
            f"{scope.join}: expected {scope.size} results of {scope.state!r}, but branch {index} has none"
        )
    return checkpoint, effect
