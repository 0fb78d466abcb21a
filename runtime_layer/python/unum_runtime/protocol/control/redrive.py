"""Redriving: an execution that failed goes on from what has succeeded, in the same execution and under the same name.

The step after the one that ended the execution is committed: it enters the state that failed once more, with the input
that it had. From then on no step that ends it is the last, so it runs. Nothing is deleted; what still comes of events
from before comes to names that are taken, or to branches that nobody looks at any more.

Source: AWS Step Functions Developer Guide, "Restarting state machine executions with redrive".
"""

from unum_runtime.cold_start.records import dataclass, replace
from unum_runtime.errors import ExecutionNotRedrivable
from unum_runtime.model.checkpoint import Began, Checkpoint, Continuation, Failure, Item, Phase, Status, Success
from unum_runtime.model.envelope import Value
from unum_runtime.model.list_index import Kind
from unum_runtime.model.list_index import entry as list_entry
from unum_runtime.model.naming import Execution, Name, checkpoint_key
from unum_runtime.protocol.control.nudge import nudge, own_steps
from unum_runtime.protocol.control.redrive_fan_out import (
    carry,
    planned,
    pure_failure,
    runs_again,
    same_size,
    still_fails,
)
from unum_runtime.protocol.delivery.commit import limit_outcome
from unum_runtime.protocol.history.timeline import redrives
from unum_runtime.protocol.planning.evaluation import REDRIVES, deadline
from unum_runtime.protocol.planning.plan import Commit, Effect, Finish, Invoke, OpenScope
from unum_runtime.protocol.runtime import Runtime

NOT_LISTED: Item = {}


@dataclass(frozen=True)
class Entry:
    """How a state was entered.

    Attributes:
        state: its name.
        value: what it was entered with.
        continuation: the variables that it saw.
    """

    state: str
    value: Success
    continuation: Continuation


def redrive(rt: Runtime, execution_name: str, began: Began | None = None) -> int:
    """Let an execution that failed go on; one that was redriven and has not ended since is nudged.

    For a redrive may have died after it had gone on as far as no event is needed: nobody else would send the next one.

    Args:
        rt: a runtime of the IR that the execution runs on, which knows the addresses of all functions.
        execution_name: the execution.
        began: the versions that it runs on from here; None for those that it has run on.

    Returns:
        When it was redriven, in milliseconds since 1970.

    Raises:
        ExecutionDoesNotExist: there is none of that name.
        ExecutionNotRedrivable: it did not fail, its time is over, or nothing of it could run again.
        NotOurEvent: it runs on another version.
        UnumError: something did not answer; redrive again.
    """
    steps = own_steps(rt, execution_name)
    redriven = under_way(steps) or _begin_again(rt, steps, began)
    nudge(rt, execution_name)
    return redriven.committed_ms


def under_way(steps: list[Checkpoint]) -> Checkpoint | None:
    """The last redrive among `steps`, those of a top level; None where there is none, or an end comes after it."""
    found = redrives(steps)
    return found[-1][1] if found and steps[-1].ending is None else None


def entered(effect: Effect) -> Entry | None:
    """How the state is entered that `effect` leads to; None where it is not told, or no state is entered."""
    match effect:
        case Invoke(state=state, input=Value(given, _, variables)):
            return Entry(state, given, Continuation(variables=variables))
        case OpenScope(scope, arrival):
            return Entry(scope.state, Success(arrival.value), Continuation(variables=arrival.evaluation.variables))
        case Commit(state=state, phase=Phase.ENTERED, outcome=Success() as value, continuation=continuation):
            return Entry(state, value, continuation)
    return None


