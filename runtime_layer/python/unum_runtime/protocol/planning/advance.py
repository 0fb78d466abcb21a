"""Advance over pure states, up to the next Task, Wait or fan-out, or the end of the scope.

Deterministic: equal committed values and evaluation contexts give every delivery equal answers.
"""

from types import ModuleType
from typing import TypeAlias

from unum_runtime.asl import recovery
from unum_runtime.asl.program import StateOutput
from unum_runtime.cold_start.records import dataclass, replace
from unum_runtime.errors import StatesError
from unum_runtime.model.checkpoint import Failure, Success
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import SHARD_SIZE
from unum_runtime.model.states import Choice, Fail, FanOut, Json, Map, Parallel, State, Task, Wait, Work
from unum_runtime.protocol.planning import dataset_variables
from unum_runtime.protocol.planning.evaluation import (
    CHILD,
    INPUT,
    EvaluationContext,
    child_execution,
    compiled,
    deadline,
    of_execution,
)

MAX_PURE_STEPS = 25_000
"""Limit of pure states between two commits, after which a loop without a Task fails.

Source: AWS Step Functions Developer Guide, "Service quotas": a history has at most 25,000 events.
"""


@dataclass(frozen=True)
class AtTask:
    """Arrival at a Task.

    Attributes:
        task: the Task.
        given: its input before its data flow.
        evaluation: the evaluation context of entering it.
        due_ms: earliest start in milliseconds since 1970, if a Wait comes before the Task.
    """

    task: Task
    given: Success
    evaluation: EvaluationContext
    due_ms: int | None = None

    @property
    def value(self) -> Json:
        """The Task's input as JSON."""
        return self.given.value


@dataclass(frozen=True)
class AtWait:
    """Arrival at a Wait until `until_ms`, without a Task behind it."""

    state: Wait
    value: Json
    evaluation: EvaluationContext
    until_ms: int


@dataclass(frozen=True)
class AtFanOut:
    """Arrival at a fan-out that contains Tasks.

    Attributes:
        state: the Map or Parallel.
        value: its input before its data flow.
        evaluation: the evaluation context of entering it.
        inputs: the input of each branch.
        width: the number of branches that run at once; in a region, of nodes without sources.
    """

    state: FanOut
    value: Json
    evaluation: EvaluationContext
    inputs: tuple[Json, ...]
    width: int


@dataclass(frozen=True)
class Ended:
    """End of the scope with value `given` after `state`."""

    state: str
    given: Success


@dataclass(frozen=True)
class Failed:
    """Failure of `state`."""

    state: str
    failure: Failure


Arrival: TypeAlias = AtTask | AtWait | AtFanOut | Ended | Failed


@dataclass(frozen=True)
class Onward:
    """Exit of a passed state with `value`; `target` names the next state, None at the end of the scope."""

    value: Json
    target: str | None
    evaluation: EvaluationContext


@dataclass(frozen=True)
class Visit:
    """One visit of a state between two commits.

    Attributes:
        state: the state.
        given: its input before its data flow.
        evaluation: the evaluation context of entering it.
        end: its exit, or the arrival if control stops here.
        branches: the visits in each branch of a fan-out that was computed in place.
    """

    state: State
    given: Success
    evaluation: EvaluationContext
    end: Arrival | Onward
    branches: "tuple[Visits, ...]" = ()

    @property
    def exit(self) -> Onward | None:
        """Exit of the state; None if control stopped or failed here."""
        return self.end if isinstance(self.end, Onward) else None

    @property
    def failure(self) -> Failure | None:
        """Failure that ended the scope here; None otherwise."""
        return self.end.failure if isinstance(self.end, Failed) else None


Visits: TypeAlias = list[Visit]
"""A collector of visits, in order; the last may be of a state that control stopped at."""


def advance(start: str, given: Success, evaluation: EvaluationContext, visits: Visits | None = None) -> Arrival:
    """Pass pure states, beginning with `start` entered with `given`.

    A Wait before a Task is passed too: the Task's event is delayed instead, which saves an event.

    Args:
        start: name of the first state.
        given: its input.
        evaluation: the evaluation context of entering it.
        visits: collects every visited state; None on the hot path, where nothing reads them.
    """
    if evaluation.workflow.strict and (failure := _quotas().oversized(evaluation.workflow, given)):
        return Failed(start, failure)
    arrival = _follow(start, given, evaluation, visits)
    return (_task_behind(arrival, visits) or arrival) if isinstance(arrival, AtWait) else arrival


