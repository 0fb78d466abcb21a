"""Effects, done: the only module that sends events."""

from collections.abc import Mapping
from itertools import chain

from unum_runtime.errors import RefusedDelivery
from unum_runtime.model.checkpoint import Failure, Phase
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.naming import Scope
from unum_runtime.protocol.checkpoint import commit
from unum_runtime.protocol.collect import collect_scope
from unum_runtime.protocol.fanin import complete
from unum_runtime.protocol.plan import Commit, Complete, Effect, Finish, Invoke, Open, branch, started_at_once
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
    wave: list[Effect] = [effect]
    joined: list[Scope] = []
    while wave:
        joined += [effect.joins for effect in wave if isinstance(effect, Commit) and effect.joins is not None]
        invokes = [effect for effect in wave if isinstance(effect, Invoke)]
        refused = _send(rt, invokes, routes)
        followed = (_follow(rt, effect) for effect in wave if not isinstance(effect, Invoke))
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
        not_after_s=rt.not_after_s(effect.name.execution),
        routes=routes,
    )


def _follow(rt: Runtime, effect: Effect) -> list[Effect]:
    """Do an effect that is no invocation; what has to be done next.

    Where something was collected, all that follows from this effect is done, but not from the others beside it.
    """
    try:
        return _done(rt, effect)
    except RefusedDelivery as refused:
        rt.log("refused", reason=str(refused))
        return []


def _done(rt: Runtime, effect: Effect) -> list[Effect]:
    match effect:
        case Commit():
            return [commit(rt, effect)]
        case Open(scope):
            return [branch(rt.workflow, effect, index) for index in started_at_once(rt.workflow, scope)]
        case Complete(execution, frames):
            return list(complete(rt, Scope.around(execution, frames), frames[-1].index))
        case Finish(execution, ending):
            rt.log("finished", execution=execution.name, status=ending.status)
    return []


def _send(rt: Runtime, invokes: list[Invoke], routes: Mapping[str, str]) -> list[Commit]:
    """Send the events of `invokes`; for each that is too large, the failure to commit in its place."""
    events, refused = [], []
    for effect in invokes:
        payload = envelope(rt, effect, routes).to_bytes()
        if len(payload) > MAX_EVENT_BYTES:
            refused.append(_too_large(effect, len(payload)))
        else:
            events.append((rt.address(rt.workflow.task(effect.state).function, routes), payload))
    if events:
        rt.invoker.invoke(events)
    return refused


def _too_large(effect: Invoke, size: int) -> Commit:
    cause = f"the input of {effect.state!r} makes an event of {size} bytes; at most {MAX_EVENT_BYTES} are delivered"
    return Commit(effect.name, effect.state, Phase.LEFT, Failure("States.DataLimitExceeded", cause))
