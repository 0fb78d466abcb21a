"""Neighbour joins: a Task runs on outcomes of its own and its previous branch, without joining all branches.

Source: the pipelined fan-in of ExCamera, as Unum describes it in "Fan-in".
"""

from unum_runtime.errors import InconsistentHistory, StoreError
from unum_runtime.model.checkpoint import Checkpoint, Success
from unum_runtime.model.envelope import Envelope, Neighbours, Value
from unum_runtime.model.naming import Name, Scope, checkpoint_key, meeting_key
from unum_runtime.protocol.planning.plan import Invoke, JoinNeighbour, plan
from unum_runtime.protocol.runtime import Runtime

_PREVIOUS, _OWN = 0, 1


def record_arrival(rt: Runtime, effect: JoinNeighbour) -> list[Invoke]:
    """Record a branch's arrival at its own neighbour join and at the next branch's join.

    Returns:
        The invocations whose both branches have arrived. Every delivery that sees both returns them, because an earlier
        delivery may have died before it sent the event.
    """
    name, state = effect.invoke.name, effect.invoke.state
    scope, index = Scope.around(name.execution, name.frames), name.frames[-1].index
    ready = [own for own, who in ((index, _OWN), (index + 1, _PREVIOUS)) if _add_arrival(rt, scope, name, own, who)]
    return [Invoke(Name(name.execution, scope.branch(own), name.step), state, Neighbours()) for own in ready]


def record_previous(rt: Runtime, join: Invoke) -> list[Invoke]:
    """Record that the previous branch has arrived at neighbour join `join`; return it if its own branch has too."""
    name = join.name
    scope, index = Scope.around(name.execution, name.frames), name.frames[-1].index
    return [join] if _add_arrival(rt, scope, name, index, _PREVIOUS) else []


def read_neighbours(rt: Runtime, envelope: Envelope) -> Value:
    """Return the input of a neighbour join: ``[previous, own]``, with None as `previous` of the first branch.

    Raises:
        StoreError: a checkpoint that must exist is missing.
        InconsistentHistory: a checkpoint leads to another state.
    """
    name = envelope.name
    scope, index = Scope.around(name.execution, name.frames), name.frames[-1].index
    both = [Name(name.execution, scope.branch(who), name.step) for who in range(max(index - 1, 0), index + 1)]
    values = [_read_input_of(rt, each, envelope.state) for each in both]
    previous = values[0].value if index else None
    # The later of both commits: every delivery computes the same time, whichever branch arrived last.
    entered_ms = max(value.entered_ms for value in values)
    return Value(Success([previous, values[-1].value]), entered_ms, values[-1].variables)


def _add_arrival(rt: Runtime, scope: Scope, name: Name, own: int, who: int) -> bool:
    """Add `who` to branch `own`'s arrivals; return True after all arrivals."""
    if own == scope.size:
        return False
    key = meeting_key(rt.workflow.name, scope, own, name.step)
    return len(rt.store.add(key, who, expires_at_s=rt.expires_at_s())) == (2 if own else 1)


def _read_input_of(rt: Runtime, name: Name, state: str) -> Value:
    """Return a branch's input to `state`, planned from its commit before `name`."""
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