def entering(rt: Runtime, name: Name, entry: Entry) -> tuple[Checkpoint, Effect]:
    """The commit that enters a state once more, under `name`, and what follows it.

    Raises:
        ExecutionNotRedrivable: what the state is entered with is too large to be stored, or no step is left.
    """
    outcome = limit_outcome(rt, entry.value, entry.continuation, what="input")
    if isinstance(outcome, Failure):
        raise ExecutionNotRedrivable(f"state {entry.state!r}: {outcome.cause}")
    checkpoint = Checkpoint(
        name=name,
        state=entry.state,
        phase=Phase.ENTERED,
        outcome=outcome,
        digest=rt.workflow.digest,
        committed_ms=rt.clock.now_ms(),
        continuation=entry.continuation,
    )
    following = planned(rt, checkpoint)
    if isinstance(following, Finish) and isinstance(following.ending.outcome, Failure):
        raise ExecutionNotRedrivable(f"state {entry.state!r}: {following.ending.outcome.cause}")
    return replace(checkpoint, opens=following.scope if isinstance(following, OpenScope) else None), following


def _begin_again(rt: Runtime, steps: list[Checkpoint], began: Began | None) -> Checkpoint:
    *_, before, last = _redrivable(rt, steps)
    was = planned(rt, before)
    entry = None if last.state and pure_failure(rt.workflow, was, last) else entered(was)
    if entry is None:
        raise ExecutionNotRedrivable(
            f"execution {last.name.execution.name!r} ended after {last.state!r} by no user code: it would again, so "
            "fork at a state before, or with another input"
        )
    name = replace(last.name, step=last.name.step + 1)
    checkpoint, following = entering(rt, name, _counted(rt, _waiting_on(entry, was), steps))
    if isinstance(was, OpenScope):
        again = same_size(was, following)
        if not runs_again(rt, was, again) and last.state == was.scope.state:
            raise still_fails(was)
        carry(rt, was, again)
    listed = list_entry(rt.workflow.name, checkpoint.name.execution, Kind.REDRIVEN)
    return commit_step(rt, replace(checkpoint, began=began), listed)


def _waiting_on(entry: Entry, was: Effect) -> Entry:
    """`entry`, which waits until `was` would have, if that was a Wait; a retrier's interval is over."""
    if not isinstance(was, Invoke) or was.retries:
        return entry
    return replace(entry, continuation=replace(entry.continuation, until_ms=was.due_ms))


def _counted(rt: Runtime, entry: Entry, steps: list[Checkpoint]) -> Entry:
    """`entry`, which tells how often the execution was redriven if anybody asks: once after each end among `steps`."""
    if not rt.workflow.counts_redrives:
        return entry
    count = sum(step.ending is not None for step in steps)
    return replace(
        entry, continuation=replace(entry.continuation, variables={**entry.continuation.variables, REDRIVES: count})
    )


def _redrivable(rt: Runtime, steps: list[Checkpoint]) -> list[Checkpoint]:
    """`steps`, if they are of an execution that may be redriven.

    Raises:
        ExecutionNotRedrivable: it may not.
    """
    ending, execution = steps[-1].ending, steps[-1].name.execution
    if ending is None or ending.status is Status.SUCCEEDED:
        status = Status.RUNNING if ending is None else ending.status
        raise ExecutionNotRedrivable(
            f"execution {execution.name!r}: expected one that failed, was stopped or ran out of time; it is {status}"
        )
    if _is_too_late(rt, execution):
        raise ExecutionNotRedrivable(
            f"execution {execution.name!r}: the time is over that it may take, by its TimeoutSeconds or the "
            "retention of the workflow; start another, or fork"
        )
    return steps


def _is_too_late(rt: Runtime, execution: Execution) -> bool:
    now_ms, deadline_ms = rt.clock.now_ms(), deadline(rt.workflow, execution)
    return now_ms // 1000 >= rt.last_s(execution) or (deadline_ms is not None and now_ms >= deadline_ms)


def commit_step(rt: Runtime, checkpoint: Checkpoint, listed: Item = NOT_LISTED) -> Checkpoint:
    """What is committed under the name of `checkpoint`, after this at the latest; `listed` is what lists tell of it."""
    key = checkpoint_key(rt.workflow.name, checkpoint.name)
    winner = rt.store.create(key, checkpoint.to_item() | listed, expires_at_s=rt.expires_at_s())
    return checkpoint if winner is None else Checkpoint.from_item(checkpoint.name, winner)
