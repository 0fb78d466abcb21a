"""Forking: another execution, which takes over what one has come to before some state, and goes on from there.

It runs on the versions of whoever forks it, and enters that state with another input, or with the one that it had.
"""

from itertools import pairwise

from unum_runtime.cold_start.records import dataclass, replace
from unum_runtime.errors import (
    ExecutionAlreadyExists,
    ExecutionNotRedrivable,
    InconsistentHistory,
    NodeNotForkable,
    RefusedDelivery,
)
from unum_runtime.model.checkpoint import (
    Began,
    Checkpoint,
    Continuation,
    Failure,
    Phase,
    Success,
    read_start_record,
    start_record,
)
from unum_runtime.model.naming import Execution, Name
from unum_runtime.protocol.control.nudge import is_own, nudge
from unum_runtime.protocol.control.redrive import Entry, commit_step, entered, entering
from unum_runtime.protocol.delivery.commit import create, draft, limit_outcome
from unum_runtime.protocol.delivery.join import join_results
from unum_runtime.protocol.history.timeline import from_start, nested_steps
from unum_runtime.protocol.planning.evaluation import without_redrives
from unum_runtime.protocol.planning.plan import OpenScope, plan
from unum_runtime.protocol.runtime import Runtime


@dataclass(frozen=True, kw_only=True)
class ForkRequest:
    """What is to be forked.

    Attributes:
        execution: name of the execution that is there.
        name: of the one that is to be.
        node: the Task, Map or Parallel of the top level that it begins with.
        visit: which visit of it, from 1.
        value: what it is entered with; None for what it was entered with before.
    """

    execution: str
    name: str
    node: str
    visit: int = 1
    value: Success | None = None


def fork(rt: Runtime, request: ForkRequest, began: Began | None = None) -> Execution:
    """Start an execution as `request` says; the same again goes on with the one that is there.

    Args:
        rt: a runtime that knows the addresses of all functions.
        request: what is to be forked.
        began: the versions that it is to run on.

    Returns:
        The new execution.

    Raises:
        ExecutionDoesNotExist: there is none to fork.
        ExecutionAlreadyExists: the name is that of another.
        NodeNotForkable: there is no such node, nothing is known of what to enter it with, or it would fail at once;
            then nothing is written.
        UnumError: something did not answer; fork again.
    """
    steps = from_start(rt.store, rt.workflow.name, request.execution)
    kept = _closed(steps[: _visited(rt, steps, request)], request.node)
    entry, step = _entry(rt, kept[-1], request), kept[-1].name.step + 1
    fresh = replace(start_record(Execution(request.name, rt.clock.now_ms()), None), outcome=steps[0].outcome)
    _entering(rt, Name(fresh.name.execution, (), step), entry)  # what is refused is refused before anything is written
    execution = _started(rt, fresh)
    for checkpoint in nested_steps(rt.store, rt.workflow.name, kept[1:]):
        copy = _taken_over(rt, checkpoint, execution)
        if commit_step(rt, copy) != copy:  # not into packs: no fan-out among these will be joined again
            raise _taken(rt, request.name)
    checkpoint = _entering(rt, Name(execution, (), step), entry)
    winner = commit_step(rt, replace(checkpoint, began=began))
    if (winner.state, winner.phase, winner.outcome) != (checkpoint.state, checkpoint.phase, checkpoint.outcome):
        raise _taken(rt, request.name)
    nudge(rt, request.name)
    return execution


def _visited(rt: Runtime, steps: list[Checkpoint], request: ForkRequest) -> int:
    """How many of `steps` come before the visit.

    Raises:
        NodeNotForkable: there is no such visit.
    """
    state = rt.workflow.states.get(request.node)
    if state is None:
        raise NodeNotForkable(f"state {request.node!r}: workflow {rt.workflow.name!r} has none of that name")
    if state.scope is not None:
        raise NodeNotForkable(f"state {request.node!r}: is inside {state.scope!r}; fork at that, as a whole")
    visits = [number for number, pair in enumerate(pairwise(steps), start=1) if _is_visit(request.node, *pair)]
    if not 0 < request.visit <= len(visits):
        raise NodeNotForkable(
            f"state {request.node!r}: expected one of its visits, of which execution {request.execution!r} has "
            f"{len(visits)}, got {request.visit}; only what has committed can be forked at: a Task, Map or Parallel"
        )
    return visits[request.visit - 1]


