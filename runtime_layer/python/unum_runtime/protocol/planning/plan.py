"""What follows from a committed outcome: a pure function from checkpoints to effects as data.

Every delivery of an event, and every loser of a commit, plans from the same committed checkpoint and hence the same
effects; doing an effect twice does no harm, because each ends in a commit, a set, or an event for a named invocation.
"""

from typing import TypeAlias

from unum_runtime.cold_start.records import dataclass, replace
from unum_runtime.errors import OutcomeCollected
from unum_runtime.model.checkpoint import (
    DEFAULT_CONTINUATION,
    Checkpoint,
    Collected,
    Continuation,
    Ending,
    Failure,
    Outcome,
    Phase,
    Status,
    Success,
    to_text,
)
from unum_runtime.model.envelope import Siblings, Source, Value
from unum_runtime.model.ir import Json, Workflow
from unum_runtime.model.naming import START_STEP, Execution, Frames, Name, Scope
from unum_runtime.protocol.planning.advance import (
    Arrival,
    AtFanOut,
    AtTask,
    AtWait,
    Ended,
    Failed,
    Visits,
    advance,
    branch_moment,
    branch_start,
)
from unum_runtime.protocol.planning.evaluation import INPUT, EvaluationContext

MAX_OUTCOME_BYTES = 380_000
"""The largest outcome that is stored; DynamoDB takes items of 400 KB, key and names included."""

WITHOUT_BUCKET = ': give the workflow a bucket for larger ones, payload="s3", or pass large data by reference'
"""What helps against the limits of items and events."""


@dataclass(frozen=True)
class Invoke:
    """Send an event for invocation `name` of `state`.

    Attributes:
        name: the invocation.
        state: its Task; or a Wait, or a fan-out that begins anew or in parts, which go on in the function that sent the
            event.
        input: by value or by reference.
        due_ms: when it is to be delivered, in milliseconds since 1970; None for at once.
        retries: how often each retrier of the state was used.
        job: what a service that works on the Task has to be asked by.
        is_new: whether it was looked for just now, and has no outcome.
    """

    name: Name
    state: str
    input: Source
    due_ms: int | None = None
    retries: tuple[int, ...] = ()
    job: Json = None
    is_new: bool = False


@dataclass(frozen=True)
class JoinNeighbour:
    """Invoke a Task when its own branch, which is here now, and the branch before it have both come to it."""

    invoke: Invoke


@dataclass(frozen=True)
class OpenScope:
    """Start the branches of a fan-out.

    Attributes:
        scope: the fan-out.
        arrival: its state, with what each branch is entered with; as many as the scope's size.
        retries: how often each retrier of the state was used.
        part: the branches to start, where these are not all that begin when the scope opens.
    """

    scope: Scope
    arrival: AtFanOut
    retries: tuple[int, ...]
    part: range | None = None


@dataclass(frozen=True)
class CompleteBranch:
    """Add the branch with `frames` to its scope's completion set; it came to `outcome`."""

    execution: Execution
    frames: Frames
    outcome: Success


@dataclass(frozen=True)
class BranchFailed:
    """The branch with `frames` came to `failure`; its scope fails, or tolerates it."""

    execution: Execution
    frames: Frames
    failure: Failure


@dataclass(frozen=True)
class Commit:
    """Commit an outcome if there is none yet, and go on from the one that is committed then.

    Attributes:
        name: the invocation.
        state: its state.
        phase: whether `outcome` is what the state was entered with or what it came to.
        outcome: the value or the failure.
        continuation: how control goes on from it, where that is not as usual.
        duration_ms: how long user code ran for it; 0 where there was none.
        attempt: how often it had been tried before.
        joins: the scope whose results, or whose failure, it was made of, if it was.
        as_of_ms: when what it was made of was committed, if that settles it; so that every delivery plans the same.
    """

    name: Name
    state: str
    phase: Phase
    outcome: Outcome
    continuation: Continuation = DEFAULT_CONTINUATION
    duration_ms: int = 0
    attempt: int = 0
    joins: Scope | None = None
    as_of_ms: int | None = None


class InlineCommit(Commit):
    """A commit that takes no invocation of its own: a branch ends where it begins, or an event cannot be sent."""


@dataclass(frozen=True)
class Finish:
    """The execution has ended; the checkpoint that this was planned from says so too."""

    execution: Execution
    ending: Ending


Effect: TypeAlias = Invoke | JoinNeighbour | OpenScope | CompleteBranch | BranchFailed | Commit | Finish


def plan(workflow: Workflow, checkpoint: Checkpoint, visits: Visits | None = None) -> Effect:
    """What has to happen after `checkpoint`.

    Args:
        workflow: the version that the execution runs on.
        checkpoint: a committed outcome.
        visits: collects the states between `checkpoint` and the effect; see `advance`.

    Raises:
        OutcomeCollected: all that follows from it is committed.
    """
    if checkpoint.ending is not None and checkpoint.is_stop:
        return Finish(checkpoint.name.execution, checkpoint.ending)
    if checkpoint.phase is Phase.RETRIED and isinstance(checkpoint.outcome, Success):
        return _again(checkpoint, checkpoint.outcome)
    return _onward(workflow, checkpoint, visits)


