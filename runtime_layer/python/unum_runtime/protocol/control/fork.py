"""Fork: start another execution from a top-level state, with copies of all earlier steps.

The fork runs on the current version and enters the state with a new input, or with its original one.
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
    """A request for a fork.

    Attributes:
        execution: name of the original execution.
        name: name of the new execution.
        node: the Task, Map or Parallel of the top level to begin with.
        visit: number of its visit, from 1.
        value: its input; None for the original one.
    """

    execution: str
    name: str
    node: str
    visit: int = 1
    value: Success | None = None


def fork(rt: Runtime, request: ForkRequest, began: Began | None = None) -> Execution:
    """Start a fork, or resume the unfinished fork of an equal request.

    Args:
        rt: a runtime with the addresses of all functions.
        request: the request.
        began: the versions that the fork runs on.

    Returns:
        The new execution.

    Raises:
        ExecutionDoesNotExist: the original execution does not exist.
        ExecutionAlreadyExists: another execution has the new name.
        NodeNotForkable: no such node, unknown input, or the node would fail at once; nothing was written.
        UnumError: a service did not answer; fork again.
    """
    steps = from_start(rt.store, rt.workflow.name, request.execution)
    kept = _closed(steps[: _visited(rt, steps, request)], request.node)
    entry, step = _entry(rt, kept[-1], request), kept[-1].name.step + 1
    fresh = replace(start_record(Execution(request.name, rt.clock.now_ms()), None), outcome=steps[0].outcome)
    _entering(rt, Name(fresh.name.execution, (), step), entry)  # refuse before the first write
    execution = _start(rt, fresh)
    # Every copy is created if absent, so the same request again resumes a fork that died in between.
    for checkpoint in nested_steps(rt.store, rt.workflow.name, kept[1:]):
        copy = _taken_over(rt, checkpoint, execution)
        if commit_step(rt, copy) != copy:  # not in packs: no join will read these fan-outs again
            raise _taken(rt, request.name)
    checkpoint = _entering(rt, Name(execution, (), step), entry)
    winner = commit_step(rt, replace(checkpoint, began=began))
    if (winner.state, winner.phase, winner.outcome) != (checkpoint.state, checkpoint.phase, checkpoint.outcome):
        raise _taken(rt, request.name)
    # No event was sent for the copies, so a nudge sends the first one, as after a lost event.
    nudge(rt, request.name)
    return execution


def _visited(rt: Runtime, steps: list[Checkpoint], request: ForkRequest) -> int:
    """Return the number of `steps` before the requested visit.

    Raises:
        NodeNotForkable: no such visit.
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
    """Return `kept` without the last step's scope, if `node` opened it: the fork runs it again."""
    *before, last = kept
    is_opened = last.opens is not None and last.opens.state == node
    return [*before, replace(last, opens=None)] if is_opened else kept


def _is_visit(node: str, before: Checkpoint, after: Checkpoint) -> bool:
    """Return True if `node` was entered between two steps of the top level."""
    is_inside = before.state == node and before.phase is not Phase.LEFT
    opened = before.opens is not None and before.opens.state == node
    return before.ending is None and not is_inside and (opened or after.state == node)


def _entry(rt: Runtime, before: Checkpoint, request: ForkRequest) -> Entry:
    """Return the entry of the node after `before`.

    Raises:
        NodeNotForkable: the input is unknown and not in the request, or too large.
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
            f"state {request.node!r}: expected a known input, but it ran on another version, or its input was "
            "collected; give an input"
        )
    found = replace(found, continuation=_not_redriven(found.continuation))
    outcome = limit_outcome(rt, found.value, found.continuation, what="input")
    if isinstance(outcome, Failure):
        raise NodeNotForkable(f"state {request.node!r}: {outcome.cause}")
    return found


def _entry_before(rt: Runtime, before: Checkpoint, node: str) -> Entry | None:
    """Return the original entry of `node` after `before`; None if this version cannot plan it again.

    A fork may have copied `before` from an execution of another version.
    """
    if not is_own(rt, before) or (before.state and before.state not in rt.workflow.states):
        return None
    try:
        effect = plan(rt.workflow, before)
        if isinstance(effect, OpenScope) and effect.scope.state != node:  # `node` is the Task that joins the scope
            effect = plan(rt.workflow, draft(rt, join_results(rt, effect.scope)))
    except (RefusedDelivery, InconsistentHistory):
        return None
    found = entered(effect)
    return found if found is not None and found.state == node else None


def _entering(rt: Runtime, name: Name, entry: Entry) -> Checkpoint:
    """Return the commit that enters the node under `name`.

    Raises:
        NodeNotForkable: no step is left, or the node's own data flow fails.
    """
    try:
        return entering(rt, name, entry)[0]
    except ExecutionNotRedrivable as refused:
        raise NodeNotForkable(str(refused)) from refused


def _start(rt: Runtime, fresh: Checkpoint) -> Execution:
    """Create the start record `fresh` unless one with the same input exists; return the execution.

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
    """Return a copy of `checkpoint` for another execution."""
    return replace(
        checkpoint,
        name=replace(checkpoint.name, execution=execution),
        opens=checkpoint.opens and replace(checkpoint.opens, execution=execution),
        digest=rt.workflow.digest,
        continuation=_not_redriven(checkpoint.continuation),
        began=None,
    )


def _not_redriven(continuation: Continuation) -> Continuation:
    """Return `continuation` without the count of redrives."""
    return replace(continuation, variables=without_redrives(continuation.variables))


def _taken(rt: Runtime, name: str) -> ExecutionAlreadyExists:
    return ExecutionAlreadyExists(f"execution {name!r} of workflow {rt.workflow.name!r} is another: use another name")
