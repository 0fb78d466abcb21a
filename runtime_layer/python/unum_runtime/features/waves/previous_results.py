"""Results of the previous branch: a Task begins when its own branch reaches it and the branch before has a result.

Both are recorded in one arrival set: the commit before the Task, and the commit with the result. The set only grows,
and each addition returns it, so at least one delivery sees both. Every delivery that sees both begins the Task, because
an earlier one may have died before that. The first branch waits for none and needs no set.

Source: the pipelined fan-in of ExCamera, as Unum describes it in "Fan-in".
"""

from collections.abc import Iterable

from unum_runtime.cold_start.records import replace
from unum_runtime.errors import InconsistentHistory, OutcomeCollected, StoreError
from unum_runtime.model.checkpoint import Checkpoint, Success
from unum_runtime.model.envelope import Value
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import Key, Name, Scope, checkpoint_key, meeting_key
from unum_runtime.protocol.planning.plan import FeedNext, Invoke, JoinNeighbour, fed_by, plan
from unum_runtime.protocol.runtime import Runtime

_OWN, _PREVIOUS = 0, 1


def begin_joined(own: JoinNeighbour, previous: Checkpoint) -> Invoke:
    """Return the event of the Task of `own`, with the result of `previous` added to its input.

    Raises:
        OutcomeCollected: the result is collected, because the fan-out is settled.
    """
    entered, outcome = own.invoke.input, previous.outcome
    if not isinstance(outcome, Success):
        raise OutcomeCollected(f"{previous.name}: was collected, because the fan-out around it is settled")
    assert isinstance(entered, Value)  # noqa: S101 - planned as such
    # The later of both commits, whichever delivery came last: all deliveries that begin the Task plan the same event.
    entered_ms = max(entered.entered_ms, previous.committed_ms)
    joined = Success({**entered.value, "previous": outcome.value})
    return replace(own.invoke, input=Value(joined, entered_ms, entered.variables))


def result_of(steps: Iterable[Checkpoint], state: str | None) -> Checkpoint | None:
    """Return the commit among `steps` of a branch with the result of `state`; None without one."""
    return next((step for step in steps if step.state == state and isinstance(step.outcome, Success)), None)


def arrive(rt: Runtime, effect: JoinNeighbour) -> list[Invoke]:
    """Record that a branch reaches a Task; return the Task's event if the previous branch has committed the result.

    Raises:
        OutcomeCollected: the result is collected, because the fan-out is settled.
        StoreError: a checkpoint that must exist is missing, or the store did not answer.
    """
    name = effect.invoke.name
    scope, index = Scope.around(name.execution, name.frames), name.frames[-1].index
    steps = _add(rt, scope, index, effect.invoke.state, _OWN, name.step - 1)
    if _PREVIOUS not in steps:
        return []
    return [begin_joined(effect, _read(rt, Name(name.execution, scope.branch(index - 1), steps[_PREVIOUS])))]


def feed(rt: Runtime, effect: FeedNext) -> list[Invoke]:
    """Record a result for a Task of the next branch; return the Task's event if that branch has reached it.

    Raises:
        OutcomeCollected: that branch is collected, because the fan-out is settled.
        InconsistentHistory: that branch has reached another state.
        StoreError: a checkpoint that must exist is missing, or the store did not answer.
    """
    name = effect.checkpoint.name
    scope, index = Scope.around(name.execution, name.frames), name.frames[-1].index + 1
    steps = _add(rt, scope, index, effect.waiting, _PREVIOUS, name.step)
    if _OWN not in steps:
        return []
    before = Name(name.execution, scope.branch(index), steps[_OWN])
    own = plan(rt.workflow, _read(rt, before))
    if not isinstance(own, JoinNeighbour) or own.invoke.state != effect.waiting:
        raise InconsistentHistory(f"{before}: expected that {effect.waiting!r} follows, found {own}")
    return [begin_joined(own, effect.checkpoint)]


def arrival_key(workflow: Workflow, scope: Scope, index: int, waiting: str) -> Key:
    """Return the key of the arrival set of Task `waiting` in branch `index`."""
    # Both sides know the Task, and only its own branch knows the step at which it runs.
    all_waiting = [task.name for task in workflow.tasks if task.scope == scope.state and task.after_previous]
    return meeting_key(workflow.name, scope, index, all_waiting.index(waiting))


def arrival_keys(workflow: Workflow, checkpoint: Checkpoint) -> list[Key]:
    """Return the keys of the arrival sets that may have a member for `checkpoint`."""
    name = checkpoint.name
    scope, index = Scope.around(name.execution, name.frames), name.frames[-1].index
    keys = [arrival_key(workflow, scope, index + 1, each.waiting) for each in fed_by(workflow, checkpoint)]
    own = plan(workflow, checkpoint)
    return [*keys, arrival_key(workflow, scope, index, own.invoke.state)] if isinstance(own, JoinNeighbour) else keys


def _add(rt: Runtime, scope: Scope, index: int, waiting: str, who: int, step: int) -> dict[int, int]:
    """Add a member to the arrival set of `waiting` in branch `index`; return the step of each member's commit."""
    # A member tells its side and the step of its commit, so that the other side finds the commit by its key.
    key = arrival_key(rt.workflow, scope, index, waiting)
    members = rt.store.add(key, step * 2 + who, expires_at_s=rt.expires_at_s())
    return {member % 2: member // 2 for member in members}


def _read(rt: Runtime, name: Name) -> Checkpoint:
    key = checkpoint_key(rt.workflow.name, name)
    item = rt.store.read([key]).get(key)
    if item is None:
        raise StoreError(f"{name}: the checkpoint of a branch that has arrived is missing; has it expired?")
    return Checkpoint.from_item(name, item)
