"""Events that the platform has given up: somebody else commits what their invocations came to, and goes on from it.

It is what a delivery of the event does, but for user code. So it may be done twice, die anywhere, and race with a late
success of the same invocation: what is committed first counts, whoever did it.
"""

from unum_runtime.cold_start.records import replace
from unum_runtime.model.checkpoint import Failure
from unum_runtime.model.envelope import Envelope, Value
from unum_runtime.model.ir import Collection, Guard, Task
from unum_runtime.protocol.delivery.collect import collect_behind
from unum_runtime.protocol.delivery.commit import commit
from unum_runtime.protocol.delivery.deliver import step
from unum_runtime.protocol.delivery.delivery_state import DeliveryState
from unum_runtime.protocol.delivery.ingress import admit, look_up
from unum_runtime.protocol.delivery.perform import perform
from unum_runtime.protocol.delivery.run_task import is_over, recovered
from unum_runtime.protocol.planning.plan import Invoke
from unum_runtime.protocol.runtime import CallbackPending, Runtime


def fail_invocation(rt: Runtime, envelope: Envelope, failure: Failure) -> None:
    """Go on from what the invocation of `envelope` came to: a committed outcome, or else what `failure` leads to.

    Where no user code would have run, there is nothing that could have failed but the delivery: it is made up for.

    Args:
        rt: a runtime that knows the ways of the function that the event was for. It runs no user code.
        envelope: the event.
        failure: what the platform says became of its last delivery.

    Raises:
        RefusedDelivery: nothing can come of the event any more.
        LeaseHeldError: the work is being done; this must be done again, in case it is not done in the end.
        UnumError: something did not answer; this must be done again.
    """
    state, delivery = admit(rt, envelope), DeliveryState(envelope.routes)
    if not isinstance(state, Task) or is_over(envelope, state):
        step(rt, envelope)
        return
    # Whatever the guard says: a second run of user code is what it may save, and here none runs.
    effect = look_up(rt, envelope, replace(state, guard=Guard.READ), fresh=False)
    if isinstance(effect, Value):
        done = recovered(rt, envelope, state, effect, failure)
        if isinstance(done, CallbackPending):  # somebody has handed in its result, and another event goes on from that
            return
        if isinstance(done, Invoke):  # of another try: the invocation has no outcome yet
            perform(rt, delivery, done)
            return
        effect = commit(rt, done, delivery)
    else:
        delivery.found.append(envelope.name)
    perform(rt, delivery, effect)
    if rt.collection is Collection.EAGER:
        collect_behind(rt, envelope)
