"""Ingress: check an event's deadline, read its committed outcome, else read user code's input."""

from unum_runtime.errors import NotOurEvent, OutcomeCollected, RefusedDelivery
from unum_runtime.model.checkpoint import Checkpoint, is_stop_record
from unum_runtime.model.envelope import Envelope, Neighbours, Results, Siblings, Stored, Value
from unum_runtime.model.naming import Execution, Name, checkpoint_key
from unum_runtime.model.states import SIGNAL, Guard, Pattern, State, Task
from unum_runtime.protocol.delivery.commit import draft, parse_committed
from unum_runtime.protocol.delivery.join import join_results
from unum_runtime.protocol.delivery.large_payload import read_stored
from unum_runtime.protocol.fanout.lanes import read_part
from unum_runtime.protocol.fanout.neighbours import read_neighbours
from unum_runtime.protocol.fanout.packing import read_outcome
from unum_runtime.protocol.planning.plan import Commit, Effect, Invoke, effects_after, plan
from unum_runtime.protocol.runtime import Runtime
from unum_runtime.protocol.waiting.callback import is_response_left

LATE_MS = 30_000
"""Age of an event that is no longer on time, in milliseconds: half a minute less than clocks may differ."""


def admit(rt: Runtime, envelope: Envelope) -> State:
    """Return the state of `envelope`.

    Raises:
        NotOurEvent: the envelope is of another workflow or of another version of it.
        RefusedDelivery: the items of its execution may have expired.
    """
    ours = (rt.workflow.name, rt.workflow.digest)
    if (envelope.workflow, envelope.digest) != ours:
        raise NotOurEvent(f"expected an event of workflow and IR {ours}, got {(envelope.workflow, envelope.digest)}")
    refuse_late(rt, envelope.name.execution, str(envelope.name))
    return rt.workflow.states[envelope.state]


def refuse_late(rt: Runtime, execution: Execution, what: str) -> None:
    """Refuse and count events that arrive after the last moment of their execution.

    Raises:
        RefusedDelivery: the items of `execution` may have expired.
    """
    late_s = rt.clock.now_ms() // 1000 - rt.last_s(execution)
    # Before that no item of the execution has expired; afterwards, a missing outcome would prove nothing.
    if late_s > 0:
        rt.log("late", execution=execution.name, late_s=late_s)
        raise RefusedDelivery(f"{what}: delivered {late_s} s after its deadline; its items may have expired")


def look_up(rt: Runtime, envelope: Envelope, state: State, *, fresh: bool) -> Value | list[Effect]:
    """Return user code's input, or the committed outcome's effects.

    Raises:
        RefusedDelivery: nothing depends on the event any more.
        InconsistentHistory: a stored item contradicts the event.
        StoreError: the store could not be read.
    """
    if isinstance(envelope.input, Siblings):
        return [read_part(rt, envelope.name, envelope.input.stop)]
    known = None if fresh or is_unguarded(envelope, state) else read_committed(rt, envelope.name, envelope.state)
    if known is None:
        try:
            entered = _read_input(rt, envelope)
        except OutcomeCollected as collected:
            known = _read_successor(rt, envelope, collected)
        else:
            return [entered] if isinstance(entered, Commit) else entered
    _refuse_late_check(rt, envelope, state)
    return effects_after(rt.workflow, known)


def _refuse_late_check(rt: Runtime, envelope: Envelope, state: State) -> None:
    """Refuse a check of a callback's time that comes after its result.

    Raises:
        RefusedDelivery: the event is such a check.
    """
    if envelope.job is not None and isinstance(state, Task) and state.pattern is Pattern.CALLBACK:
        from unum_runtime.features.task_tokens.given_tokens import refuse_late_check  # noqa: PLC0415 - few Tasks wait

        refuse_late_check(rt, envelope)


def is_unguarded(envelope: Envelope, state: State) -> bool:
    """Return True if the event skips reading its outcome."""
    # A state without user code has nothing to repeat, except that in a branch only the read finds a stop.
    if not isinstance(state, Task):
        return not envelope.name.frames
    has_waited = envelope.job is not None and is_response_left(envelope.job, state)
    # A wait for a signal has no user code to begin early with, and would enter a mailbox that a deletion has emptied.
    is_wait = (state.resource or "").startswith(SIGNAL)
    return state.guard is Guard.COMMIT and not has_waited and not is_wait


def may_be_late(rt: Runtime, envelope: Envelope) -> bool:
    """Return True if the execution may have been deleted long enough ago that no later deletion finds new objects."""
    # Such a deletion follows `QUIET_MS` after the end of the execution. Only an event that was sent a minute before, or
    # that has waited for its time, is delivered so late that it may still run then.
    has_waited = envelope.due_ms is not None or bool(envelope.retries)
    if has_waited or rt.clock.now_ms() - envelope.sent_s * 1000 >= LATE_MS:
        return True
    # A Task without a commit finds no mark of a deletion, and passes the name of its event on to a young one.
    return any(task.committed_by == envelope.state for task in rt.workflow.tasks)


def read_committed(rt: Runtime, name: Name, state: str) -> Checkpoint | None:
    """Read invocation `name`'s committed outcome and its scopes' outcomes in one request.

    Raises:
        RefusedDelivery: the execution was stopped, or a scope around was settled without this branch.
    """
    found, settled = read_outcome(rt, name, state)
    if any(map(is_stop_record, settled)):
        raise RefusedDelivery(f"{name}: the execution was stopped")
    # An outcome continues even in a settled scope: this event's last delivery may have settled it, and died then.
    if found is not None:
        return parse_committed(rt, name, state, found)
    if settled:
        raise RefusedDelivery(f"{name}: a fan-out around it is settled without this branch")
    return None


def _read_successor(rt: Runtime, envelope: Envelope, collected: OutcomeCollected) -> Checkpoint:
    """Return a collected input's successor: the committed outcome of its Task or fan-out.

    Raises:
        OutcomeCollected: there is none, because a scope around is settled.
    """
    key = checkpoint_key(rt.workflow.name, envelope.name)
    item = rt.store.read([key]).get(key)
    if item is None:
        raise collected
    return parse_committed(rt, envelope.name, envelope.state, item)


def _read_input(rt: Runtime, envelope: Envelope) -> Value | Commit:
    """Return the Task's input, or a commit of the fan-out's failure if joining its results fails."""
    if isinstance(envelope.input, Value):
        return envelope.input
    if isinstance(envelope.input, Stored):
        return read_stored(rt, envelope.input)
    if isinstance(envelope.input, Neighbours):
        return read_neighbours(rt, envelope).own()
    assert isinstance(envelope.input, Results)  # noqa: S101 - `look_up` returned already for events without input
    joining = join_results(rt, envelope.input.scope)
    following = plan(rt.workflow, draft(rt, joining))
    if isinstance(following, Invoke) and following.name == envelope.name and isinstance(following.input, Value):
        return following.input.own()
    return joining