def branch_start(state: FanOut, index: int) -> str:
    """Return the name of the first state in branch `index` of `state`."""
    return state.branches[index] if isinstance(state, Parallel) else _as_map(state).start


def branch_evaluation(state: FanOut, index: int, value: Json, evaluation: EvaluationContext) -> EvaluationContext:
    """Return the evaluation context for branch `index` of `state`, entered with `value`.

    Args:
        state: the Map or Parallel.
        index: index of the branch.
        value: input of the branch.
        evaluation: the context of entering `state`.
    """
    variables = dataset_variables.without(evaluation.variables)
    seed = f"{evaluation.seed}+{evaluation.visited} {state.name}[{index}]"
    if isinstance(state, Map) and state.distributed:  # a child execution sees no outer variables
        given = {INPUT: value} if INPUT in evaluation.variables else {}
        variables = given | of_execution(evaluation.variables)
    inside = EvaluationContext(evaluation.workflow, evaluation.execution, evaluation.entered_ms, seed, variables)
    if isinstance(state, Map) and state.distributed and inside.workflow.names_children:
        return replace(inside, variables={**variables, CHILD: child_execution(state, inside)})
    return inside


def join(state: FanOut, value: Json, results: list[Json], evaluation: EvaluationContext) -> StateOutput | Failure:
    """Return a fan-out's output, or its data flow's failure.

    Args:
        state: the Map or Parallel.
        value: its input before its data flow; ignored unless `Workflow.needs_origin`.
        results: the results of its branches, in order; those of a region's sinks become an object by name.
        evaluation: the evaluation context of entering it.
    """
    if isinstance(state, Map) and state.writes:
        return dataset_variables.keep_results(value, results, evaluation)
    variables = dataset_variables.without(evaluation.variables) if evaluation.variables else evaluation.variables
    program, result = compiled(evaluation.workflow, state), _by_name(state, results) if state.needs else results
    if program.gives_result:
        return StateOutput(result, variables)
    try:
        return program.output(value, result, replace(evaluation, variables=variables).context_of(state.name))
    except StatesError as failed:
        return failure_of(state, failed)


def pass_wait(state: Wait, value: Json, evaluation: EvaluationContext) -> StateOutput | Failure:
    """Return output of a finished Wait, or its data flow's failure."""
    program, context = compiled(evaluation.workflow, state), evaluation.context_of(state.name)
    try:
        return program.output(value, program.arguments(value, context), context)
    except StatesError as failed:
        return failure_of(state, failed)


def fall_back(state: Work, value: Json, failure: Failure, evaluation: EvaluationContext) -> Onward | Failed:
    """Return the exit through a matching catcher, otherwise `failure`.

    Args:
        state: the failed state, whose retriers are used up.
        value: its input.
        failure: its failure.
        evaluation: the evaluation context of entering it.
    """
    evaluation = replace(evaluation, variables=dataset_variables.without(evaluation.variables))
    # After the execution's deadline no catcher may continue it.
    position = recovery.find_catcher(state.catch, failure.error)
    if position is None or evaluation.is_late:
        return Failed(state.name, failure)
    try:
        left = compiled(evaluation.workflow, state).catch(
            position, value, _shown(failure), evaluation.context_of(state.name, part=" caught")
        )
    except StatesError as failed:
        return Failed(state.name, failure_of(state, failed))
    return Onward(left.value, state.catch[position].next, evaluation.after(left.variables))


def too_many_failed(state: FanOut, value: Json, failed: int, size: int, evaluation: EvaluationContext) -> bool:
    """Return True if `failed` of `size` branches exceed the tolerance of `state`, entered with `value`."""
    if not isinstance(state, Map) or not state.tolerates:
        return failed > 0
    number, context = compiled(evaluation.workflow, state).number, evaluation.context_of(state.name)
    count, percentage = (number(f"ToleratedFailure{unit}", value, context) for unit in ("Count", "Percentage"))
    return (count is not None and failed > count) or (percentage is not None and failed * 100 > percentage * size)


