"""Perform effects: the only module that sends events."""

from collections.abc import Mapping
from itertools import chain

from unum_runtime.cold_start.records import replace
from unum_runtime.errors import RefusedDelivery, RouteGone
from unum_runtime.model.checkpoint import Failure, Phase
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.ir import Collection
from unum_runtime.model.states import Task
from unum_runtime.protocol.delivery.commit import commit
from unum_runtime.protocol.delivery.delivery_state import DeliveryState
from unum_runtime.protocol.delivery.fusion import fits, may_fuse, own_event
from unum_runtime.protocol.delivery.join import complete, fail
from unum_runtime.protocol.delivery.large_payload import store_large_input
from unum_runtime.protocol.fanout.neighbours import record_arrival
from unum_runtime.protocol.planning.plan import (
    WITHOUT_BUCKET,
    BranchFailed,
    Commit,
    CompleteBranch,
    Effect,
    FeedNext,
    Finish,
    InlineCommit,
    Invoke,
    JoinNeighbour,
    OpenScope,
    branch,
    parts,
    started_at_once,
)
from unum_runtime.protocol.runtime import Runtime
from unum_runtime.store.large_items import MAX_EVENT_BYTES


def perform(rt: Runtime, delivery: DeliveryState, *effects: Effect) -> None:
    """Perform `effects` and their following effects in this sandbox, then collect unneeded outcomes.

    Args:
        rt: the runtime.
        delivery: state of this delivery; gets the event of a fused invocation, which is not sent.
        effects: planned from committed outcomes; their events are sent together.
    """
    wave = [*effects]
    while wave:
        invokes: list[Invoke] = []
        opened: list[OpenScope] = []
        others: list[Effect] = []
        for effect in wave:
            if isinstance(effect, Invoke):
                invokes.append(effect)
            elif isinstance(effect, OpenScope):
                opened.append(effect)
            else:
                others.append(effect)
        refused = _send(rt, invokes, delivery, is_all=len(wave) == 1) if invokes else []
        followed = [_perform_unless_refused(rt, effect, delivery) for effect in others]
        wave = [*refused, *(_begin_branches(rt, opened) if opened else ()), *chain.from_iterable(followed)]
    if rt.collection is Collection.EAGER:
        from unum_runtime.features.eager_collection.collect import collect_performed  # noqa: PLC0415 - few workflows

        collect_performed(rt, delivery)


def envelope(rt: Runtime, effect: Invoke, routes: Mapping[str, str]) -> Envelope:
    """Return the event of `effect`."""
    return Envelope(
        workflow=rt.workflow.name,
        digest=rt.workflow.digest,
        name=effect.name,
        state=effect.state,
        input=effect.input,
        sent_s=rt.sent_s(effect.due_ms),
        routes=routes,
        retries=effect.retries,
        job=effect.job,
        due_ms=effect.due_ms,
        tries=effect.tries,
    )


def send_later(rt: Runtime, event: Envelope, due_ms: int) -> None:
    """Schedule `event`, which was sent before, for `due_ms`, in milliseconds since 1970."""
    # It looks before an object, whatever its age: a waiter has found a lease, and no outcome.
    looking = rt if rt.large is None else replace(rt, store=rt.large.looking())
    rt.timer.schedule([(_address(rt, event.state, event.routes), payload_of(looking, event), due_ms)])


def payload_of(rt: Runtime, event: Envelope) -> bytes:
    """Return the bytes of `event`, with a large input in the payload bucket."""
    return event.to_bytes() if rt.large is None else store_large_input(rt.large, event)


def _begin_branches(rt: Runtime, opened: list[OpenScope]) -> list[Invoke | Commit]:
    """Return branch starts of `opened`, or events for parts if one delivery cannot start all branches."""
    if sum(len(started_at_once(each)) for each in opened) > rt.most_begun:
        return [part for each in opened for part in parts(each, rt.most_begun)]
    return [branch(each, index) for each in opened for index in started_at_once(each)]


def _perform_unless_refused(rt: Runtime, effect: Effect, delivery: DeliveryState) -> list[Effect]:
    """Perform one effect except Invoke and OpenScope; return following effects, none after a refusal."""
    # A refusal says that all that follows from this effect is committed. Effects beside it are still to be performed.
    try:
        return _perform_one(rt, effect, delivery)
    except RefusedDelivery as refused:
        rt.log("refused", reason=str(refused))
        return []


