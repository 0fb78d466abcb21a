"""Platform failures: the failure handler commits failures of events after Lambda's last retry, and continues.

It does the same as a delivery of the event, without user code. So it may run twice, die anywhere, and race with a late
success of the same invocation: the first commit counts.
"""

from collections.abc import Callable

from unum_runtime.cold_start.records import replace
from unum_runtime.model.checkpoint import Failure
from unum_runtime.model.envelope import Envelope, Value
from unum_runtime.model.ir import Collection
from unum_runtime.model.states import Guard, Task
from unum_runtime.protocol.delivery.commit import commit
from unum_runtime.protocol.delivery.deliver import step
from unum_runtime.protocol.delivery.delivery_state import DeliveredEvent, DeliveryState
from unum_runtime.protocol.delivery.ingress import admit, look_up
from unum_runtime.protocol.delivery.perform import perform
from unum_runtime.protocol.delivery.run_task import is_over, recover_failure
from unum_runtime.protocol.planning.plan import Invoke
from unum_runtime.protocol.runtime import CallbackPending, Runtime


def fail_invocation(
    rt: Runtime, envelope: Envelope, failure: Failure, send_again: Callable[[], bool] | None = None
) -> None:
    """Continue from `envelope`'s committed outcome; without one, recover from or commit `failure`.

    Args:
        rt: a runtime with the routes of the event's function; it runs no user code.
        envelope: the event.
        failure: the failure of its last delivery, as the platform reports it.
        send_again: for an event without a delivery, a function that sends it again and returns True, or returns False
            if there is no time for it; without an outcome it takes the place of `failure`.

    Raises:
        RefusedDelivery: the event can have no effect any more.
        UnumError: a service did not answer; call again.
    """
    state, delivery = admit(rt, envelope), DeliveryState(envelope.routes)
    # Without user code only the delivery itself can have failed: repeat it here.
    if not isinstance(state, Task) or is_over(envelope, state):
        step(rt, envelope)
        return
    # Always read the outcome, whatever the Task's guard is: a guard may skip the read only if user code runs again.
    effects = look_up(rt, envelope, replace(state, guard=Guard.READ), fresh=False)
    if isinstance(effects, Value):
        if send_again is not None and send_again():
            return
        done = recover_failure(rt, envelope, state, effects, failure)
        if isinstance(done, CallbackPending):  # a responder has sent the result, and another event continues from it
            return
        if isinstance(done, Invoke):  # a retry: the invocation has no outcome yet
            perform(rt, delivery, done)
            return
        delivery.event = DeliveredEvent(envelope, effects.entered_ms)
        effects = commit(rt, done, delivery)
    else:
        delivery.found.append(envelope.name)
    perform(rt, delivery, *effects)
    if rt.collection is Collection.EAGER:
        from unum_runtime.features.eager_collection.collect import collect_input  # noqa: PLC0415 - few workflows

        collect_input(rt, envelope)
