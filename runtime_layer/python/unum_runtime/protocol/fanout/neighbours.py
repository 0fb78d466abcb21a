"""Neighbouring branches that meet: a Task that needs what the branch before its own came to, but no join of them all.

Source: the pipelined fan-in of ExCamera, as Unum describes it in "Fan-in".
"""

from unum_runtime.errors import InconsistentHistory, StoreError
from unum_runtime.model.checkpoint import Checkpoint, Success
from unum_runtime.model.envelope import Envelope, Neighbours, Value
from unum_runtime.model.naming import Name, Scope, checkpoint_key, meeting_key
from unum_runtime.protocol.planning.plan import Invoke, JoinNeighbour, plan
from unum_runtime.protocol.runtime import Runtime

_PREVIOUS, _OWN = 0, 1


def meet(rt: Runtime, effect: JoinNeighbour) -> list[Invoke]:
    """Note that a branch has come to its Task: for itself, and for the branch after it.

    Returns:
        What can begin now. Whoever sees a meeting complete begins it, because the one before may have died.
    """
    name, state = effect.invoke.name, effect.invoke.state
    scope, index = Scope.around(name.execution, name.frames), name.frames[-1].index
    ready = [own for own, who in ((index, _OWN), (index + 1, _PREVIOUS)) if _is_complete(rt, scope, name, own, who)]
    return [Invoke(Name(name.execution, scope.branch(own), name.step), state, Neighbours()) for own in ready]


def neighbours(rt: Runtime, envelope: Envelope) -> Value:
    """What both branches came to the Task with: ``[previous, own]``.

    Raises:
        StoreError: a checkpoint that must be there is missing.
        InconsistentHistory: it leads elsewhere.
    """
    name = envelope.name
    scope, index = Scope.around(name.execution, name.frames), name.frames[-1].index
    both = [Name(name.execution, scope.branch(who), name.step) for who in range(max(index - 1, 0), index + 1)]
    values = [_brought(rt, each, envelope.state) for each in both]
    previous = values[0].value if index else None
    entered_ms = max(value.entered_ms for value in values)
    return Value(Success([previous, values[-1].value]), entered_ms, values[-1].variables)


def _is_complete(rt: Runtime, scope: Scope, name: Name, own: int, who: int) -> bool:
    if own == scope.size:
        return False
    key = meeting_key(rt.workflow.name, scope, own, name.step)
    return len(rt.store.add(key, who, expires_at_s=rt.expires_at_s())) == (2 if own else 1)


def _brought(rt: Runtime, name: Name, state: str) -> Value:
    """What the branch of `name` comes to `state` with."""
    before = Name(name.execution, name.frames, name.step - 1)
    key = checkpoint_key(rt.workflow.name, before)
    item = rt.store.read([key]).get(key)
    if item is None:
        raise StoreError(f"{before}: the checkpoint before {state!r} is missing; has it expired?")
    effect = plan(rt.workflow, Checkpoint.from_item(before, item))
    if (
        not isinstance(effect, JoinNeighbour)
        or effect.invoke.state != state
        or not isinstance(effect.invoke.input, Value)
    ):
        raise InconsistentHistory(f"{before}: expected that {state!r} follows, found {effect}")
    return effect.invoke.input
