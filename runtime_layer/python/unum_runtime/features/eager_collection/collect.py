"""Collection: delete outcomes that can no longer be needed.

Under `Collection.TTL` items expire, and nothing is deleted: a checkpoint is its own tombstone. Under
`Collection.EAGER` a delivery that has committed an outcome and sent its continuation turns the outcome's inputs into
tombstones. A node collects its parent. A delivery that settles a fan-out collects all items of its branches, at any
depth, and the checkpoint that opened it. Deliveries of collected invocations have no effect any more, because their
successors have committed. A late one finds the tombstone; without it, it would run user code again. The start record
and the checkpoint that ended the execution are kept.

Branches may still run when their fan-out is settled: another branch failed, or a quorum sufficed. The collector reads
after its commit, so it sees everything written before the commit. Every delivery that wrote something checks at its
very end for settled scopes around it, and takes back its own items. So one of both always collects them.

Source of the scheme: Unum, "Garbage collection"; there the checkpoint is deleted and a late duplicate runs again.
"""

from collections.abc import Iterable, Mapping

from unum_runtime.cold_start.records import replace
from unum_runtime.errors import NoRoute
from unum_runtime.model.checkpoint import TOMBSTONE, Checkpoint, Collected, Item
from unum_runtime.model.envelope import Envelope, Neighbours, Results
from unum_runtime.model.naming import (
    SHARD_SIZE,
    Key,
    Name,
    Scope,
    checkpoint_key,
    completion_key,
    failed_key,
    is_aside,
    meeting_key,
    pack_at,
    pack_of,
    place_in_shard,
    root_key,
    scopes_around,
    shard_partition,
)
from unum_runtime.protocol.delivery.commit import parse_committed
from unum_runtime.protocol.delivery.delivery_state import DeliveryState
from unum_runtime.protocol.delivery.perform import perform
from unum_runtime.protocol.fanout.packing import is_packed, own_keys, uncollected
from unum_runtime.protocol.planning.plan import Commit, JoinNeighbour, is_start, plan
from unum_runtime.protocol.runtime import Runtime


def collect_input(rt: Runtime, envelope: Envelope) -> None:
    """Collect outcomes behind `envelope`'s input, after its own outcome's effects are performed.

    Callers check for `Collection.EAGER`, here and everywhere.
    """
    if isinstance(envelope.input, Results):
        collect_scope(rt, envelope.input.scope)
    # A neighbour join keeps its inputs: the next branch's join reads one of them.
    elif not isinstance(envelope.input, Neighbours):
        rt.store.collect(_parent_key(rt, envelope.name))


def collect_commit(rt: Runtime, effect: Commit) -> None:
    """Collect input outcomes of `effect`, committed and continued already."""
    if effect.joins is None:
        rt.store.collect(_parent_key(rt, effect.name))
    else:
        collect_scope(rt, effect.joins)


def collect_scope(rt: Runtime, scope: Scope) -> None:
    """Collect all items of a settled scope, continued already."""
    *inside, origin = _scope_keys(rt, scope)
    rt.store.collect(inside if _is_kept(rt, scope.origin) else [*inside, origin])


def collect_last(rt: Runtime, checkpoint: Checkpoint) -> None:
    """Collect a stopped execution's last outcome, including a running fan-out."""
    rt.store.collect(_tree(rt, checkpoint))


def collect_performed(rt: Runtime, delivery: DeliveryState) -> None:
    """Collect what a delivery needs no more after it has performed its effects."""
    # Only now: every event is sent, so the deliveries that replace this one need none of these outcomes.
    for commit_ in delivery.committed:
        collect_commit(rt, commit_)
    delivery.collected = [commit_.joins for commit_ in delivery.committed if commit_.joins is not None]
    tidy_up(rt, delivery)


def tidy_up(rt: Runtime, delivery: DeliveryState) -> None:
    """Collect items that this delivery wrote inside settled scopes, and continue those scopes if it found outcomes."""
    settled = settled_around(rt, delivery)
    # This delivery may replace one that settled a scope and died before it sent the continuation. The branch's own
    # items may be collected since, so the continuation is planned from the scope's outcome.
    if delivery.found:
        for scope, item in settled.items():
            _continue_settled(rt, scope, item, delivery.routes)
    take_back(rt, delivery, settled)


def _continue_settled(rt: Runtime, scope: Scope, item: Item, routes: Mapping[str, str]) -> None:
    """Perform a settled scope's effect unless a Task joined its results, then collect the scope."""
    if TOMBSTONE in item or item["state"] != scope.state:
        return
    try:
        perform(rt, DeliveryState(routes), plan(rt.workflow, parse_committed(rt, scope.join, scope.state, item)))
    except NoRoute as unknown:  # the delivery that settled the scope had the route, so this one does not replace it
        rt.log("refused", reason=str(unknown))
    else:
        collect_scope(rt, scope)


