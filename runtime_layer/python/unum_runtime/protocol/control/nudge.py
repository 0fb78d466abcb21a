"""Nudging: an execution that waits for something which was lost goes on.

Each sequence goes on from its last commit, as it does when an event comes late. So a nudge may come at any time, twice,
or die: it invokes nothing that has committed, and what it invokes is an invocation as any other.
"""

from collections.abc import Iterable
from contextlib import suppress

from unum_runtime.cold_start.records import replace
from unum_runtime.errors import NotOurEvent, RefusedDelivery
from unum_runtime.model.checkpoint import Checkpoint
from unum_runtime.model.naming import Name, Scope, checkpoint_key
from unum_runtime.protocol.delivery.delivery_state import DeliveryState
from unum_runtime.protocol.delivery.join import complete_again, fail
from unum_runtime.protocol.delivery.perform import perform
from unum_runtime.protocol.delivery.start import execution_routes
from unum_runtime.protocol.fanout.neighbours import record_arrival
from unum_runtime.protocol.history.overdue import is_silent
from unum_runtime.protocol.history.pending import EndedBranches, Gap, Missing, Resend, WaitsFor, gaps
from unum_runtime.protocol.history.timeline import from_start
from unum_runtime.protocol.planning.plan import Commit, Effect, JoinNeighbour
from unum_runtime.protocol.runtime import Runtime

HELD = frozenset({WaitsFor.ANSWER})
"""What is not nudged: whoever has the token answers."""


def missing(rt: Runtime, execution_name: str, *, silent_ms: int = 0) -> list[Missing]:
    """The commits that an execution waits for; none if it has ended.

    Args:
        rt: a runtime of the version that the execution runs on.
        execution_name: the execution.
        silent_ms: only those that should have come so many milliseconds ago; 0 for all.

    Raises:
        ExecutionDoesNotExist: there is none of that name.
        NotOurEvent: it runs on another version.
    """
    return _missing(_gaps(rt, execution_name, silent_ms))


def nudge(rt: Runtime, execution_name: str, *, silent_ms: int = 0) -> list[Missing]:
    """Do what an execution waits for, but for what somebody has to answer; look at jobs that are under way.

    Args:
        rt: a runtime of the version that the execution runs on, which knows the addresses of all functions.
        execution_name: the execution.
        silent_ms: only what should have come so many milliseconds ago; 0 for everything.

    Returns:
        The commits that it waits for; those that wait for an answer were left alone.

    Raises:
        ExecutionDoesNotExist: there is none of that name.
        NotOurEvent: it runs on another version.
        UnumError: something did not answer; nudge again.
    """
    found = _gaps(rt, execution_name, silent_ms)
    names = {each.name for each in _missing(found)}
    due = [each for each in found if not isinstance(each, Missing) or each.waits_for not in HELD]
    perform(rt, DeliveryState(execution_routes(rt)), *(effect for gap in due for effect in _effects(rt, gap, names)))
    return _missing(found)


def _gaps(rt: Runtime, execution_name: str, silent_ms: int) -> list[Gap]:
    found = list(gaps(rt, own_steps(rt, execution_name)[-1]))
    if silent_ms == 0:
        return found
    kept = [gap for gap in found if not isinstance(gap, Missing) or is_silent(rt, gap, silent_ms)]
    return kept if _missing(kept) else []


def own_steps(rt: Runtime, execution_name: str) -> list[Checkpoint]:
    """The start record and the steps of the top level of an execution that runs on this version.

    Raises:
        ExecutionDoesNotExist: there is none of that name.
        NotOurEvent: it runs on another version.
    """
    steps = from_start(rt.store, rt.workflow.name, execution_name)
    for step in steps:
        if not is_own(rt, step):
            raise NotOurEvent(f"{step.name}: expected IR {rt.workflow.digest}, found IR {step.digest}")
    return steps


def is_own(rt: Runtime, checkpoint: Checkpoint) -> bool:
    """Whether `checkpoint` is of this version; what has no state, as a start record, is of any."""
    return not checkpoint.state or checkpoint.digest == rt.workflow.digest


def _missing(found: Iterable[Gap]) -> list[Missing]:
    return [gap for gap in found if isinstance(gap, Missing)]


def _effects(rt: Runtime, gap: Gap, names: set[Name]) -> list[Effect]:
    """What to do about `gap`; of other branches' Tasks only those whose `names` are missing."""
    match gap.effect if isinstance(gap, Missing) else gap:
        case EndedBranches() as ended:
            return _settle(rt, ended)
        case Resend(envelope, address):
            rt.invoker.invoke([(address, envelope.to_bytes())])
            return []
        case JoinNeighbour() as effect:
            arrived = (invoke for each in _meetings(rt, effect) for invoke in record_arrival(rt, each))
            return [invoke for invoke in arrived if invoke.name in names]
        case effect:
            return [effect]


def _settle(rt: Runtime, ended: EndedBranches) -> list[Effect]:
    """What follows if the branches that have ended decide their scope."""
    effects: list[Effect] = []
    with suppress(RefusedDelivery):  # of results that are collected, because what they led to is committed
        effects += complete_again(rt, ended.scope, ended.done)
    for each in ended.failed:
        found = fail(rt, each, DeliveryState({}))
        effects += [effect for effect in found if isinstance(effect, Commit) and effect.name == ended.scope.join]
    return effects


def _meetings(rt: Runtime, effect: JoinNeighbour) -> list[JoinNeighbour]:
    """The meetings of a branch: its own, and that of the branch before it, if this one has come as far."""
    name = effect.invoke.name
    scope, index = Scope.around(name.execution, name.frames), name.frames[-1].index
    if index == 0:
        return [effect]
    before = Name(name.execution, scope.branch(index - 1), name.step)
    key = checkpoint_key(rt.workflow.name, replace(before, step=name.step - 1))
    came = [JoinNeighbour(replace(effect.invoke, name=before))] if rt.store.read([key]) else []
    return [*came, effect]
