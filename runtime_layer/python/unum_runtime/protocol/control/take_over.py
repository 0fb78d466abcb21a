"""Take an invocation over: perform what follows from it in place of a function whose role may not.

The intake repeats a delivery that found the outcome committed, or sends the pending event of an invocation without an
outcome. Both may happen at any time, twice, and die anywhere: the first commit of each name counts.
"""

from collections.abc import Mapping
from typing import cast

from unum_runtime.cold_start.records import replace
from unum_runtime.errors import NotOurEvent, RefusedDelivery
from unum_runtime.model.checkpoint import Checkpoint
from unum_runtime.model.envelope import Envelope, Neighbours, Results, Siblings, Value
from unum_runtime.model.naming import SHARD_SIZE, Name, Scope, checkpoint_key
from unum_runtime.model.states import SIGNAL
from unum_runtime.model.take_over_request import TakeOver
from unum_runtime.protocol.control.nudge import effects_of
from unum_runtime.protocol.delivery.commit import parse_committed
from unum_runtime.protocol.delivery.delivery_state import DeliveryState
from unum_runtime.protocol.delivery.ingress import read_committed, refuse_late
from unum_runtime.protocol.delivery.perform import envelope, perform
from unum_runtime.protocol.fanout.lanes import read_origin
from unum_runtime.protocol.history.pending import Missing, Resend, WaitsFor, missing_after
from unum_runtime.protocol.history.timeline import begin_effect, branches, branches_of_shard
from unum_runtime.protocol.planning.plan import (
    Commit,
    Effect,
    Invoke,
    JoinNeighbour,
    OpenScope,
    branch,
    effects_after,
    is_start,
    plan,
)
from unum_runtime.protocol.runtime import Runtime
from unum_runtime.protocol.waiting.callback import SLOT, is_nudge


def take_over(rt: Runtime, request: TakeOver, routes: Mapping[str, str]) -> None:
    """Perform what follows from the requested invocation.

    Args:
        rt: a runtime of the execution's version, with the routes of the invocation's function.
        request: names the invocation.
        routes: addresses that travel with the execution.

    Raises:
        RefusedDelivery: the request can have no effect any more.
        NotOurEvent: the execution has no such invocation.
        UnumError: a service did not answer; request again.
    """
    refuse_late(rt, request.name.execution, str(request.name))
    # A function fails such a retry itself. Here, a forged time must not fail the invocation.
    if request.due_ms is not None and request.due_ms // 1000 > rt.last_s(request.name.execution):
        raise NotOurEvent(f"{request.name}: expected a retry before the deadline of the execution")
    delivery = DeliveryState(routes)
    found = read_committed(rt, request.name, request.state)
    if found is not None:
        delivery.found.append(request.name)
        perform(rt, delivery, *effects_after(rt.workflow, _of_execution(found)))
        return
    perform(rt, delivery, *effects_of(rt, _pending(rt, request), {request.name}))


def planned_event(rt: Runtime, event: Envelope, routes: Mapping[str, str]) -> Envelope:
    """Return `event` with the content that the committed outcome before it gives it, for a sender that may forge one.

    Only the time of sending and the uses of the retriers are the event's own, and the input after a Task without a
    checkpoint, which is stored nowhere else.

    Args:
        rt: a runtime of the execution's version.
        event: the event of an invocation.
        routes: addresses that travel with the execution.

    Raises:
        RefusedDelivery: nothing depends on the event any more.
        NotOurEvent: the execution has no such invocation.
        StoreError: the store did not answer.
    """
    refuse_late(rt, event.name.execution, str(event.name))
    named = replace(event, routes=routes)
    # A part of a fan-out has no input, and the invocation with an outcome needs none.
    if isinstance(event.input, Siblings) or read_committed(rt, event.name, event.state) is not None:
        return named
    request = TakeOver.of(event, rt.own_address)
    if _is_without_checkpoint(rt, _leads_to(rt, request), event):
        return named
    effect = _pending(rt, request).effect
    if isinstance(effect, Resend):
        return _event_of_try(rt, effect.envelope, event)
    invoke = _joined(effect) if isinstance(effect, JoinNeighbour) else effect
    if not isinstance(invoke, Invoke):
        raise NotOurEvent(f"{event.name}: expected an event of the execution, got one of state {event.state!r}")
    # Who could say that it had failed before it was due could shorten every Wait.
    if invoke.due_ms is not None and invoke.due_ms > rt.clock.now_ms():
        raise NotOurEvent(f"{event.name}: expected an event that is due, got one of state {event.state!r}")
    return replace(envelope(rt, invoke, routes), sent_s=event.sent_s, tries=event.tries)


def _is_without_checkpoint(rt: Runtime, effect: Effect, event: Envelope) -> bool:
    """Return True if `effect` leads to a Task without a checkpoint, which leads to `event` under the same name."""
    if not isinstance(effect, Invoke) or effect.name != event.name or effect.state == event.state:
        return False
    return rt.workflow.committer(effect.state) == rt.workflow.committer(event.state)