def evaluation_of(workflow: Workflow, checkpoint: Checkpoint) -> EvaluationContext:
    """The moment in which control goes on from `checkpoint`."""
    variables = checkpoint.continuation.variables
    if is_start(checkpoint.name) and workflow.keeps_input and isinstance(checkpoint.outcome, Success):
        variables = {INPUT: checkpoint.outcome.value}
    name = checkpoint.name
    return EvaluationContext(workflow, name.execution, checkpoint.committed_ms, str(name), variables)


def branch(opened: OpenScope, index: int, visits: Visits | None = None) -> Invoke | Commit:
    """How branch `index` begins: with its first Task or Wait, or, where none comes first, with a commit."""
    fan_out, value = opened.arrival.state, opened.arrival.inputs[index]
    name = Name(opened.scope.execution, opened.scope.branch(index), step=0)
    evaluation = branch_moment(fan_out, index, value, opened.arrival.evaluation)
    match advance(branch_start(fan_out, index), Success(value), evaluation, visits):
        case AtTask() | AtWait() as arrival:
            return _invoke(name, arrival)
        case AtFanOut(state, value, evaluation):
            return Commit(name, state.name, Phase.ENTERED, Success(value), Continuation(variables=evaluation.variables))
        case Ended(state, outcome):
            return InlineCommit(name, state, Phase.LEFT, outcome)
        case Failed(state, failure):
            return InlineCommit(name, state, Phase.LEFT, failure)


def started_at_once(opened: OpenScope) -> range:
    """The branches that begin when the scope opens, or the part of them that `opened` is about."""
    return range(opened.arrival.width) if opened.part is None else opened.part


def parts(opened: OpenScope, most: int) -> list[Invoke]:
    """Events, at most `most`, each of which has a part of the branches begin that `started_at_once` names.

    They make a tree: where a part has more than `most` branches, its event leads to events for parts of it.
    """
    begun, size = started_at_once(opened), most
    while size * most < len(begun):
        size *= most
    return [_part(opened, begun[first : first + size]) for first in range(0, len(begun), size)]


def started_after(opened: OpenScope, index: int) -> range:
    """The branches that begin when branch `index` has completed: one under MaxConcurrency, as long as there are any."""
    return range(index + opened.arrival.width, opened.scope.size)[:1]


def out_of_time(workflow: Workflow) -> Failure:
    """What an execution comes to that takes longer than it may."""
    return Failure("States.Timeout", f"the execution took longer than its TimeoutSeconds, {workflow.timeout_s} s")


def budget_exceeded(workflow: Workflow) -> Failure:
    """What an execution comes to that takes more steps than it may."""
    cause = f"more than {workflow.hop_budget} steps; does a loop never end? Raise hop_budget where this many are meant"
    return Failure("Unum.HopBudgetExceeded", cause)


def is_start(name: Name) -> bool:
    """Whether `name` is that of a start record."""
    return not name.frames and name.step == START_STEP


def _onward(workflow: Workflow, checkpoint: Checkpoint, visits: Visits | None) -> Effect:
    """What has to happen where control goes on from `checkpoint`."""
    evaluation = evaluation_of(workflow, checkpoint)
    match _within_limits(workflow, checkpoint, evaluation, _arrive(workflow, checkpoint, evaluation, visits)):
        case AtTask(task) as arrival if task.meets_previous:
            return JoinNeighbour(_invoke(_follower(workflow, checkpoint), arrival))
        case AtTask() | AtWait() as arrival:
            return _invoke(_follower(workflow, checkpoint), _waiting_on(checkpoint, arrival))
        case AtFanOut() as arrival:
            return _open(checkpoint, arrival)
        case Ended(state, outcome):
            return _end(workflow, checkpoint, state, outcome)
        case Failed(state, failure):
            return _end(workflow, checkpoint, state, failure)


def _arrive(
    workflow: Workflow, checkpoint: Checkpoint, evaluation: EvaluationContext, visits: Visits | None
) -> Arrival:
    """Where control comes to after `checkpoint`."""
    if isinstance(checkpoint.outcome, Collected):
        raise OutcomeCollected(f"{checkpoint.name}: was collected, because what follows from it is committed")
    if isinstance(checkpoint.outcome, Failure):
        return Failed(workflow.start_at if is_start(checkpoint.name) else checkpoint.state, checkpoint.outcome)
    start = _resume_at(workflow, checkpoint)
    if start is None:
        return Ended(checkpoint.state, checkpoint.outcome)
    return advance(start, checkpoint.outcome, evaluation, visits)


def _within_limits(
    workflow: Workflow, checkpoint: Checkpoint, evaluation: EvaluationContext, arrival: Arrival
) -> Arrival:
    """`arrival`, or what it comes to where the execution's time or its steps are used up."""
    if workflow.timeout_s is not None and evaluation.is_late and not isinstance(arrival, Failed):
        return Failed(checkpoint.state, out_of_time(workflow))
    is_over = isinstance(arrival, Ended | Failed)
    if not is_over and checkpoint.name.hops >= workflow.hop_budget:
        return Failed(checkpoint.state, budget_exceeded(workflow))
    return arrival


