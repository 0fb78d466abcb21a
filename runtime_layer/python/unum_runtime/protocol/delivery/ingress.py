"""What a delivery finds before user code runs: is it in time, is its outcome known, what is its input."""

from unum_runtime.errors import NotOurEvent, OutcomeCollected, RefusedDelivery
from unum_runtime.model.checkpoint import Checkpoint, is_stop_record
from unum_runtime.model.envelope import Envelope, Neighbours, Results, Siblings, Stored, Value
from unum_runtime.model.ir import Guard, Pattern, State, Task
from unum_runtime.model.naming import checkpoint_key
from unum_runtime.protocol.delivery.commit import draft, verified
from unum_runtime.protocol.delivery.join import joined
from unum_runtime.protocol.delivery.large_payload import entered
from unum_runtime.protocol.fanout.lanes import siblings
from unum_runtime.protocol.fanout.lookup import look
from unum_runtime.protocol.fanout.neighbours import neighbours
from unum_runtime.protocol.planning.plan import Commit, Effect, Invoke, plan
from unum_runtime.protocol.runtime import Runtime
from unum_runtime.protocol.waiting.callback import check_look


def admit(rt: Runtime, envelope: Envelope) -> State:
    """The state that `envelope` is for.

    Raises:
        NotOurEvent: the envelope is of another workflow or another version of it.
        RefusedDelivery: its deadline has passed.
    """
    ours = (rt.workflow.name, rt.workflow.digest)
    if (envelope.workflow, envelope.digest) != ours:
        raise NotOurEvent(f"expected an event of workflow and IR {ours}, got {(envelope.workflow, envelope.digest)}")
    now_s = rt.clock.now_ms() // 1000
    if now_s > envelope.not_after_s:
        late_s = now_s - envelope.not_after_s
        raise RefusedDelivery(
            f"{envelope.name}: delivered {late_s} s after its deadline; what it refers to may be gone"
        )
    return rt.workflow.states[envelope.state]


def look_up(rt: Runtime, envelope: Envelope, state: State, *, fresh: bool) -> Value | Effect:
    """What there is to do for an admitted `envelope`: run user code on a value, or go on from what is committed.

    Raises:
        RefusedDelivery: nothing depends on it any more.
        InconsistentHistory: what is stored contradicts it.
        StoreError: the store could not be read.
    """
    if isinstance(envelope.input, Siblings):
        return siblings(rt, envelope.name, envelope.input.stop)
    known = None if fresh or _is_unguarded(envelope, state) else _committed(rt, envelope)
    if known is None:
        try:
            return _input(rt, envelope)
        except OutcomeCollected as collected:
            known = _made_of(rt, envelope, collected)
    check_look(rt, envelope, state)
    return plan(rt.workflow, known)


def _is_unguarded(envelope: Envelope, state: State) -> bool:
    """Whether nobody is asked: where the guard says so, unless somebody was waited for.

    Where no user code runs there is nothing to guard, but in a branch only a look tells that the execution was stopped.
    """
    if not isinstance(state, Task):
        return not envelope.name.frames
    has_waited = state.pattern is Pattern.CALLBACK and envelope.job is not None
    return state.guard is Guard.COMMIT and not has_waited


def _committed(rt: Runtime, envelope: Envelope) -> Checkpoint | None:
    """The outcome of `envelope`; it is looked up in one request with what the fan-outs around it came to.

    An outcome goes on even if they are settled: by this delivery, perhaps, which died before it could say so.

    Raises:
        RefusedDelivery: the execution was stopped; or a fan-out was settled without this branch.
    """
    found, settled = look(rt, envelope.name, envelope.state)
    if any(map(is_stop_record, settled)):
        raise RefusedDelivery(f"{envelope.name}: the execution was stopped")
    if found is not None:
        return verified(rt, envelope.name, envelope.state, found)
    if settled:
        raise RefusedDelivery(f"{envelope.name}: a fan-out around it is settled without this branch")
    return None


def _made_of(rt: Runtime, envelope: Envelope, collected: OutcomeCollected) -> Checkpoint:
    """What was made of an input that is collected: the Task's outcome, or that of the fan-out whose results it is.

    Raises:
        OutcomeCollected: nothing is, because a scope around is settled.
    """
    key = checkpoint_key(rt.workflow.name, envelope.name)
    item = rt.store.read([key]).get(key)
    if item is None:
        raise collected
    return verified(rt, envelope.name, envelope.state, item)


def _input(rt: Runtime, envelope: Envelope) -> Value | Commit:
    """The Task's input; where results cannot be joined to one, the failure that their fan-out comes to."""
    if isinstance(envelope.input, Value):
        return envelope.input
    if isinstance(envelope.input, Stored):
        return entered(rt, envelope.input)
    if isinstance(envelope.input, Neighbours):
        return neighbours(rt, envelope).own()
    assert isinstance(envelope.input, Results)  # noqa: S101 - `look_up` has dealt with what has no input
    joining = joined(rt, envelope.input.scope)
    following = plan(rt.workflow, draft(rt, joining))
    if isinstance(following, Invoke) and following.name == envelope.name and isinstance(following.input, Value):
        return following.input.own()
    return joining