def _pending(rt: Runtime, request: TakeOver) -> Missing:
    """Return the pending commit of an invocation without an outcome.

    Raises:
        NotOurEvent: no committed outcome leads to the invocation.
    """
    effect = _leads_to(rt, request)
    if not isinstance(effect, Invoke | JoinNeighbour | Commit):
        raise NotOurEvent(
            f"{request.name}: expected an outcome that leads to it, found one that leads to {effect!r:.200}"
        )
    invoke = _joined(effect) if isinstance(effect, JoinNeighbour) else effect
    if (invoke.name, invoke.state) != (request.name, request.state):
        raise NotOurEvent(f"{request.name}: expected state {invoke.state!r}, got {request.state!r}")
    missing = missing_after(rt, effect, since_ms=0)
    # What is not due yet has not failed, so a retry of it is a forgery.
    if not isinstance(invoke, Invoke) or missing.waits_for is WaitsFor.TIME:
        return missing
    last, asked = _last_started(missing.effect), sum(request.retries)
    if last is not None and last > asked:
        # A failure of this attempt must not count as one of the next, whose own events continue the invocation.
        raise RefusedDelivery(f"{request.name}: attempt {asked} is over, because attempt {last} has begun")
    if last == asked or not request.retries:
        return missing
    # The store has the job or token of the attempt before, which has failed.
    return replace(missing, effect=replace(invoke, retries=request.retries, due_ms=request.due_ms))


def _last_started(effect: object) -> int | None:
    """Return the number of the last attempt that has stored a job or a token; None without one."""
    match effect:
        case Resend(stored):
            return sum(stored.retries)
        case Invoke(job=dict(), retries=retries):
            return sum(retries)
    return None


def _event_of_try(rt: Runtime, stored: Envelope, event: Envelope) -> Envelope:
    """Return the `stored` event of a try with a token, in place of `event`; a check of its time for such a check."""
    # Of several events that began this attempt, the stored one may tell other times of the attempts before.
    planned = replace(stored, sent_s=event.sent_s, tries=event.tries)
    if stored.job is not None or event.job is None or is_nudge(event.job):
        return planned
    # User code has run: the event before the first check would run it again.
    since_ms, slot = rt.clock.now_ms() if stored.begun_ms is None else stored.begun_ms, None
    task = rt.workflow.task(stored.state)
    if (task.resource or "").startswith(SIGNAL):
        from unum_runtime.features.signals.signal_wait import in_own_slot  # noqa: PLC0415 - few workflows wait for signals

        slot = (in_own_slot(rt, stored, task, cast("Value", stored.input)).job or {}).get(SLOT)
    return replace(planned, job={"since": since_ms, SLOT: slot})


def _joined(effect: JoinNeighbour) -> Invoke:
    """Return the event of a neighbour join, which reads the inputs of both branches."""
    return replace(effect.invoke, input=Neighbours())


def _leads_to(rt: Runtime, request: TakeOver) -> Effect:
    """Return the effect of the outcome before the requested invocation."""
    name = request.name
    if name.frames and name.step == 0:
        return _branch_begin(rt, name)
    before = replace(name, step=name.step - 1)
    key = checkpoint_key(rt.workflow.name, before)
    item = rt.store.read([key]).get(key)
    if item is None:
        raise NotOurEvent(f"{name}: expected an outcome before it, found none")
    effect = plan(rt.workflow, _of_execution(parse_committed(rt, before, str(item["state"]), item)))
    match effect:
        case OpenScope(scope, arrival) if arrival.state.join is not None:
            return Invoke(scope.join, arrival.state.join, Results(scope))
    return _with_previous(rt, effect)


def _with_previous(rt: Runtime, effect: Effect) -> Effect:
    """Return `effect`; the event of a Task that waits for a result of the previous branch has this result.

    Raises:
        NotOurEvent: the previous branch has no such result yet.
    """
    awaited = rt.workflow.task(effect.invoke.state).after_previous if isinstance(effect, JoinNeighbour) else None
    if not isinstance(effect, JoinNeighbour) or awaited is None:
        return effect
    from unum_runtime.features.waves.previous_results import begin_joined, result_of  # noqa: PLC0415 - few workflows

    name = effect.invoke.name
    shard, place = divmod(name.frames[-1].index - 1, SHARD_SIZE)
    scope = Scope.around(name.execution, name.frames)
    found = result_of(branches_of_shard(rt.store, rt.workflow.name, scope, shard)[place], awaited)
    if found is None:
        raise NotOurEvent(f"{name}: expected the result of {awaited!r} in the branch before")
    return begin_joined(effect, found)


def _branch_begin(rt: Runtime, name: Name) -> Effect:
    """Return the effect that begins the branch whose first invocation is `name`.

    Raises:
        NotOurEvent: it is a node of a region that waits for results.
    """
    opened, index = read_origin(rt, Scope.around(name.execution, name.frames)), name.frames[-1].index
    if not opened.arrival.state.needs:
        return branch(opened, index)
    courses = list(branches(rt.store, rt.workflow.name, opened.scope))
    effect = begin_effect(opened, index, lambda source: courses[source][-1] if courses[source] else None)
    if effect is None:
        raise NotOurEvent(f"{name}: expected the results of all nodes that it waits for")
    return effect


def _of_execution(found: Checkpoint) -> Checkpoint:
    """Return `found` unless it is the start record of another execution with the same name.

    Raises:
        NotOurEvent: it is.
    """
    # Its key has no start time. A forged one would make the same execution run again under another identity.
    if is_start(found.name) and found.committed_ms != found.name.execution.started_ms:
        raise NotOurEvent(f"{found.name}: expected a start at {found.committed_ms}")
    return found
