"""Plan the effect that follows from a committed checkpoint: a pure function to effects as data.

Each delivery of an event, and each loser of a commit, plans from the same checkpoint and hence the same effect.
Repeated effects are harmless: each ends in a commit, an addition to a set, or an event for a named invocation.
"""

from typing import TypeAlias

from unum_runtime.cold_start.records import dataclass, field, replace
from unum_runtime.errors import OutcomeCollected
from unum_runtime.json_text import to_text
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
)
from unum_runtime.model.delivery_record import FailedTry
from unum_runtime.model.envelope import Siblings, Source, Value
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import START_STEP, Execution, Frames, Name, Scope
from unum_runtime.model.states import FanOut, Json
from unum_runtime.protocol.planning.advance import (
    Arrival,
    AtFanOut,
    AtTask,
    AtWait,
    Ended,
    Failed,
    Visits,
    advance,
    branch_evaluation,
    branch_start,
)
from unum_runtime.protocol.planning.evaluation import INPUT, SEED, EvaluationContext

MAX_OUTCOME_BYTES = 380_000
"""Largest stored outcome, below DynamoDB's limit of 400 KB for an item with key and attribute names.

Source: Amazon DynamoDB Developer Guide, "Constraints in Amazon DynamoDB".
"""

DEFAULT_WIDTH_BUDGET, DEFAULT_INVOCATION_BUDGET = 100_000, 10_000_000
"""Default budgets for branches of one fan-out, and for invocations of an execution."""

WITHOUT_BUCKET = ': give the workflow a bucket for larger ones, payload="s3", or pass large data by reference'
"""Advice in errors about the size of items and events."""


