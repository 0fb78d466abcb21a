"""The protocol on one screen: six delivery steps.

1. Ingress: refuse a late or foreign event; skip user code if the outcome is committed.
2. Run user code on the input that it would have without Unum, under a lease if the Task has one. A failure may lead to
   a retry, which is another event for the same invocation.
3. Commit the outcome unless one is committed; from here on only the committed outcome counts.
4. Plan the continuation, a pure function of the committed outcome.
5. Perform the effects: invoke, complete a branch, or finish.
6. Collect outcomes that can no longer be needed.

A delivery may die between any two steps; the next delivery of the same event continues from the commit. If the only
effect is an invocation in the same function, this delivery may run it too: see `fusion`. If another delivery has the
lease, this one schedules its event for later: see `waiter`.
"""

from collections.abc import Sequence
from contextlib import nullcontext, suppress

from unum_runtime.cold_start.records import replace
from unum_runtime.errors import (
    InconsistentHistory,
    LeaseHeldError,
    OutcomeCollected,
    RefusedDelivery,
    RouteGone,
    StoreDenied,
    StoreError,
)
from unum_runtime.model.envelope import Envelope, Value
from unum_runtime.model.ir import Collection
from unum_runtime.model.states import Guard, State, Task
from unum_runtime.protocol.delivery.commit import commit
from unum_runtime.protocol.delivery.delivery_state import DeliveredEvent, DeliveryState
from unum_runtime.protocol.delivery.fusion import is_first
from unum_runtime.protocol.delivery.ingress import admit, is_unguarded, look_up, may_be_late
from unum_runtime.protocol.delivery.lease import claim_invocation
from unum_runtime.protocol.delivery.perform import perform
from unum_runtime.protocol.delivery.run_task import run
from unum_runtime.protocol.planning.plan import Commit, Effect, Invoke
from unum_runtime.protocol.planning.task_facts import task_facts
from unum_runtime.protocol.runtime import Runtime
from unum_runtime.protocol.waiting.service_job import collect_jobs


def step(rt: Runtime, envelope: Envelope, *, fresh: bool = False) -> None:
    """Process one delivery of `envelope`, including fused invocations after it.

    Args:
        rt: the runtime.
        envelope: the event.
        fresh: True if this delivery itself just planned the event, so its outcome cannot be committed yet.

    Raises:
        RefusedDelivery: the event can have no effect any more; do not deliver it again.
        UnumError: a service did not answer; deliver the event again.
    """
    delivery = DeliveryState(envelope.routes, may_continue=True)
    name = envelope.name.execution.name
    try:
        _deliver(rt, envelope, delivery, fresh=fresh)
        while delivery.ahead is not None:  # a loop, not recursion: a chain of fused invocations may be very long
            fresh = is_first(rt, delivery, envelope, delivery.ahead)
            envelope = delivery.ahead
            delivery = delivery.next_step(envelope)
            _deliver(rt, envelope, delivery, fresh=fresh)
    except (InconsistentHistory, StoreError) as error:
        from unum_runtime.protocol.delivery.deletion import refuse_if_deleted  # noqa: PLC0415 - few deliveries fail

        refuse_if_deleted(rt, name, error)
        raise
    except LeaseHeldError as held:
        from unum_runtime.features.timers.waiter import wait_for_result  # noqa: PLC0415 - few deliveries wait

        wait_for_result(rt, envelope, held)


def _deliver(rt: Runtime, envelope: Envelope, delivery: DeliveryState, *, fresh: bool) -> None:
    state = admit(rt, envelope)
    is_leased = isinstance(state, Task) and state.guard is Guard.LEASE
    if rt.large is not None and not fresh and is_unguarded(envelope, state) and may_be_late(rt, envelope):
        rt = replace(rt, store=rt.large.looking())
    if is_leased and not fresh and may_be_late(rt, envelope):
        with suppress(OutcomeCollected):  # what is refused after a deletion leaves no lease
            _look_up(rt, envelope, state, fresh=fresh)
    # The lease is taken before the store is read: the owner before this one may just have committed.
    with claim_invocation(rt, envelope) if is_leased else nullcontext() as claim:
        try:
            effects = _look_up(rt, envelope, state, fresh=fresh)
        except OutcomeCollected:
            delivery.found.append(envelope.name)
            if rt.collection is Collection.EAGER:  # a deletion leaves tombstones, too
                from unum_runtime.features.eager_collection.collect import tidy_up  # noqa: PLC0415 - few workflows

                tidy_up(rt, delivery)
            raise
        if isinstance(effects, Value):
            if claim is not None:
                claim.insist()
            done = run(rt, envelope, state, effects)
            if isinstance(done, Invoke):  # a retry or a poll: the invocation has no outcome yet
                _continue(rt, DeliveryState(envelope.routes), envelope, [done])
            if not isinstance(done, Commit):
                return
            delivery.event = DeliveredEvent(envelope, effects.entered_ms)
            effects = commit(rt, done, delivery)
        else:
            delivery.found.append(envelope.name)
    if _continue(rt, delivery, envelope, effects) and rt.collection is Collection.EAGER:
        from unum_runtime.features.eager_collection.collect import collect_input  # noqa: PLC0415 - few workflows

        collect_input(rt, envelope)
        _collect_waiting(rt, envelope, state)


def _look_up(rt: Runtime, envelope: Envelope, state: State, *, fresh: bool) -> Value | list[Effect]:
    """Look up as `look_up` does, and collect what a refused event's invocation has waited for."""
    try:
        return look_up(rt, envelope, state, fresh=fresh)
    except RefusedDelivery:
        if envelope.job is not None:
            _collect_waiting(rt, envelope, state)
        raise


def _continue(rt: Runtime, delivery: DeliveryState, envelope: Envelope, effects: Sequence[Effect]) -> bool:
    """Perform `effects`; return False if its invocation was handed over to the intake."""
    try:
        perform(rt, delivery, *effects)
    except (RouteGone, StoreDenied) as denied:
        from unum_runtime.protocol.delivery.hand_over import hand_over  # noqa: PLC0415 - after a deployment only

        hand_over(rt, envelope.name, envelope.state, denied, effects[0])
        return False
    return True


def _collect_waiting(rt: Runtime, envelope: Envelope, state: State) -> None:
    """Collect the invocation's stored task tokens and service jobs."""
    if rt.collection is not Collection.EAGER:
        return
    facts = task_facts(rt.workflow).get(state.name)
    # Slots of signals stay until they expire: they make a repeated signal known, and the next one find its place.
    if facts is not None and facts.gives_token and not facts.waits_for_signal:
        from unum_runtime.features.task_tokens.given_tokens import collect_tokens  # noqa: PLC0415 - few Tasks have tokens

        collect_tokens(rt, envelope)
    collect_jobs(rt, envelope, state)
