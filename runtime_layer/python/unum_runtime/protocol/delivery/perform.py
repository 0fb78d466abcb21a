"""Effects, done: the only module that sends events."""

from collections.abc import Mapping
from itertools import chain

from unum_runtime.errors import NoRoute, RefusedDelivery
from unum_runtime.model.checkpoint import TOMBSTONE, Failure, Item, Phase
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.ir import Collection, Task
from unum_runtime.model.naming import Scope
from unum_runtime.protocol.delivery import large_payload
from unum_runtime.protocol.delivery.collect import collect_commit, collect_scope, settled_around, take_back
from unum_runtime.protocol.delivery.commit import commit, verified
from unum_runtime.protocol.delivery.delivery_state import DeliveryState
from unum_runtime.protocol.delivery.fusion import fits, may_fuse, own_event
from unum_runtime.protocol.delivery.join import complete, fail
from unum_runtime.protocol.fanout.neighbours import meet
from unum_runtime.protocol.planning.plan import (
    WITHOUT_BUCKET,
    BranchFailed,
    Commit,
    CompleteBranch,
    Effect,
    Finish,
    InlineCommit,
    Invoke,
    JoinNeighbour,
    OpenScope,
    branch,
    parts,
    plan,
    started_at_once,
)
from unum_runtime.protocol.runtime import Runtime
from unum_runtime.store.large_items import MAX_EVENT_BYTES