def _perform_one(rt: Runtime, effect: Effect, delivery: DeliveryState) -> list[Effect]:
    match effect:
        case Commit():
            delivery.committed.append(effect)
            return commit(rt, effect, delivery)
        case JoinNeighbour() | FeedNext():
            return [*_join(rt, effect)]
        case CompleteBranch():
            delivery.ended.append(effect)
            return [*complete(rt, effect, delivery)]
        case BranchFailed():
            delivery.ended.append(effect)
            return [*fail(rt, effect, delivery)]
        case Finish(execution, ending):
            rt.log("finished", execution=execution.name, status=ending.status)
            if rt.statuses is not None:
                rt.statuses.ended(rt, effect, delivery.routes)
    return []


def _join(rt: Runtime, effect: JoinNeighbour | FeedNext) -> list[Invoke]:
    """Record the arrival of a branch, or its result for the next branch; return the events that were waiting for it."""
    if isinstance(effect, JoinNeighbour) and rt.workflow.task(effect.invoke.state).meets_previous:
        return record_arrival(rt, effect)
    from unum_runtime.features.waves.previous_results import arrive, feed  # noqa: PLC0415 - few workflows have them

    return feed(rt, effect) if isinstance(effect, FeedNext) else arrive(rt, effect)


def _send(rt: Runtime, invokes: list[Invoke], delivery: DeliveryState, *, is_all: bool) -> list[Commit]:
    """Send or schedule events of `invokes`; return commits replacing undeliverable events.

    If `is_all` says that nothing else is left to do, a single event may be fused instead.
    """
    now, later, routes = [], [], delivery.routes
    refused: list[Commit] = []
    for effect in invokes:
        event, due_ms = envelope(rt, effect, routes), _due_later(rt, effect)
        if is_all and due_ms is None and _fuse(rt, delivery, event):
            delivery.is_new = effect.is_new
            return []
        payload = payload_of(rt, event)
        failure = _send_failure(rt, effect, len(payload))
        if failure is not None:
            refused.append(InlineCommit(effect.name, effect.state, Phase.LEFT, failure))
        elif due_ms is None:
            now.append((_address(rt, effect.state, routes), payload))
        else:
            later.append((_address(rt, effect.state, routes), payload, due_ms))
    try:
        if now:
            rt.invoker.invoke(now)
        if later:
            rt.timer.schedule(later)
    except RouteGone as denied:
        return _replace_gone(rt, invokes, delivery, denied)
    return refused


def _replace_gone(rt: Runtime, invokes: list[Invoke], delivery: DeliveryState, denied: RouteGone) -> list[Commit]:
    """Return commits replacing those `invokes` whose function or queue has left the deployment; send the others.

    Raises:
        RouteGone: the refusal may pass, or this function is not the last that can continue.
    """
    if rt.gone is None:
        raise denied
    if len(invokes) > 1:  # one by one, because only some of them may have lost their function
        return [commit_ for effect in invokes for commit_ in _send(rt, [effect], delivery, is_all=False)]
    failure = rt.gone(denied)
    if failure is None:
        raise denied
    (effect,) = invokes
    return [InlineCommit(effect.name, effect.state, Phase.LEFT, failure)]


def _due_later(rt: Runtime, effect: Invoke) -> int | None:
    """Return a delayed event's time in milliseconds since 1970; None for immediate events."""
    return effect.due_ms if effect.due_ms is not None and effect.due_ms > rt.clock.now_ms() else None


def _fuse(rt: Runtime, delivery: DeliveryState, event: Envelope) -> bool:
    """Keep `event` as this delivery's next step; return False to send it."""
    task = rt.workflow.states[event.state]
    if rt.fuses is None or not isinstance(task, Task):
        return False
    if not may_fuse(rt, delivery, event.name, task) or not fits(rt, event):
        return False
    if rt.fuses(rt.address(task.function, delivery.routes), event, task):
        delivery.ahead = own_event(event)
    return delivery.ahead is not None


def _address(rt: Runtime, to: str, routes: Mapping[str, str]) -> str:
    """Return state `to`'s address: its Task's function, or the one that continues Waits and fan-outs."""
    state = rt.workflow.states[to]
    return rt.address(state.function, routes) if isinstance(state, Task) else rt.continued_at.get(to, rt.own_address)


def _send_failure(rt: Runtime, effect: Invoke, size: int) -> Failure | None:
    """Return an undeliverable event's failure; None for valid events."""
    if size > MAX_EVENT_BYTES:
        cause = f"the input of {effect.state!r} makes an event of {size} bytes; at most {MAX_EVENT_BYTES} are delivered"
        return Failure("States.DataLimitExceeded", cause + WITHOUT_BUCKET)
    if effect.due_ms is not None and effect.due_ms // 1000 > rt.last_s(effect.name.execution):
        days = rt.retention_s / 86_400
        cause = f"{effect.state!r} has to wait for longer than items are kept, {days:g} days; raise the retention"
        return Failure("States.Runtime", cause)
    return None