def _closed(kept: list[Checkpoint], node: str) -> list[Checkpoint]:
    """`kept`, if `node` is a fan-out without what it came to in the visit after them."""
    *before, last = kept
    is_opened = last.opens is not None and last.opens.state == node
    return [*before, replace(last, opens=None)] if is_opened else kept


def _is_visit(node: str, before: Checkpoint, after: Checkpoint) -> bool:
    """Whether `node` was entered between two steps of the top level."""
    is_inside = before.state == node and before.phase is not Phase.LEFT
    opened = before.opens is not None and before.opens.state == node
    return before.ending is None and not is_inside and (opened or after.state == node)


def _entry(rt: Runtime, before: Checkpoint, request: ForkRequest) -> Entry:
    """What the node is entered with after `before`.

    Raises:
        NodeNotForkable: that is not known, and the request does not say it.
    """
    found = _entry_before(rt, before, request.node)
    if request.value is not None:
        found = Entry(
            request.node,
            request.value,
            found.continuation if found else Continuation(variables=before.continuation.variables),
        )
    if found is None:
        raise NodeNotForkable(
            f"state {request.node!r}: expected a known input, but it ran on another version, or its input was collected; "
            "give an input"
        )
    found = replace(found, continuation=_not_redriven(found.continuation))
    outcome = limit_outcome(rt, found.value, found.continuation, what="input")
    if isinstance(outcome, Failure):
        raise NodeNotForkable(f"state {request.node!r}: {outcome.cause}")
    return found


def _entry_before(rt: Runtime, before: Checkpoint, node: str) -> Entry | None:
    """How `node` was entered after `before`, if this version can tell; a fork may have taken that over from another."""
    if not is_own(rt, before) or (before.state and before.state not in rt.workflow.states):
        return None
    try:
        effect = plan(rt.workflow, before)
        if isinstance(effect, OpenScope) and effect.scope.state != node:  # the Task that joins it
            effect = plan(rt.workflow, draft(rt, join_results(rt, effect.scope)))
    except (RefusedDelivery, InconsistentHistory):
        return None
    found = entered(effect)
    return found if found is not None and found.state == node else None


def _entering(rt: Runtime, name: Name, entry: Entry) -> Checkpoint:
    """The commit that enters the node under `name`.

    Raises:
        NodeNotForkable: it would end the execution at once: no step is left, or the node's own data flow fails.
    """
    try:
        return entering(rt, name, entry)[0]
    except ExecutionNotRedrivable as refused:
        raise NodeNotForkable(str(refused)) from refused


def _started(rt: Runtime, fresh: Checkpoint) -> Execution:
    """The execution that the start record `fresh` begins, or has begun before.

    Raises:
        ExecutionAlreadyExists: the name was started with another input.
    """
    name = fresh.name.execution.name
    item = create(rt, fresh)
    found = fresh if item is None else read_start_record(name, item)
    if found.to_item().get("value") != fresh.to_item().get("value"):
        raise _taken(rt, name)
    return found.name.execution


def _taken_over(rt: Runtime, checkpoint: Checkpoint, execution: Execution) -> Checkpoint:
    """`checkpoint` in another execution."""
    return replace(
        checkpoint,
        name=replace(checkpoint.name, execution=execution),
        opens=checkpoint.opens and replace(checkpoint.opens, execution=execution),
        digest=rt.workflow.digest,
        continuation=_not_redriven(checkpoint.continuation),
        began=None,
    )


def _not_redriven(continuation: Continuation) -> Continuation:
    """`continuation` in an execution that was never redriven."""
    return replace(continuation, variables=without_redrives(continuation.variables))


def _taken(rt: Runtime, name: str) -> ExecutionAlreadyExists:
    return ExecutionAlreadyExists(f"execution {name!r} of workflow {rt.workflow.name!r} is another: use another name")
