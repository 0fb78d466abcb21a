"""Join: continue complete or failed scopes, and join branch results.

`unum_runtime.protocol.fanout.completion` decides that a scope is complete.
"""

from collections.abc import Iterator

from unum_runtime.cold_start.records import replace
from unum_runtime.errors import InconsistentHistory
from unum_runtime.model.checkpoint import Checkpoint, Continuation, Failure, Phase, Success
from unum_runtime.model.envelope import Results
from unum_runtime.model.naming import SHARD_SIZE, Name, Scope, place_in_shard, shard_partition
from unum_runtime.model.pack import unpacked
from unum_runtime.model.states import Map
from unum_runtime.protocol.delivery.commit import parse_committed
from unum_runtime.protocol.delivery.delivery_state import DeliveryState
from unum_runtime.protocol.fanout.completion import add_completed, add_failed
from unum_runtime.protocol.fanout.lanes import next_in_lane, read_origin
from unum_runtime.protocol.planning.advance import by_branch, exceeded, join, too_many_failed
from unum_runtime.protocol.planning.evaluation import EvaluationContext
from unum_runtime.protocol.planning.plan import BranchFailed, Commit, CompleteBranch, Effect, Invoke, OpenScope, plan
from unum_runtime.protocol.planning.retry import NotRetried, Retry, recover
from unum_runtime.protocol.runtime import Runtime


def complete(rt: Runtime, effect: CompleteBranch | BranchFailed, delivery: DeliveryState) -> list[Invoke | Commit]:
    """Add one completed branch to its scope's completion set.

    Returns:
        The continuation of the scope if it is complete; else the branch that waits for this one under MaxConcurrency,
        or the nodes of a region whose sources have all ended.
    """
    scope, index = Scope.around(effect.execution, effect.frames), effect.frames[-1].index
    if isinstance(effect, CompleteBranch) and rt.workflow.fan_out(scope.state).needs:
        from unum_runtime.features.regions.arrivals import end_node  # noqa: PLC0415 - few workflows have regions

        effects = end_node(rt, scope, effect)
        return [continue_scope(rt, scope)] if effects is None else effects
    if add_completed(rt, scope, index, delivery.packs.get(effect.frames)):
        return [continue_scope(rt, scope)]
    # Read the next branch only now: a check before the addition would be older than the start that relies on it.
    return _next_branch(rt, scope, index, delivery)


def fail(rt: Runtime, effect: BranchFailed, delivery: DeliveryState) -> list[Invoke | Commit]:
    """Fail a failed branch's scope, unless its fan-out tolerates failures.

    A Map that tolerates failures counts them in its join, after all branches have ended. A quorum counts them at once.
    """
    scope, index = Scope.around(effect.execution, effect.frames), effect.frames[-1].index
    fan_out = rt.workflow.fan_out(scope.state)
    if isinstance(fan_out, Map) and fan_out.tolerates:
        return complete(rt, effect, delivery)
    if fan_out.quorum is not None and not add_failed(rt, scope, index, fan_out.quorum):
        return _next_branch(rt, scope, index, delivery)
    opened = read_origin(rt, scope) if fan_out.retry or fan_out.catch else None
    return [_fail_scope(rt, scope, by_branch(fan_out, effect.failure), opened)]


def continue_scope(rt: Runtime, scope: Scope) -> Invoke | Commit:
    """Return a complete scope's continuation: its joining Task's event, or a commit of joined results."""
    follower = rt.workflow.fan_out(scope.state).join
    if follower is None:
        return join_results(rt, scope)
    # The Task's delivery reads the results itself: one event and no commit between the last branch and the Task.
    return Invoke(scope.join, follower, Results(scope))