def perform(rt: Runtime, delivery: DeliveryState, *effects: Effect) -> None:
    """Do `effects` and all that follows from them in this sandbox; collect what nobody can need any more then.

    Args:
        rt: the runtime.
        delivery: of this delivery.
        effects: what was planned from committed outcomes; their events are sent together. What is fused is not sent,
            but put into the trail.
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
        followed = [_follow(rt, effect, delivery) for effect in others]
        wave = [*refused, *(_begun(rt, opened) if opened else ()), *chain.from_iterable(followed)]
    if rt.collection is Collection.EAGER:
        for commit_ in delivery.committed:
            collect_commit(rt, commit_)
        delivery.collected += [commit_.joins for commit_ in delivery.committed if commit_.joins is not None]
        tidy_up(rt, delivery)


def tidy_up(rt: Runtime, delivery: DeliveryState) -> None:
    """Take back what this delivery wrote for scopes that are settled.

    It may have come in place of one that settled a scope and died before it sent what follows; of what that would find
    once more, others may have taken something back. So it goes on from the outcome of the scope itself.
    """
    settled = settled_around(rt, delivery)
    if delivery.found:
        for scope, item in settled.items():
            _go_on(rt, scope, item, delivery.routes)
    take_back(rt, delivery, settled)


def envelope(rt: Runtime, effect: Invoke, routes: Mapping[str, str]) -> Envelope:
    """The event that `effect` sends."""
    return Envelope(
        workflow=rt.workflow.name,
        digest=rt.workflow.digest,
        name=effect.name,
        state=effect.state,
        input=effect.input,
        not_after_s=rt.not_after_s(effect.name.execution, effect.due_ms),
        routes=routes,
        retries=effect.retries,
        job=effect.job,
    )


def send(rt: Runtime, event: Envelope) -> None:
    """Send `event`, with which a delivery does not go on itself after all."""
    rt.invoker.invoke([(_address(rt, event.state, event.routes), large_payload.payload(rt, event))])


def _go_on(rt: Runtime, scope: Scope, item: Item, routes: Mapping[str, str]) -> None:
    """Do what follows from the outcome of a settled scope, unless others did, and collect the scope."""
    if TOMBSTONE in item or item["state"] != scope.state:  # or else a Task has joined the results
        return
    try:
        perform(rt, DeliveryState(routes), plan(rt.workflow, verified(rt, scope.join, scope.state, item)))
    except NoRoute as unknown:  # a delivery that had settled the scope would know the way
        rt.log("refused", reason=str(unknown))
    else:
        collect_scope(rt, scope)


def _begun(rt: Runtime, opened: list[OpenScope]) -> list[Invoke | Commit]:
    """How the branches of `opened` begin: here, or if these are too many for one delivery, in others."""
    if sum(len(started_at_once(each)) for each in opened) > rt.most_begun:
        return [part for each in opened for part in parts(each, rt.most_begun)]
    return [branch(each, index) for each in opened for index in started_at_once(each)]


def _follow(rt: Runtime, effect: Effect, delivery: DeliveryState) -> list[Effect]:
    """Do an effect that is no invocation; what has to be done next.

    Where something was collected, all that follows from this effect is done, but not from the others beside it.
    """
    try:
        return _done(rt, effect, delivery)
    except RefusedDelivery as refused:
        rt.log("refused", reason=str(refused))
        return []


def _done(rt: Runtime, effect: Effect, delivery: DeliveryState) -> list[Effect]:
    match effect:
        case Commit():
            delivery.committed.append(effect)
            return [commit(rt, effect, delivery)]
        case JoinNeighbour():
            return list(meet(rt, effect))
        case CompleteBranch(execution, frames):
            delivery.ended.append(effect)
            scope, pack = Scope.around(execution, frames), delivery.packs.get(frames)
            return [*complete(rt, scope, frames[-1].index, pack, delivery.lanes)]
        case BranchFailed(execution, frames, failure):
            delivery.ended.append(effect)
            scope, pack = Scope.around(execution, frames), delivery.packs.get(frames)
            return [*fail(rt, scope, frames[-1].index, failure, pack, delivery.lanes)]
        case Finish(execution, ending):
            rt.log("finished", execution=execution.name, status=ending.status)
    return []


def _send(rt: Runtime, invokes: list[Invoke], delivery: DeliveryState, *, is_all: bool) -> list[Commit]:
    """Send the events of `invokes`, some of them later; what to commit in place of those that cannot be sent.

    If one `is_all` that is left to do, it may be put into the trail instead.
    """
    now, later, routes = [], [], delivery.routes
    refused: list[Commit] = []
    for effect in invokes:
        event, due_ms = envelope(rt, effect, routes), _due_later(rt, effect)
        if is_all and due_ms is None and _fuses(rt, delivery, event):
            delivery.is_new = effect.is_new
            return []
        payload = large_payload.payload(rt, event)
        failure = _unsendable(rt, effect, len(payload))
        if failure is not None:
            refused.append(InlineCommit(effect.name, effect.state, Phase.LEFT, failure))
        elif due_ms is None:
            now.append((_address(rt, effect.state, routes), payload))
        else:
            later.append((_address(rt, effect.state, routes), payload, due_ms))
    if now:
        rt.invoker.invoke(now)
    if later:
        rt.timer.schedule(later)
    return refused


def _due_later(rt: Runtime, effect: Invoke) -> int | None:
    """When the event is due, in milliseconds since 1970; None where that is now."""
    return effect.due_ms if effect.due_ms is not None and effect.due_ms > rt.clock.now_ms() else None


def _fuses(rt: Runtime, delivery: DeliveryState, event: Envelope) -> bool:
    """Put `event` into the trail, if the delivery may go on with it."""
    task = rt.workflow.states[event.state]
    if not isinstance(task, Task) or not may_fuse(rt, delivery, event.name, task) or not fits(rt, event):
        return False
    if rt.fuses(rt.address(task.function, delivery.routes), event, task):
        delivery.ahead = own_event(event)
    return delivery.ahead is not None


def _address(rt: Runtime, to: str, routes: Mapping[str, str]) -> str:
    """Where an event for the state `to` goes: to the Task's function; for a Wait or a fan-out, it stays in this one."""
    state = rt.workflow.states[to]
    return rt.address(state.function, routes) if isinstance(state, Task) else rt.own_address


def _unsendable(rt: Runtime, effect: Invoke, size: int) -> Failure | None:
    if size > MAX_EVENT_BYTES:
        cause = f"the input of {effect.state!r} makes an event of {size} bytes; at most {MAX_EVENT_BYTES} are delivered"
        return Failure("States.DataLimitExceeded", cause + WITHOUT_BUCKET)
    if effect.due_ms is not None and effect.due_ms // 1000 > rt.last_s(effect.name.execution):
        days = rt.retention_s / 86_400
        cause = f"{effect.state!r} has to wait for longer than items are kept, {days:g} days; raise the retention"
        return Failure("States.Runtime", cause)
    return None
