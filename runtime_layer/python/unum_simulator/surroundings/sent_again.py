"""Checks of events resent by the failure handler after throttling."""

from unum_runtime.model.envelope import Envelope
from unum_runtime.model.naming import checkpoint_key, scopes_around
from unum_runtime.model.states import Pattern, Task
from unum_runtime.protocol.runtime import DEADLINE_MARGIN_S
from unum_simulator.invariants import Broken, Invariant
from unum_simulator.world import Delivery, Event, World


def check_sent_again(world: World, delivery: Delivery, sent: Event) -> None:
    """Raise Broken unless `sent` repeats a throttled event within execution time."""
    given_up, again = delivery.event.envelope, sent.envelope
    if not delivery.event.is_record or delivery.event.error or given_up is None or again is None:
        return
    if (given_up.name, given_up.state) != (again.name, again.state):
        return
    # An earlier delivery of the event may have given out a token, whose answer ends the try. A check of the time of a
    # try may end it here.
    attempt = (given_up.name, given_up.state, sum(given_up.retries))
    has_begun = any((each.name, each.state, each.attempt) == attempt for each in world.tokens.values())
    if not (has_begun or _is_check(world, given_up)) and (given_up.retries, given_up.tries) != (
        again.retries,
        again.tries,
    ):
        raise Broken(Invariant.CONSISTENT, f"{delivery} counts an attempt of {sent}, which has not begun")
    execution = again.name.execution
    last_ms = (execution.started_ms // 1000 + world.scenario.retention_s - DEADLINE_MARGIN_S + 1) * 1000
    if sent.ready_ms > last_ms:
        raise Broken(Invariant.NO_LOST_WORK, f"{delivery} sends {sent} after the last moment of its execution")
    joins = (
        checkpoint_key(world.scenario.workflow.name, each.join) for each in scopes_around(execution, again.name.frames)
    )
    if not delivery.committed.isdisjoint(joins):
        raise Broken(Invariant.NO_RERUN, f"{delivery} sends {sent}, although a fan-out around it has an outcome")


def _is_check(world: World, event: Envelope) -> bool:
    """Return True if `event` checks the time of a try that waits for a responder or a signal."""
    state = world.scenario.workflow.states[event.state]
    return event.job is not None and isinstance(state, Task) and state.pattern is Pattern.CALLBACK