def by_branch(state: FanOut, failure: Failure) -> Failure:
    """Return the failure of `state` after `failure` of a branch.

    Branches of a distributed Map are child executions, so their errors stay inside: the Map fails with an exceeded
    threshold, whose default is 0 (AWS Step Functions Developer Guide, "Tolerated failure threshold"). Exceeded budgets
    are of the whole execution.
    """
    is_inside = isinstance(state, Map) and state.distributed and failure.error not in recovery.BUDGETS
    return exceeded() if is_inside else failure


def exceeded() -> Failure:
    """Return the failure of a Map that exceeds its tolerance."""
    return Failure("States.ExceedToleratedFailureThreshold", "The specified tolerated failure threshold was exceeded")


def failure_of(state: State, failed: StatesError) -> Failure:
    """Return the failure of `state` for a data-flow error."""
    return Failure(failed.error, f"state {state.name!r}: {failed.cause}")


def _follow(start: str, given: Success, evaluation: EvaluationContext, visits: Visits | None) -> Arrival:
    name = start
    for _ in range(MAX_PURE_STEPS):
        state = evaluation.workflow.states[name]
        branches: list[Visits] | None = None if visits is None else []
        end = _enter(state, given, evaluation, branches)
        if visits is not None:
            visits.append(Visit(state, given, evaluation, end, tuple(branches or ())))
        if not isinstance(end, Onward):
            return end
        given, evaluation = given.changed_to(end.value), end.evaluation
        if end.target is None:
            return Ended(name, given)
        name = end.target
    cause = f"state {name!r}: {MAX_PURE_STEPS} states since the last Task; a loop without a Task must end"
    return Failed(name, Failure("States.Runtime", cause))


def _task_behind(wait: AtWait, visits: Visits | None) -> AtTask | None:
    """Return the arrival at the Task after `wait`; None if another state follows or the execution's time ends first."""
    left = pass_wait(wait.state, wait.value, wait.evaluation)
    if isinstance(left, Failure) or wait.state.next is None:
        return None
    after = wait.evaluation.after(left.variables, entered_ms=wait.until_ms)
    if after.is_late:
        return None
    ahead: Visits | None = None if visits is None else []
    # Visits ahead count only if a Task follows; otherwise the Wait's own commit leads to them.
    arrival = _follow(wait.state.next, Success(left.value), after, ahead)
    if not isinstance(arrival, AtTask):
        return None
    if visits is not None and ahead is not None:
        passed = Onward(left.value, wait.state.next, after)
        visits[-1:] = [replace(visits[-1], end=passed), *ahead]
    return replace(arrival, due_ms=wait.until_ms)


def _enter(
    state: State, given: Success, evaluation: EvaluationContext, branches: list[Visits] | None
) -> Arrival | Onward:
    """Return the arrival if control stops at `state`, otherwise its exit."""
    if isinstance(state, Task):
        return AtTask(state, given, evaluation)  # its text is not decoded: an event may pass it on unread
    value = given.value
    try:
        return _within_quota(_visit(state, value, evaluation, branches), evaluation.workflow)
    except StatesError as failed:
        failure = failure_of(state, failed)
        return fall_back(state, value, failure, evaluation) if isinstance(state, Work) else Failed(state.name, failure)


def _visit(state: State, value: Json, evaluation: EvaluationContext, branches: list[Visits] | None) -> Arrival | Onward:
    match state:
        case Wait():
            return _visit_wait(state, value, evaluation)
        case FanOut():
            return _visit_fan_out(state, value, evaluation, branches)
    program, context = compiled(evaluation.workflow, state), evaluation.context_of(state.name)
    match state:
        case Fail():
            return Failed(state.name, Failure(*program.failure(value, context)))
        case Choice():
            target, left = program.choose(value, context)
            return Onward(left.value, target, evaluation.after(left.variables))
    left = program.output(value, program.arguments(value, context), context)
    return Onward(left.value, state.next, evaluation.after(left.variables))