def _resume_at(workflow: Workflow, checkpoint: Checkpoint) -> str | None:
    if is_start(checkpoint.name):
        return workflow.start_at
    if checkpoint.phase is Phase.ENTERED:
        return checkpoint.state
    return checkpoint.continuation.goes_to or workflow.states[checkpoint.state].next


def _follower(workflow: Workflow, checkpoint: Checkpoint) -> Name:
    """The name of the invocation that follows: steps are only taken by what is committed.

    So the one who commits next is always at the step right after the last one that is committed.
    """
    is_left = checkpoint.phase is Phase.LEFT
    return checkpoint.name if is_left and workflow.passes_name_on(checkpoint.state) else checkpoint.name.following


def _waiting_on(checkpoint: Checkpoint, arrival: AtTask | AtWait) -> AtTask | AtWait:
    """`arrival`; its time is that of before, where `checkpoint` is that of a redrive of what waited."""
    until_ms = checkpoint.continuation.until_ms
    state = arrival.task if isinstance(arrival, AtTask) else arrival.state
    if until_ms is None or state.name != checkpoint.state:
        return arrival
    if isinstance(arrival, AtWait):
        return replace(arrival, until_ms=until_ms)
    entered_ms = max(arrival.evaluation.entered_ms, until_ms)
    return replace(arrival, evaluation=replace(arrival.evaluation, entered_ms=entered_ms), due_ms=until_ms)


def _invoke(name: Name, arrival: AtTask | AtWait) -> Invoke:
    """What `arrival` leads to."""
    evaluation = arrival.evaluation
    if isinstance(arrival, AtTask):  # it is entered when its time has come, a Wait before that
        entered = Value(arrival.given, evaluation.entered_ms, evaluation.variables)
        return Invoke(name, arrival.task.name, entered, arrival.due_ms)
    entered = Value(Success(arrival.value), evaluation.entered_ms, evaluation.variables)
    return Invoke(name, arrival.state.name, entered, arrival.until_ms)


def _part(opened: OpenScope, part: range) -> Invoke:
    """The event by which the branches `part` begin; it is named for the first of them."""
    name = Name(opened.scope.execution, opened.scope.branch(part.start), step=0)
    return Invoke(name, opened.scope.state, Siblings(part.stop))


def _again(checkpoint: Checkpoint, given: Success) -> Invoke:
    """The fan-out that failed, entered with `given`, begins anew, with an event of its own, because that may wait."""
    continuation = checkpoint.continuation
    entered = Value(given, checkpoint.committed_ms, continuation.variables)
    return Invoke(checkpoint.name.following, checkpoint.state, entered, continuation.until_ms, continuation.retries)


def _open(checkpoint: Checkpoint, arrival: AtFanOut) -> OpenScope | Commit:
    name, state = checkpoint.name, arrival.state.name
    if is_start(name):  # a client wrote the start record, and it knows no sizes: commit them first
        continuation = Continuation(variables=arrival.evaluation.variables)
        return Commit(name.following, state, Phase.ENTERED, Success(arrival.value), continuation)
    retries = checkpoint.continuation.retries if (checkpoint.phase, checkpoint.state) == (Phase.ENTERED, state) else ()
    scope = Scope(name.execution, name.frames, state, name.step + 1, sum(retries), len(arrival.inputs))
    return OpenScope(scope, arrival, retries)


def _end(workflow: Workflow, checkpoint: Checkpoint, state: str, outcome: Outcome) -> Effect:
    """The scope of `checkpoint` ends with `outcome` after `state`."""
    name = checkpoint.name
    if is_start(name):
        return Commit(name.following, state, Phase.LEFT, outcome)
    successor = workflow.committed_by(checkpoint.state)
    if successor is not None:  # a failure: another delivery may have succeeded, and the successor's commit decides
        return Commit(name, successor, Phase.LEFT, outcome)
    if not name.frames:
        return _finish(workflow, checkpoint, state, outcome)
    if isinstance(outcome, Success):
        return CompleteBranch(name.execution, name.frames, outcome)
    return BranchFailed(name.execution, name.frames, outcome)


def _finish(workflow: Workflow, checkpoint: Checkpoint, state: str, outcome: Outcome) -> Commit | Finish:
    """The execution ends with `outcome`, which is in the same item unless that would be too large."""
    if checkpoint.outcome != outcome and _size(checkpoint.outcome) + _size(outcome) > MAX_OUTCOME_BYTES:
        return Commit(checkpoint.name.following, state, Phase.LEFT, outcome)
    status = Status.SUCCEEDED if isinstance(outcome, Success) else Status.FAILED
    if evaluation_of(workflow, checkpoint).is_late:
        status, outcome = Status.TIMED_OUT, out_of_time(workflow)
    return Finish(checkpoint.name.execution, Ending(status, outcome))


def _size(outcome: Outcome | Collected) -> int:
    match outcome:
        case Success():
            return len(outcome.text.encode())
        case Failure(error, cause):
            return len(to_text([error, cause]).encode())
    return 0
