"""Nudge: resend the pending events of an execution.

The top level and each branch continue from their last commits, as after a late event. A nudge may therefore come at any
time, come twice, or die: it repeats no committed invocation, and the others are ordinary invocations.
"""

from collections.abc import Iterable
from contextlib import suppress

from unum_runtime.cold_start.records import replace
from unum_runtime.errors import NotOurEvent, RefusedDelivery
from unum_runtime.model.checkpoint import Checkpoint, ForkOrigin, Phase, Success
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import Name, Scope, checkpoint_key
from unum_runtime.protocol.control.forking import finish, unfinished
from unum_runtime.protocol.delivery.delivery_state import DeliveryState
from unum_runtime.protocol.delivery.join import complete_again, fail
from unum_runtime.protocol.delivery.perform import perform
from unum_runtime.protocol.delivery.start import execution_routes
from unum_runtime.protocol.fanout.neighbours import record_arrival
from unum_runtime.protocol.history.overdue import is_overdue
from unum_runtime.protocol.history.pending import EndedBranches, Gap, Missing, Resend, WaitsFor, gaps
from unum_runtime.protocol.history.timeline import from_start
from unum_runtime.protocol.planning.plan import Commit, Effect, JoinNeighbour
from unum_runtime.protocol.runtime import Runtime

HELD = frozenset({WaitsFor.ANSWER})
"""Reasons that a nudge leaves alone: only a responder with the task token can continue."""


def missing(rt: Runtime, execution_name: str, *, silent_ms: int = 0) -> list[Missing]:
    """Return the pending commits of an execution; none after its end. An unfinished fork waits for its first own step.

    Args:
        rt: a runtime of the execution's version.
        execution_name: name of the execution.
        silent_ms: only commits overdue by so many milliseconds; 0 for all.

    Raises:
        ExecutionDoesNotExist: no execution has that name.
        NotOurEvent: the execution runs on another version.
    """
    return _missing(_gaps(rt, own_steps(rt, execution_name), silent_ms))


def nudge(rt: Runtime, execution_name: str, *, silent_ms: int = 0) -> list[Missing]:
    """Perform the pending effects of an execution and poll its jobs; Tasks that wait for an answer are left alone.

    An unfinished fork is finished first.

    Args:
        rt: a runtime of the execution's version with the addresses of all functions.
        execution_name: name of the execution.
        silent_ms: only commits overdue by so many milliseconds; 0 for all.

    Returns:
        The pending commits, those that wait for an answer included.

    Raises:
        ExecutionDoesNotExist: no execution has that name.
        NotOurEvent: the execution runs on another version.
        ClientError: the execution is a fork that can never be finished.
        TimeIsShort: the execution is a fork, and some of its copies are left; nudge again.
        UnumError: a service did not answer; nudge again.
    """
    steps = own_steps(rt, execution_name)
    found = _gaps(rt, steps, silent_ms)
    origin = unfinished(steps)
    if origin is not None and found:
        finish(rt, steps[0], origin)
        found = _gaps(rt, own_steps(rt, execution_name), 0)
    names = {each.name for each in _missing(found)}
    due = [each for each in found if not isinstance(each, Missing) or each.waits_for not in HELD]
    perform(rt, DeliveryState(execution_routes(rt)), *(effect for gap in due for effect in effects_of(rt, gap, names)))
    return _missing(found)


def _gaps(rt: Runtime, steps: list[Checkpoint], silent_ms: int) -> list[Gap]:
    origin, last = unfinished(steps), steps[-1]
    found: list[Gap] = [*gaps(rt, last)] if origin is None or last.is_stop else [_first_own_step(steps[0], origin)]
    if silent_ms == 0:
        return found
    kept = [gap for gap in found if not isinstance(gap, Missing) or is_overdue(rt, gap, silent_ms)]
    # Ended branches alone are normal while others run; repeating their set entries would only cost writes.
    return kept if _missing(kept) else []


def _first_own_step(record: Checkpoint, origin: ForkOrigin) -> Missing:
    """Return the pending first own step of the unfinished fork with start record `record`."""
    name = Name(record.name.execution, (), origin.step)
    entry = Commit(name, origin.node, Phase.ENTERED, origin.value or Success(None))
    return Missing(
        name=name, state=origin.node, since_ms=record.committed_ms, waits_for=WaitsFor.DELIVERY, effect=entry
    )


def own_steps(rt: Runtime, execution_name: str, old: Workflow | None = None) -> list[Checkpoint]:
    """Return the start record and the steps of the top level of an execution on this version, or on `old`.

    Raises:
        ExecutionDoesNotExist: no execution has that name.
        NotOurEvent: the execution runs on another version.
    """
    steps = from_start(rt.store, rt.workflow.name, execution_name)
    # A redrive may continue on another version than the steps before it, and nothing plans from those again.
    last = next((step for step in reversed(steps) if step.state or step.fork), None)
    digests = {each.digest for each in (rt.workflow, old) if each is not None}
    if last is not None and last.digest not in digests:
        raise NotOurEvent(f"{last.name}: expected IR {rt.workflow.digest}, found IR {last.digest}")
    return steps


def _missing(found: Iterable[Gap]) -> list[Missing]:
    return [gap for gap in found if isinstance(gap, Missing)]


def effects_of(rt: Runtime, gap: Gap, names: set[Name]) -> list[Effect]:
    """Return the effects that close `gap`; Tasks of other branches only if their `names` are pending."""
    match gap.effect if isinstance(gap, Missing) else gap:
        case EndedBranches() as ended:
            return _settle(rt, ended)
        case Resend(envelope, address):
            rt.invoker.invoke([(address, envelope.to_bytes())])
            return []
        # The arrival that completes the join sends its event; both arrivals are repeated, as either may be lost.
        case JoinNeighbour() as effect:
            arrived = (invoke for each in _neighbour_joins(rt, effect) for invoke in record_arrival(rt, each))
            return [invoke for invoke in arrived if invoke.name in names]
        case effect:
            return [effect]


def _settle(rt: Runtime, ended: EndedBranches) -> list[Effect]:
    """Add ended branches to the completion set again; return the effects if they decide the scope."""
    effects: list[Effect] = []
    with suppress(RefusedDelivery):  # collected results: the step after them is committed, so nothing is lost
        effects += complete_again(rt, ended.scope, ended.done)
    for each in ended.failed:
        found = fail(rt, each, DeliveryState({}))
        effects += [effect for effect in found if isinstance(effect, Commit) and effect.name == ended.scope.join]
    return effects


def _neighbour_joins(rt: Runtime, effect: JoinNeighbour) -> list[JoinNeighbour]:
    """Return neighbour joins of a branch: its own, plus the previous branch's if this one has arrived."""
    name = effect.invoke.name
    scope, index = Scope.around(name.execution, name.frames), name.frames[-1].index
    if index == 0:
        return [effect]
    before = Name(name.execution, scope.branch(index - 1), name.step)
    key = checkpoint_key(rt.workflow.name, replace(before, step=name.step - 1))
    previous = [JoinNeighbour(replace(effect.invoke, name=before))] if rt.store.read([key]) else []
    return [*previous, effect]
