"""What follows from a committed outcome: a pure function from checkpoints to effects as data.

Every delivery of an event, and every loser of a commit, plans from the same committed checkpoint and hence the same
effects; doing an effect twice does no harm, because each ends in a commit, a set, or an event for a named invocation.
"""

from dataclasses import dataclass
from typing import TypeAlias

from unum_runtime.errors import RefusedDelivery
from unum_runtime.model.checkpoint import (
    Checkpoint,
    Collected,
    Ending,
    Failure,
    Outcome,
    Phase,
    Status,
    Success,
    to_text,
)
from unum_runtime.model.envelope import Results, Value
from unum_runtime.model.ir import Json, Workflow
from unum_runtime.model.naming import START_STEP, Execution, Frames, Name, Scope
from unum_runtime.protocol.advance import (
    Arrival,
    AtFanOut,
    AtTask,
    Ended,
    Failed,
    Moment,
    advance,
    branch_start,
    initial_width,
)

MAX_OUTCOME_BYTES = 380_000
"""The largest outcome that is stored; DynamoDB takes items of 400 KB, key and names included."""


@dataclass(frozen=True, slots=True)
class Invoke:
    """Send the Task `state` an event for invocation `name`."""

    name: Name
    state: str
    input: Value | Results


@dataclass(frozen=True, slots=True)
class Open:
    """Start the branches of a fan-out.

    Attributes:
        scope: the fan-out.
        value: the fan-out state's input before its data flow.
        inputs: what each branch is entered with; as many as the scope's size.
        moment: what the context object says while the branches are planned.
    """

    scope: Scope
    value: Json
    inputs: tuple[Json, ...]
    moment: Moment


@dataclass(frozen=True, slots=True)
class Complete:
    """Add the branch with `frames` to its scope's completion set; it came to `value`."""

    execution: Execution
    frames: Frames
    value: Json


@dataclass(frozen=True, slots=True)
class Commit:
    """Commit an outcome if there is none yet, and go on from the one that is committed then.

    Attributes:
        name: the invocation.
        state: its state.
        phase: whether `outcome` is what the state was entered with or what it came to.
        outcome: the value or the failure.
        duration_ms: how long user code ran for it; 0 where there was none.
        joins: the scope whose results it was made of, if it was.
        as_of_ms: when what it was made of was committed, if that settles it; so that every delivery plans the same.
    """

    name: Name
    state: str
    phase: Phase
    outcome: Outcome
    duration_ms: int = 0
    joins: Scope | None = None
    as_of_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Finish:
    """The execution has ended; the checkpoint that this was planned from says so too."""

    execution: Execution
    ending: Ending


Effect: TypeAlias = Invoke | Open | Complete | Commit | Finish


def plan(workflow: Workflow, checkpoint: Checkpoint) -> Effect:
    """What has to happen after `checkpoint`.

    Raises:
        RefusedDelivery: it was collected, because all that follows from it is committed.
    """
    moment = Moment(workflow.name, checkpoint.name.execution, checkpoint.committed_ms)
    match _arrive(workflow, checkpoint, moment):
        case AtTask() | AtFanOut() if checkpoint.name.hops >= workflow.hop_budget:
            return _end(workflow, checkpoint, checkpoint.state, budget_exceeded(workflow))
        case AtTask(task, value):
            return Invoke(_next(checkpoint.name), task.name, Value(value, moment.entered_ms))
        case AtFanOut() as arrival:
            return _open(checkpoint, arrival, moment)
        case Ended(state, value):
            return _end(workflow, checkpoint, state, Success(value))
        case Failed(state, failure):
            return _end(workflow, checkpoint, state, failure)


def _arrive(workflow: Workflow, checkpoint: Checkpoint, moment: Moment) -> Arrival:
    """Where control comes to after `checkpoint`."""
    if isinstance(checkpoint.outcome, Collected):
        raise RefusedDelivery(f"{checkpoint.name}: was collected, because what follows from it is committed")
    if isinstance(checkpoint.outcome, Failure):
        return Failed(workflow.start_at if is_start(checkpoint.name) else checkpoint.state, checkpoint.outcome)
    value = checkpoint.outcome.value
    start = _resume_at(workflow, checkpoint)
    if start is None:
        return Ended(checkpoint.state, value)
    return advance(workflow, start, value, moment)


