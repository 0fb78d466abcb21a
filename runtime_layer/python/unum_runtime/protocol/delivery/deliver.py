"""The protocol on one screen: what one delivery does.

1. Ingress: refuse what is late or foreign; a known outcome is not computed again.
2. Run user code on the input it would have had without us; under a lease, if the Task asks for one. What it fails
   with may lead to another try, which is another event for the same invocation.
3. Commit the outcome if there is none yet; from here on only the committed outcome counts, whoever wrote it.
4. Plan what follows, a pure function of the committed outcome.
5. Perform it: invoke, complete a branch, or finish.
6. Collect what nobody can need any more.

A delivery may die between any two of these; the next delivery of the same event goes on from what was committed.
Where all that follows is an invocation of the same function, one delivery may do both: see `fusion`.
"""

from unum_runtime.errors import LeaseHeldError, OutcomeCollected, RefusedDelivery
from unum_runtime.model.envelope import Envelope, Value
from unum_runtime.model.ir import Collection, State
from unum_runtime.protocol.delivery.collect import collect_behind
from unum_runtime.protocol.delivery.commit import commit
from unum_runtime.protocol.delivery.delivery_state import DeliveryState
from unum_runtime.protocol.delivery.fusion import is_first
from unum_runtime.protocol.delivery.ingress import admit, look_up
from unum_runtime.protocol.delivery.lease import claim_invocation
from unum_runtime.protocol.delivery.perform import perform, send, tidy_up
from unum_runtime.protocol.delivery.run_task import run
from unum_runtime.protocol.planning.plan import Commit, Invoke
from unum_runtime.protocol.runtime import CallbackPending, Runtime
from unum_runtime.protocol.waiting.callback import forget
from unum_runtime.protocol.waiting.service_job import forget as forget_job


def step(rt: Runtime, envelope: Envelope, *, fresh: bool = False) -> None:
    """Work on one delivery of `envelope`, and on what follows from it in this function, as far as that may be fused.

    Args:
        rt: the runtime.
        envelope: the event.
        fresh: whether this delivery itself planned the event just now, so that there is no outcome to look for.

    Raises:
        RefusedDelivery: nothing can come of the event; it must not be delivered again.
        LeaseHeldError: the work is being done; the event must be delivered again, in case it is not done in the end.
        UnumError: something did not answer; the event must be delivered again.
    """
    delivery = DeliveryState(envelope.routes, may_go_on=True)
    _once(rt, envelope, delivery, fresh=fresh)
    while delivery.ahead is not None:  # no recursion: a loop may go on for as long as the sandbox lives
        fresh = is_first(rt, delivery, envelope, delivery.ahead)
        envelope = delivery.ahead
        delivery = delivery.onward(envelope)
        try:
            _once(rt, envelope, delivery, fresh=fresh)
        except LeaseHeldError:  # this delivery may be the last of its own event, so that waits for nobody else's work
            send(rt, envelope)
            return


def _once(rt: Runtime, envelope: Envelope, delivery: DeliveryState, *, fresh: bool) -> None:
    state = admit(rt, envelope)
    with claim_invocation(rt, envelope, state) as claim:
        try:
            effect = look_up(rt, envelope, state, fresh=fresh)
        except OutcomeCollected:
            delivery.found.append(envelope.name)
            tidy_up(rt, delivery)
            raise
        except RefusedDelivery:
            if envelope.job is not None:
                _forget(rt, envelope, state)
            raise
        if isinstance(effect, Value):
            claim.insist()
            done = run(rt, envelope, state, effect)
            if not isinstance(done, Commit):
                _leave_open(rt, done, envelope)
                return
            effect = commit(rt, done, delivery)
        else:
            delivery.found.append(envelope.name)
    perform(rt, delivery, effect)
    if rt.collection is Collection.EAGER:
        collect_behind(rt, envelope)
    _forget(rt, envelope, state)


def _forget(rt: Runtime, envelope: Envelope, state: State) -> None:
    """Collect what was stored while the invocation waited for somebody or for a job, as nobody will ask for it."""
    if rt.collection is Collection.EAGER:
        forget(rt, envelope, state)
        forget_job(rt, envelope, state)


def _leave_open(rt: Runtime, done: Invoke | CallbackPending, envelope: Envelope) -> None:
    """The invocation has no outcome yet: another try follows, or somebody else hands the outcome in."""
    if isinstance(done, Invoke):
        perform(rt, DeliveryState(envelope.routes), done)