def settled_around(rt: Runtime, delivery: DeliveryState) -> dict[Scope, Item]:
    """Return outermost settled scopes around a delivery's items, with outcome items."""
    paths = list(delivery.paths())
    keys = {checkpoint_key(rt.workflow.name, scope.join): scope for path in paths for scope in path}
    found = rt.store.read(keys) if keys else {}
    settled = {keys[key]: item for key, item in found.items()}
    outermost = (next((scope for scope in path if scope in settled), None) for path in paths)
    return {scope: settled[scope] for scope in outermost if scope is not None}


def take_back(rt: Runtime, delivery: DeliveryState, settled: Iterable[Scope]) -> None:
    """Collect a delivery's own items inside `settled` scopes."""
    over = frozenset(settled)
    for checkpoint in delivery.created:
        if not over.isdisjoint(scopes_around(checkpoint.name.execution, checkpoint.name.frames)):
            rt.store.collect(_tree(rt, checkpoint))
    for end in delivery.ended:
        around = scopes_around(end.execution, end.frames)
        if not over.isdisjoint(around):
            rt.store.collect(_set_keys(rt, around[-1], [end.frames[-1].index]))


def _parent_key(rt: Runtime, name: Name) -> list[Key]:
    parent = Name(name.execution, name.frames, name.step - 1)
    return (
        [] if name.step == 0 or is_start(parent) or _is_kept(rt, parent) else [checkpoint_key(rt.workflow.name, parent)]
    )


def _is_kept(rt: Runtime, name: Name) -> bool:
    """Return True for a commit of a branch whose next branch may read it until the fan-out is settled."""
    around = name.frames[-1].state if name.frames else None
    return any(rt.workflow.task(source).scope == around for source in rt.workflow.feeds)


def _scope_keys(rt: Runtime, scope: Scope) -> list[Key]:
    """Return all item keys of a scope, its origin last.

    So a tombstone at the origin proves that the rest is collected: a collector that died leaves the origin for another.
    """
    keys = dict.fromkeys(key for shard in range(scope.shards) for key in _shard_keys(rt, scope, shard))
    return [*keys, *_set_keys(rt, scope, range(scope.size)), checkpoint_key(rt.workflow.name, scope.origin)]


def _tree(rt: Runtime, checkpoint: Checkpoint) -> list[Key]:
    """Return keys of a settled scope's inner checkpoint, including its opened fan-out."""
    if isinstance(checkpoint.outcome, Collected):
        return []
    if checkpoint.opens is not None:
        return [*_meeting_keys(rt, checkpoint), *_scope_keys(rt, checkpoint.opens)]
    return [*_meeting_keys(rt, checkpoint), *own_keys(rt, checkpoint)]


def _meeting_keys(rt: Runtime, checkpoint: Checkpoint) -> list[Key]:
    """Return keys of a branch's recorded arrivals at neighbour joins after `checkpoint`."""
    if _is_kept(rt, checkpoint.name):
        from unum_runtime.features.waves.previous_results import arrival_keys  # noqa: PLC0415 - few workflows have them

        return arrival_keys(rt.workflow, checkpoint)
    if not any(task.meets_previous for task in rt.workflow.tasks):
        return []
    following = plan(rt.workflow, checkpoint)
    if not isinstance(following, JoinNeighbour):
        return []
    name = following.invoke.name
    scope, index = Scope.around(name.execution, name.frames), name.frames[-1].index
    meetings = range(index, min(index + 2, scope.size))
    return [meeting_key(rt.workflow.name, scope, own, name.step) for own in meetings]


def _shard_keys(rt: Runtime, scope: Scope, shard: int) -> list[Key]:
    """Return item keys of a shard's branches, completion sets excluded."""
    items = rt.store.query(shard_partition(rt.workflow.name, scope, shard))
    packs = uncollected(items)
    own = {key: item for key, item in items.items() if pack_at(key) is None and not is_aside(key)}
    return [key for place, item in own.items() for key in _tree(rt, _of_branch(scope, place, item))] + packs


def _of_branch(scope: Scope, key: Key, item: Item) -> Checkpoint:
    index, step = place_in_shard(key)
    return Checkpoint.from_item(Name(scope.execution, scope.branch(index), step), item)


def _set_keys(rt: Runtime, scope: Scope, ended: Iterable[int]) -> list[Key]:
    """Return completion-set keys of branches `ended` or their packs."""
    if rt.workflow.fan_out(scope.state).needs:
        from unum_runtime.features.regions.arrivals import set_keys  # noqa: PLC0415 - few workflows have regions

        return set_keys(rt, scope, ended)
    if is_packed(rt.workflow, scope.state):
        scope, ended = replace(scope, size=scope.packs), map(pack_of, ended)
        if scope.size == 1:
            return []
    shards = sorted({index // SHARD_SIZE for index in ended})
    keys = [completion_key(rt.workflow.name, scope, shard) for shard in shards]
    if scope.shards > 1:
        keys.append(root_key(rt.workflow.name, scope))
    if rt.workflow.fan_out(scope.state).quorum is not None:
        keys.append(failed_key(rt.workflow.name, scope))
    return keys
