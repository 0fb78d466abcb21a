"""Effects, done: the only module that sends events."""

from collections.abc import Iterable, Mapping
from itertools import chain

from unum_runtime.errors import RefusedDelivery
from unum_runtime.model.checkpoint import Failure, Phase
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.ir import Task
from unum_runtime.model.naming import Scope
from unum_runtime.protocol.checkpoint import commit
from unum_runtime.protocol.collect import collect_scope
from unum_runtime.protocol.fanin import complete, fail
from unum_runtime.protocol.meeting import meet
from unum_runtime.protocol.plan import (
    BranchFailed,
    Commit,
    Complete,
    Effect,
    Finish,
    Invoke,
    Meet,
    Open,
    branch,
    started_at_once,
)
from unum_runtime.protocol.runtime import Runtime

MAX_EVENT_BYTES = 1_000_000
"""The largest asynchronous payload. Source: AWS Lambda Developer Guide, "Lambda quotas"."""


def perform(rt: Runtime, effect: Effect, routes: Mapping[str, str]) -> None:
    """Do `effect` and all that follows from it in this sandbox.

    Args:
        rt: the runtime.
        effect: what was planned from a committed outcome.
        routes: addresses that travel with the execution.
    """
    perform_all(rt, [effect], routes)


def perform_all(rt: Runtime, effects: Iterable[Effect], routes: Mapping[str, str]) -> None:
    """The same for several effects; their events are sent together."""
    wave: list[Effect] = [*effects]
    joined: list[Scope] = []
    while wave:
        joined += [effect.joins for effect in wave if isinstance(effect, Commit) and effect.joins is not None]
        invokes = [effect for effect in wave if isinstance(effect, Invoke)]
        refused = _send(rt, invokes, routes)
        followed = (_follow(rt, effect, routes) for effect in wave if not isinstance(effect, Invoke))
        wave = [*refused, *chain.from_iterable(followed)]
    for scope in joined:
        collect_scope(rt, scope)


def envelope(rt: Runtime, effect: Invoke, routes: Mapping[str, str]) -> Envelope:
    """The event that `effect` sends."""
    return Envelope(
        workflow=rt.workflow.name,
        digest=rt.workflow.digest,
        name=effect.name,
        state=effect.state,
        input=effect.input,
        not_after_s=rt.not_after_s(effect.name.execution, effect.due_ms),
        routes=routes,
        retries=effect.retries,
        job=effect.job,
    )


def _follow(rt: Runtime, effect: Effect, routes: Mapping[str, str]) -> list[Effect]:
    """Do an effect that is no invocation; what has to be done next.

    Where something was collected, all that follows from this effect is done, but not from the others beside it.
    """
    try:
        return _done(rt, effect, routes)
    except RefusedDelivery as refused:
        rt.log("refused", reason=str(refused))
        return []


def _done(rt: Runtime, effect: Effect, routes: Mapping[str, str]) -> list[Effect]:
    match effect:
        case Commit():
            return [commit(rt, effect, routes)]
        case Meet():
            return list(meet(rt, effect))
        case Open():
            return [branch(effect, index) for index in started_at_once(effect)]
        case Complete(execution, frames):
            return list(complete(rt, Scope.around(execution, frames), frames[-1].index))
        case BranchFailed(execution, frames, failure):
            return list(fail(rt, Scope.around(execution, frames), frames[-1].index, failure))
        case Finish(execution, ending):
            rt.log("finished", execution=execution.name, status=ending.status)
    return []


def _send(rt: Runtime, invokes: list[Invoke], routes: Mapping[str, str]) -> list[Commit]:
    """Send the events of `invokes`, some of them later; what to commit in place of those that cannot be sent."""
    now, later, refused = [], [], []
    for effect in invokes:
        payload = envelope(rt, effect, routes).to_bytes()
        failure = _unsendable(rt, effect, len(payload))
        if failure is not None:
            refused.append(Commit(effect.name, effect.state, Phase.LEFT, failure))
        elif effect.due_ms is None or effect.due_ms <= rt.clock.now_ms():
            now.append((_address(rt, effect, routes), payload))
        else:
            later.append((_address(rt, effect, routes), payload, effect.due_ms))
    if now:
        rt.invoker.invoke(now)
    if later:
        rt.timer.schedule(later)
    return refused


def _address(rt: Runtime, effect: Invoke, routes: Mapping[str, str]) -> str:
    """Where the event goes: to the Task's function; a Wait, or a fan-out that begins anew, stays in this one."""
    state = rt.workflow.states[effect.state]
    return rt.address(state.function, routes) if isinstance(state, Task) else rt.own_address


def _unsendable(rt: Runtime, effect: Invoke, size: int) -> Failure | None:
    if size > MAX_EVENT_BYTES:
        cause = f"the input of {effect.state!r} makes an event of {size} bytes; at most {MAX_EVENT_BYTES} are delivered"
        return Failure("States.DataLimitExceeded", cause)
    if effect.due_ms is not None and effect.due_ms // 1000 > rt.last_s(effect.name.execution):
        days = rt.retention_s / 86_400
        cause = f"{effect.state!r} has to wait for longer than items are kept, {days:g} days; raise the retention"
        return Failure("States.Runtime", cause)
    return None