def branch(workflow: Workflow, opened: Open, index: int) -> Invoke | Commit:
    """How branch `index` begins: with its first Task, or, where a Task does not come first, with a commit."""
    fan_out = workflow.fan_out(opened.scope.state)
    name = Name(opened.scope.execution, opened.scope.branch(index), step=0)
    match advance(workflow, branch_start(fan_out, index), opened.inputs[index], opened.moment):
        case AtTask(task, value):
            return Invoke(name, task.name, Value(value, opened.moment.entered_ms))
        case AtFanOut(state, value, _):
            return Commit(name, state.name, Phase.ENTERED, Success(value))
        case Ended(state, value):
            return Commit(name, state, Phase.LEFT, Success(value))
        case Failed(state, failure):
            return Commit(name, state, Phase.LEFT, failure)


def started_at_once(workflow: Workflow, scope: Scope) -> range:
    """The branches that begin when the scope opens."""
    return range(initial_width(workflow.fan_out(scope.state), scope.size))


def started_after(workflow: Workflow, scope: Scope, index: int) -> range:
    """The branches that begin when branch `index` has completed: one under MaxConcurrency, as long as there are any."""
    width = initial_width(workflow.fan_out(scope.state), scope.size)
    return range(index + width, scope.size, scope.size)


def budget_exceeded(workflow: Workflow) -> Failure:
    """What an execution comes to that takes more steps than it may."""
    cause = f"more than {workflow.hop_budget} steps; does a loop never end? Raise hop_budget where this many are meant"
    return Failure("Unum.HopBudgetExceeded", cause)


def _resume_at(workflow: Workflow, checkpoint: Checkpoint) -> str | None:
    if is_start(checkpoint.name):
        return workflow.start_at
    if checkpoint.phase is Phase.ENTERED:
        return checkpoint.state
    return workflow.states[checkpoint.state].next


def is_start(name: Name) -> bool:
    """Whether `name` is that of a start record."""
    return not name.frames and name.step == START_STEP


def _next(name: Name) -> Name:
    return Name(name.execution, name.frames, name.step + 1)


def _open(checkpoint: Checkpoint, arrival: AtFanOut, moment: Moment) -> Open | Commit:
    name = checkpoint.name
    state = arrival.state.name
    if is_start(name):  # a client wrote the start record, and it knows no sizes: commit them first
        return Commit(_next(name), state, Phase.ENTERED, Success(arrival.value))
    scope = Scope(name.execution, name.frames, state, name.step + 1, 0, len(arrival.inputs))
    return Open(scope, arrival.value, arrival.inputs, moment)


def _end(workflow: Workflow, checkpoint: Checkpoint, state: str, outcome: Outcome) -> Complete | Commit | Finish:
    """The scope of `checkpoint` ends with `outcome` after `state`."""
    name = checkpoint.name
    if is_start(name):
        return Commit(_next(name), state, Phase.LEFT, outcome)
    successor = workflow.committed_by(checkpoint.state)
    if successor is not None:  # a failure: another delivery may have succeeded, and the successor's commit decides
        return Commit(_next(name), successor, Phase.LEFT, outcome)
    if not name.frames:
        return _finish(checkpoint, state, outcome)
    if isinstance(outcome, Success):
        return Complete(name.execution, name.frames, outcome.value)
    scope = Scope.around(name.execution, name.frames)
    return Commit(scope.join, scope.state, Phase.LEFT, outcome)


def _finish(checkpoint: Checkpoint, state: str, outcome: Outcome) -> Commit | Finish:
    """The execution ends with `outcome`, which is in the same item unless that would be too large."""
    if checkpoint.outcome != outcome and _size(checkpoint.outcome) + _size(outcome) > MAX_OUTCOME_BYTES:
        return Commit(_next(checkpoint.name), state, Phase.LEFT, outcome)
    status = Status.SUCCEEDED if isinstance(outcome, Success) else Status.FAILED
    return Finish(checkpoint.name.execution, Ending(status, outcome))


def _size(outcome: Outcome | Collected) -> int:
    match outcome:
        case Success(value):
            return len(to_text(value).encode())
        case Failure(error, cause):
            return len(to_text([error, cause]).encode())
    return 0