def join_results(rt: Runtime, scope: Scope) -> Commit:
    """Return a commit of the complete scope's joined results, or of its failure.

    Raises:
        InconsistentHistory: the store has not exactly one result for every branch.
        OutcomeCollected: the results were collected, because the outcome made of them is committed.
    """
    fan_out = rt.workflow.fan_out(scope.state)
    ends = _read_ends(rt, scope, fan_out.quorum)
    opened = read_origin(rt, scope) if rt.workflow.needs_origin(fan_out) else None
    # The time of the last result, not of this delivery: every delivery that joins must plan the same continuation.
    as_of_ms = max(checkpoint.committed_ms for checkpoint, _ in ends)
    evaluation = EvaluationContext(rt.workflow, scope.execution, as_of_ms, str(scope.join))
    if opened is not None:
        evaluation = replace(evaluation, variables=opened.arrival.evaluation.variables)
    value = None if opened is None else opened.arrival.value
    results = [effect.outcome.value for _, effect in ends if isinstance(effect, CompleteBranch)]
    if too_many_failed(fan_out, value, len(ends) - len(results), scope.size, evaluation):
        return _fail_scope(rt, scope, exceeded(), opened)
    left = join(fan_out, value, results, evaluation)
    if isinstance(left, Failure):
        return _fail_scope(rt, scope, left, opened)
    return Commit(
        scope.join,
        scope.state,
        Phase.LEFT,
        Success(left.value),
        Continuation(variables=left.variables),
        joins=scope,
        as_of_ms=as_of_ms,
    )


def _next_branch(rt: Runtime, scope: Scope, index: int, delivery: DeliveryState) -> list[Invoke | Commit]:
    """Return the next branch's start after branch `index` under MaxConcurrency; else nothing."""
    fan_out = rt.workflow.fan_out(scope.state)
    is_limited = isinstance(fan_out, Map) and fan_out.has_limit and not _starts_whole(rt, fan_out, scope)
    return next_in_lane(rt, scope, index, delivery.enter_lanes()) if is_limited else []


def _starts_whole(rt: Runtime, fan_out: Map, scope: Scope) -> bool:
    """Return True if all branches of `scope` began at once under its constant limit: no branch waits for another."""
    # Most fan-outs are smaller than the default limit, and this saves a read of the origin in each branch of them.
    limit = fan_out.data.get("MaxConcurrency")
    return isinstance(limit, int) and limit >= scope.size and not rt.workflow.strict


def _fail_scope(rt: Runtime, scope: Scope, failure: Failure, opened: OpenScope | None) -> Commit:
    """Return a commit of the fan-out's `failure`; fan-outs with retriers or catchers require `opened`.

    The commit has the scope's own name. So the first failed branch decides, and every other delivery adopts that.
    """
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


def _last_checkpoints(rt: Runtime, scope: Scope) -> Iterator[Checkpoint | None]:
    """Yield each branch's last checkpoint in branch order; None for branches without checkpoints."""
    for shard in range(scope.shards):
        items = rt.store.query(shard_partition(rt.workflow.name, scope, shard))
        if rt.workflow.small_results:
            items = unpacked(items, scope.execution)
        # Items come in key order, by branch and then by step, so the last one of each branch stays.
        last = {
            index: (step, item) for (index, step), item in ((place_in_shard(key), item) for key, item in items.items())
        }
        first = shard * SHARD_SIZE
        for index in range(first, first + scope.shard_size(shard)):
            step, item = last.get(index, (0, None))
            name = Name(scope.execution, scope.branch(index), step)
            yield None if item is None else parse_committed(rt, name, str(item["state"]), item)


def _read_ends(rt: Runtime, scope: Scope, quorum: int | None) -> list[tuple[Checkpoint, Effect]]:
    """Return all branch ends in branch order; with a quorum, return its earliest successes alone."""
    if quorum is None:
        return [_end(rt, scope, index, last) for index, last in enumerate(_last_checkpoints(rt, scope))]
    planned = [(last, plan(rt.workflow, last)) for last in _last_checkpoints(rt, scope) if last is not None]
    done = [(last, effect) for last, effect in planned if isinstance(effect, CompleteBranch)]
    if len(done) < quorum:
        raise InconsistentHistory(f"{scope.join}: expected {quorum} results of {scope.state!r}, found {len(done)}")
    first = sorted(done, key=lambda end: end[0].committed_ms)[:quorum]
    return [end for end in done if end in first]


def _end(rt: Runtime, scope: Scope, index: int, checkpoint: Checkpoint | None) -> tuple[Checkpoint, Effect]:
    """Return branch `index`'s last checkpoint with its planned end: CompleteBranch or BranchFailed."""
    effect = checkpoint and plan(rt.workflow, checkpoint)
    # A missing result must fail loudly: a join of fewer results would commit a wrong outcome for good.
    if checkpoint is None or not isinstance(effect, CompleteBranch | BranchFailed):
        raise InconsistentHistory(
            f"{scope.join}: expected {scope.size} results of {scope.state!r}, but branch {index} has none"
        )
    return checkpoint, effect