def _within_quota(end: Arrival | Onward, workflow: Workflow) -> Arrival | Onward:
    """Return `end`; raise StatesError if a strict workflow passes on too large a value."""
    if workflow.strict and isinstance(end, Onward):
        _quotas().check_value(workflow, end.value, "output")
    return end


def _quotas() -> ModuleType:
    from unum_runtime.protocol.planning import quotas  # noqa: PLC0415 - few workflows are compiled strictly

    return quotas


def _visit_wait(state: Wait, value: Json, evaluation: EvaluationContext) -> Arrival | Onward:
    program, context = compiled(evaluation.workflow, state), evaluation.context_of(state.name)
    until_ms = program.until_ms(value, context)
    deadline_ms = deadline(evaluation.workflow, evaluation.execution)
    # A Wait never outlasts the execution, so that its timeout is committed in time.
    if deadline_ms is not None:
        until_ms = min(until_ms, deadline_ms)
    if until_ms > evaluation.entered_ms:
        return AtWait(state, value, evaluation, until_ms)
    left = program.output(value, program.arguments(value, context), context)
    return Onward(left.value, state.next, evaluation.after(left.variables))


def _visit_fan_out(
    state: FanOut, value: Json, evaluation: EvaluationContext, branches: list[Visits] | None
) -> Arrival | Onward:
    program, context = compiled(evaluation.workflow, state), evaluation.context_of(state.name)
    if isinstance(state, Parallel):
        inputs = (program.arguments(value, context),) * len(state.branches)
    else:
        inputs = tuple(program.items(value, context, dataset_variables.items_read(state, evaluation)))
    if state.quorum is not None and not state.quorum <= len(inputs) <= SHARD_SIZE:
        cause = (
            f"expected {state.quorum} to {SHARD_SIZE} branches, of which {state.quorum} are enough; got {len(inputs)}"
        )
        raise StatesError("States.Runtime", cause)
    limit = program.number("MaxConcurrency", value, context)
    if state.needs:
        limit = sum(not sources for _, sources in state.needs)
    if evaluation.workflow.strict:
        limit = _quotas().branches_at_once(state, limit)
    too_many_failed(state, value, 0, len(inputs), evaluation)  # an invalid tolerance fails before any branch runs
    if inputs and not state.pure:
        return AtFanOut(state, value, evaluation, inputs, min(int(limit), len(inputs)) if limit else len(inputs))
    ends = [_end_of_branch(state, index, entered, evaluation, branches) for index, entered in enumerate(inputs)]
    failures = [end.failure for end in ends if isinstance(end, Failed)]
    if too_many_failed(state, value, len(failures), len(ends), evaluation):
        return fall_back(state, value, by_branch(state, failures[0]), evaluation)
    left = join(state, value, [end.given.value for end in ends if isinstance(end, Ended)], evaluation)
    if isinstance(left, Failure):
        return fall_back(state, value, left, evaluation)
    return Onward(left.value, state.next, evaluation.after(left.variables))


def _by_name(state: FanOut, results: list[Json]) -> dict[str, Json]:
    """Return the results of a region's sinks by name."""
    used = {source for _, sources in state.needs for source in sources}
    return {name: result for (name, _), result in zip(state.needs, results, strict=True) if name not in used}


def _end_of_branch(
    state: FanOut, index: int, entered: Json, evaluation: EvaluationContext, branches: list[Visits] | None
) -> Arrival:
    """Return the end of branch `index`, computed in place."""
    visits: Visits | None = None
    if branches is not None:
        visits = []
        branches.append(visits)
    inner = branch_evaluation(state, index, entered, evaluation)
    return _follow(branch_start(state, index), Success(entered), inner, visits)


def _shown(failure: Failure) -> dict[str, str | None]:
    """Return the error output for a catcher (Amazon States Language, "Error output")."""
    shown: dict[str, str | None] = {"Error": failure.error, "Cause": failure.cause}
    # Recorded by AWS: a failure without both, such as a responder's, gives a catcher two nulls.
    if failure.error is None and failure.cause is None:
        return shown
    return {name: text for name, text in shown.items() if text is not None}


def _as_map(state: FanOut) -> Map:
    assert isinstance(state, Map)  # noqa: S101 - FanOut has two subclasses
    return state