@dataclass(frozen=True)
class Invoke:
    """Send an event for invocation `name` of `state`.

    Attributes:
        name: invocation name.
        state: Task; or a Wait, or a fan-out that starts again or in parts, which resume in the sending function.
        input: input by value or by reference.
        due_ms: delivery time in milliseconds since 1970; None for at once.
        retries: uses of each retrier of the state.
        job: handle of the Task's service job.
        is_new: the store was read just now and has no outcome of the invocation.
        tries: earlier failed tries, which only the record of the delivery gets.
    """

    name: Name
    state: str
    input: Source
    due_ms: int | None = None
    retries: tuple[int, ...] = ()
    job: Json = None
    is_new: bool = False
    tries: tuple[FailedTry, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class JoinNeighbour:
    """Join a branch with its previous branch: invoke a Task after both branches reach it.

    A Task with `after_previous` is invoked after its own branch has reached it and the other has committed the result.
    """

    invoke: Invoke


@dataclass(frozen=True)
class FeedNext:
    """Record a committed result for a Task of the next branch.

    Attributes:
        checkpoint: the commit with the result.
        waiting: name of the Task that waits for it.
    """

    checkpoint: Checkpoint
    waiting: str


@dataclass(frozen=True)
class OpenScope:
    """Start a fan-out's branches.

    Attributes:
        scope: scope of the fan-out.
        arrival: its state, with the input of each branch.
        retries: uses of each retrier of the state.
        part: branches to start; None for all that start when the scope opens.
    """

    scope: Scope
    arrival: AtFanOut
    retries: tuple[int, ...]
    part: range | None = None


@dataclass(frozen=True)
class CompleteBranch:
    """Add the branch with `frames`, which ended with `outcome`, to its scope's completion set.

    Attributes:
        execution: the execution.
        frames: the branch.
        outcome: its result.
        step: step of its last commit.
        ended_ms: time of that commit, in milliseconds since 1970.
    """

    execution: Execution
    frames: Frames
    outcome: Success
    step: int = field(default=0, compare=False)
    ended_ms: int = field(default=0, compare=False)


@dataclass(frozen=True)
class BranchFailed:
    """Failure of branch `frames`, tolerated by its scope or fatal to it."""

    execution: Execution
    frames: Frames
    failure: Failure


@dataclass(frozen=True)
class Commit:
    """Commit an outcome if absent, and continue from the committed outcome.

    Attributes:
        name: invocation name.
        state: state.
        phase: meaning of `outcome`: input or output of the state.
        outcome: the value or the failure.
        continuation: continuation from the outcome.
        duration_ms: run time of user code; 0 without user code.
        attempt: number of earlier attempts.
        joins: scope whose results or failure the outcome derives from; None for no scope.
        as_of_ms: commit time of its source, if that decides the commit's time, so that all deliveries plan the same.
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
    """Commit without an invocation: a branch without Tasks, or an event over the size limit."""


@dataclass(frozen=True)
class Finish:
    """End of the execution, which the planned checkpoint records too, with step and time of that commit."""

    execution: Execution
    ending: Ending
    step: int = field(default=0, compare=False)
    at_ms: int = field(default=0, compare=False)


Effect: TypeAlias = Invoke | JoinNeighbour | FeedNext | OpenScope | CompleteBranch | BranchFailed | Commit | Finish


def plan(workflow: Workflow, checkpoint: Checkpoint, visits: Visits | None = None) -> Effect:
    """Return the next effect after `checkpoint`.

    Args:
        workflow: the version that the execution runs on.
        checkpoint: a committed outcome.
        visits: collects the states between `checkpoint` and the effect; see `advance`.

    Raises:
        OutcomeCollected: the outcome is collected, because all following outcomes are committed.
    """
    # A stop record has no state to continue from. All other endings follow from the outcome, as for any checkpoint.
    if checkpoint.ending is not None and checkpoint.is_stop:
        return _finished(checkpoint, checkpoint.ending)
    if checkpoint.phase is Phase.RETRIED and isinstance(checkpoint.outcome, Success) and not is_start(checkpoint.name):
        return _retry_fan_out(checkpoint, checkpoint.outcome)
    return _plan_after(workflow, checkpoint, visits)


def effects_after(workflow: Workflow, checkpoint: Checkpoint) -> list[Effect]:
    """Return the effect of `plan`, with the results of `checkpoint` for Tasks of the next branch beside it.

    Raises:
        OutcomeCollected: see `plan`.
    """
    return [plan(workflow, checkpoint), *fed_by(workflow, checkpoint)]


def fed_by(workflow: Workflow, checkpoint: Checkpoint) -> list[FeedNext]:
    """Return an effect for each Task of the next branch that waits for the result of `checkpoint`."""
    if checkpoint.state not in workflow.feeds or not isinstance(checkpoint.outcome, Success):
        return []
    own = checkpoint.name.frames[-1]
    is_last = own.index + 1 == own.size
    return [] if is_last else [FeedNext(checkpoint, waiting) for waiting in workflow.feeds[checkpoint.state]]


def evaluation_of(workflow: Workflow, checkpoint: Checkpoint) -> EvaluationContext:
    """Return the evaluation context of the states after `checkpoint`."""
    variables = checkpoint.continuation.variables
    if is_start(checkpoint.name) and workflow.keeps_input and isinstance(checkpoint.outcome, Success):
        variables = {INPUT: checkpoint.outcome.value}
    if checkpoint.secret and workflow.draws:
        variables = {**variables, SEED: checkpoint.secret}
    name = checkpoint.name
    return EvaluationContext(workflow, name.execution, checkpoint.committed_ms, str(name), variables)


def branch(opened: OpenScope, index: int, visits: Visits | None = None) -> Invoke | Commit:
    """Return the first effect of branch `index`: an event for its first Task or Wait, else a commit."""
    arrival = opened.arrival
    return begin_branch(arrival.state, opened.scope, index, arrival.inputs[index], arrival.evaluation, visits)


def begin_branch(
    fan_out: FanOut,
    scope: Scope,
    index: int,
    value: Json,
    evaluation: EvaluationContext,
    visits: Visits | None = None,
) -> Invoke | Commit:
    """Return the first effect of branch `index` of `scope`, entered with `value`.

    Args:
        fan_out: the Map or Parallel.
        scope: its scope.
        index: the branch.
        value: its input.
        evaluation: the evaluation context of entering `fan_out`.
        visits: collects visited states; see `advance`.
    """
    name = Name(scope.execution, scope.branch(index), step=0)
    inside = branch_evaluation(fan_out, index, value, evaluation)
    match advance(branch_start(fan_out, index), Success(value), inside, visits):
        case AtTask() | AtWait() as arrival:
            return _invoke(name, arrival)
        case AtFanOut(state, value, evaluation):
            return Commit(name, state.name, Phase.ENTERED, Success(value), Continuation(variables=evaluation.variables))
        case Ended(state, outcome):
            return InlineCommit(name, state, Phase.LEFT, outcome)
        case Failed(state, failure):
            return InlineCommit(name, state, Phase.LEFT, failure)


def started_at_once(opened: OpenScope) -> range:
    """Return the branches at the opening of a scope, limited to `opened.part`."""
    return range(opened.arrival.width) if opened.part is None else opened.part


def parts(opened: OpenScope, most: int) -> list[Invoke]:
    """Return at most `most` events, each for starting one part of the branches `started_at_once`.

    Parts form a tree: the event of a part with more than `most` branches leads to events for smaller parts.
    """
    branches, size = started_at_once(opened), most
    while size * most < len(branches):
        size *= most
    return [_start_part(opened, branches[first : first + size]) for first in range(0, len(branches), size)]


def started_after(opened: OpenScope, index: int) -> range:
    """Return successors of branch `index` in a fan-out without region: the next branch of its lane, if any."""
    return range(index + opened.arrival.width, opened.scope.size)[:1]


def out_of_time(workflow: Workflow) -> Failure:
    """Return the failure of an execution over its time limit."""
    return Failure("States.Timeout", f"the execution took longer than its TimeoutSeconds, {workflow.timeout_s} s")


def beyond_budget(workflow: Workflow, name: Name, width: int | None) -> Failure | None:
    """Return the failure of a step after `name` beyond a budget; None within all budgets.

    Invocations are estimated by the step's place alone, so they need no counter, and no event, crash or retry changes
    the estimate: each branch counts as if all its siblings had come as far, and each fan-out as if every step before
    it had been as large. Retries of fan-outs take steps, too. Fan-outs of any sizes that all stay within the budget B
    have at most B * (1 + ln n) invocations in n steps; each level of nesting repeats the factor.

    Args:
        workflow: the workflow.
        name: the last commit before the step.
        width: number of branches, if the step opens a fan-out.
    """
    if name.hops >= (most := workflow.hop_budget):
        cause = f"more than {most} steps; does a loop never end? Raise hop_budget where this many are meant"
        return Failure("Unum.HopBudgetExceeded", cause)
    most = workflow.width_budget or DEFAULT_WIDTH_BUDGET
    if width is not None and width > most:
        cause = f"{width} branches; at most {most} are allowed: process the items in batches, or raise width_budget"
        return Failure("Unum.WidthBudgetExceeded", cause)
    # Steps of branches begin with 0; at the top level, 0 is the start record. A branch's first step is its fan-out's.
    invocations = name.following.step + bool(name.frames) if width is None else name.following.step * width
    for frame in name.frames:
        invocations *= frame.iteration * frame.size
    most = workflow.invocation_budget or DEFAULT_INVOCATION_BUDGET
    if invocations <= most:
        return None
    cause = (
        f"some {invocations} invocations; at most {most} are allowed: raise invocation_budget where this many are meant"
    )
    return Failure("Unum.InvocationBudgetExceeded", cause)


def is_start(name: Name) -> bool:
    """Return True for the name of a start record."""
    return not name.frames and name.step == START_STEP


def _plan_after(workflow: Workflow, checkpoint: Checkpoint, visits: Visits | None) -> Effect:
    """Return the next effect after the states behind `checkpoint`."""
    evaluation = evaluation_of(workflow, checkpoint)
    match _within_limits(workflow, checkpoint, evaluation, _arrive(workflow, checkpoint, evaluation, visits)):
        case AtTask(task) as arrival if task.meets_previous:
            return JoinNeighbour(_invoke(_next_name(workflow, checkpoint), arrival))
        case AtTask(task) as arrival if task.after_previous is not None:
            return _join_result(_invoke(_next_name(workflow, checkpoint), _without_previous(arrival)))
        case AtTask() | AtWait() as arrival:
            return _invoke(_next_name(workflow, checkpoint), _with_original_due_time(checkpoint, arrival))
        case AtFanOut() as arrival:
            return _open(checkpoint, arrival)
        case Ended(state, outcome):
            return _end(workflow, checkpoint, state, outcome)
        case Failed(state, failure):
            return _end(workflow, checkpoint, state, failure)


def _arrive(
    workflow: Workflow, checkpoint: Checkpoint, evaluation: EvaluationContext, visits: Visits | None
) -> Arrival:
    """Return the arrival of control after `checkpoint`."""
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
    """Return `arrival`, or a failure past the execution's time limit or a budget."""
    # The limit is asked for first: a hop without one calls no function of another module.
    if workflow.timeout_s is not None and evaluation.is_late and not isinstance(arrival, Failed):
        return Failed(checkpoint.state, out_of_time(workflow))
    if isinstance(arrival, Ended | Failed):
        return arrival
    width = len(arrival.inputs) if isinstance(arrival, AtFanOut) else None
    beyond = beyond_budget(workflow, checkpoint.name, width)
    return arrival if beyond is None else Failed(checkpoint.state, beyond)


def _resume_at(workflow: Workflow, checkpoint: Checkpoint) -> str | None:
    if is_start(checkpoint.name):
        return workflow.start_at
    if checkpoint.phase is Phase.ENTERED:
        return checkpoint.state
    return checkpoint.continuation.goes_to or workflow.states[checkpoint.state].next


def _next_name(workflow: Workflow, checkpoint: Checkpoint) -> Name:
    """Return the next invocation's name: always the step right after the last commit."""
    # Only commits take steps. A Task after an uncommitted state therefore inherits its name.
    is_left = checkpoint.phase is Phase.LEFT
    return checkpoint.name if is_left and workflow.passes_name_on(checkpoint.state) else checkpoint.name.following


def _with_original_due_time(checkpoint: Checkpoint, arrival: AtTask | AtWait) -> AtTask | AtWait:
    """Return `arrival` with its original due time, for redrives of stopped Waits."""
    until_ms = checkpoint.continuation.until_ms
    state = arrival.task if isinstance(arrival, AtTask) else arrival.state
    if until_ms is None or state.name != checkpoint.state:
        return arrival
    if isinstance(arrival, AtWait):
        return replace(arrival, until_ms=until_ms)
    entered_ms = max(arrival.evaluation.entered_ms, until_ms)
    return replace(arrival, evaluation=replace(arrival.evaluation, entered_ms=entered_ms), due_ms=until_ms)


def _invoke(name: Name, arrival: AtTask | AtWait) -> Invoke:
    """Return the event for the Task or Wait of `arrival`."""
    evaluation = arrival.evaluation
    if isinstance(arrival, AtTask):  # it is entered when its time has come, a Wait before that
        entered = Value(arrival.given, evaluation.entered_ms, evaluation.variables)
        return Invoke(name, arrival.task.name, entered, arrival.due_ms)
    entered = Value(Success(arrival.value), evaluation.entered_ms, evaluation.variables)
    return Invoke(name, arrival.state.name, entered, arrival.until_ms)


def _without_previous(arrival: AtTask) -> AtTask:
    """Return `arrival` with the input that a Task with `after_previous` has in the first branch."""
    return replace(arrival, given=Success({"own": arrival.value, "previous": None}))


def _join_result(invoke: Invoke) -> Invoke | JoinNeighbour:
    """Return the effect at a Task with `after_previous`; the first branch waits for none."""
    return JoinNeighbour(invoke) if invoke.name.frames[-1].index else invoke


def _start_part(opened: OpenScope, part: range) -> Invoke:
    """Return an event for starting branches `part`, named after the first branch."""
    name = Name(opened.scope.execution, opened.scope.branch(part.start), step=0)
    return Invoke(name, opened.scope.state, Siblings(part.stop))


def _retry_fan_out(checkpoint: Checkpoint, given: Success) -> Invoke:
    """Return the event that starts a failed fan-out again with `given`, after the retrier's delay."""
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
    """Return the effect of a scope's end with `outcome` after `state`."""
    name = checkpoint.name
    if is_start(name):
        return Commit(name.following, state, Phase.LEFT, outcome)
    successor = workflow.committed_by(checkpoint.state)
    if successor is not None:  # a failure: another delivery may have succeeded, and the successor's commit decides
        return Commit(name, successor, Phase.LEFT, outcome)
    if not name.frames:
        return _finish(workflow, checkpoint, state, outcome)
    if isinstance(outcome, Success):
        return CompleteBranch(name.execution, name.frames, outcome, name.step, checkpoint.committed_ms)
    return BranchFailed(name.execution, name.frames, outcome)


def _finish(workflow: Workflow, checkpoint: Checkpoint, state: str, outcome: Outcome) -> Commit | Finish:
    """Return the execution's end, or a commit if checkpoint and ending exceed one item's size."""
    # The ending shares the checkpoint's item, which saves a write, unless both exceed DynamoDB's limit for an item.
    if checkpoint.outcome != outcome and _size(checkpoint.outcome) + _size(outcome) > MAX_OUTCOME_BYTES:
        return Commit(checkpoint.name.following, state, Phase.LEFT, outcome)
    status = Status.SUCCEEDED if isinstance(outcome, Success) else Status.FAILED
    # The commit's time decides, not the current time: a later delivery must plan the same ending.
    if evaluation_of(workflow, checkpoint).is_late:
        status, outcome = Status.TIMED_OUT, out_of_time(workflow)
    return _finished(checkpoint, Ending(status, outcome))


def _finished(checkpoint: Checkpoint, ending: Ending) -> Finish:
    return Finish(checkpoint.name.execution, ending, checkpoint.name.step, checkpoint.committed_ms)


def _size(outcome: Outcome | Collected) -> int:
    match outcome:
        case Success():
            return len(outcome.text.encode())
        case Failure(error, cause):
            return len(to_text([error, cause]).encode())
    return 0
