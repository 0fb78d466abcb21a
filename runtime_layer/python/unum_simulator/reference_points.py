"""Positions of the reference run, the expected view of user code there, and the ends of scopes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from unum_runtime.model.checkpoint import Checkpoint, Continuation, Failure, Outcome, Success
from unum_runtime.model.naming import Frame, Frames, Name
from unum_runtime.model.states import FanOut, Json, Task
from unum_runtime.protocol.delivery.run_task import event_of
from unum_runtime.protocol.planning import dataset_variables
from unum_runtime.protocol.planning.advance import (
    Arrival,
    AtFanOut,
    AtTask,
    AtWait,
    branch_evaluation,
    branch_start,
    by_branch,
)
from unum_runtime.protocol.planning.evaluation import EvaluationContext, compiled
from unum_simulator.expected_commits import created_outcome


@dataclass(frozen=True, slots=True)
class Visit:
    """Expected view of an invocation's user code.

    Attributes:
        task: the Task.
        raw: the Task's input before its data flow.
        evaluation: evaluation context at the Task's entry.
        due_ms: earliest start of user code, in milliseconds since 1970; None for no limit.
    """

    task: Task
    raw: Json
    evaluation: EvaluationContext
    due_ms: int | None

    def event(self, retries: tuple[int, ...], now_ms: int, token: str) -> Json:
        """Return user code's event at the time `now_ms` after `retries`, with its task token.

        Raises:
            StatesError: the Task fails before user code runs.
        """
        context = self.evaluation.context_of(self.task.name, retries=retries, now_ms=now_ms, token=token)
        arguments = compiled(self.evaluation.workflow, self.task).arguments(self.raw, context)
        return event_of(self.task, dataset_variables.results_kept(self.task, arguments, self.evaluation))


@dataclass(frozen=True, slots=True)
class End:
    """End of a scope.

    Attributes:
        outcome: the scope's outcome.
        at_ms: commit time of the last outcome, in milliseconds since 1970.
        name: name of the last outcome, if it belongs to the scope itself.
    """

    outcome: Outcome
    at_ms: int
    name: Name | None = None


@dataclass(frozen=True, slots=True)
class Point:
    """Position in a scope, before its next outcome.

    Attributes:
        name: name of the next outcome.
        last: state of the previous outcome; empty at the beginning.
        start: state to enter; None at the end of the scope.
        value: input of that state.
        evaluation: evaluation context at the entry.
        retries: earlier uses of each retrier, for a fan-out that starts again here.
        until_ms: earliest start of a redriven state, in milliseconds since 1970; None for no limit.
        joins: `last` is a fan-out whose outcome the next Task commits, under the same name.
    """

    name: Name
    last: str
    start: str | None
    value: Json
    evaluation: EvaluationContext
    retries: tuple[int, ...] = ()
    until_ms: int | None = None
    joins: bool = False

    @property
    def before(self) -> Name:
        """Name of the previous outcome in the scope."""
        return self.name if self.joins else replace(self.name, step=self.name.step - 1)

    @property
    def is_first(self) -> bool:
        """True before the scope's first outcome."""
        return not self.last


def redrive_continuation(arrival: AtTask | AtFanOut | AtWait, count: Mapping[str, Json]) -> Continuation:
    """Return the continuation that enters `arrival` again, with an unfinished wait's end."""
    variables = {**arrival.evaluation.variables, **count}
    match arrival:
        case AtTask(due_ms=until_ms) | AtWait(until_ms=until_ms):
            return Continuation(variables=variables, until_ms=until_ms)
    return Continuation(variables=variables)


def still_waiting(arrival: Arrival, point: Point) -> Arrival:
    """Return `arrival` with the wait that a redriven state still has."""
    if point.until_ms is None:
        return arrival
    match arrival:
        case AtWait(state) if state.name == point.start:
            return replace(arrival, until_ms=point.until_ms)
        case AtTask(task, _, evaluation) if task.name == point.start:
            entered = replace(evaluation, entered_ms=max(evaluation.entered_ms, point.until_ms))
            return replace(arrival, evaluation=entered, due_ms=point.until_ms)
    return arrival


def as_of_scope(state: FanOut, end: End) -> End:
    """Return a branch's failure as the parent scope sees it."""
    return replace(end, outcome=by_branch(state, end.outcome)) if isinstance(end.outcome, Failure) else end


def branch_point(
    arrival: AtFanOut, name: Name, generation: int, index: int, ends: Sequence[End | None]
) -> Point | None:
    """Return the position at the begin of branch `index`; None if a source of this node has no result.

    Args:
        arrival: the fan-out.
        name: name of the fan-out's outcome.
        generation: number of its earlier retries.
        index: the branch.
        ends: ends of the branches before it.
    """
    state, value, evaluation = arrival.state, arrival.inputs[index], arrival.evaluation
    sources = state.needs[index][1] if state.needs else ()
    if sources:
        by_name = dict(zip((node for node, _ in state.needs), ends, strict=False))
        done = {source: end for source in sources if (end := by_name[source]) and isinstance(end.outcome, Success)}
        if len(done) < len(sources):
            return None
        value = {source: created.value for source, end in done.items() if isinstance(created := end.outcome, Success)}
        at_ms, origin = max(end.at_ms for end in done.values()), replace(name, step=name.step - 1)
        evaluation = replace(evaluation, entered_ms=at_ms, seed=str(origin), visited=0)
    frames = (*name.frames, Frame(state.name, name.step, generation, index, len(arrival.inputs)))
    inside = branch_evaluation(state, index, value, evaluation)
    return Point(Name(name.execution, frames, 0), "", branch_start(state, index), value, inside)


def with_neighbour(neighbours: dict[Name, AtTask], name: Name, own: AtTask) -> AtTask | None:
    """Return the arrival with the inputs of a branch and its predecessor, or None before the latter's arrival."""
    neighbours[name] = own
    frames, index = name.frames[:-1], name.frames[-1].index
    if index == 0:
        return replace(own, given=Success([None, own.value]))
    before = neighbours.get(replace(name, frames=(*frames, replace(name.frames[-1], index=index - 1))))
    if before is None:
        return None
    evaluation = replace(own.evaluation, entered_ms=max(before.evaluation.entered_ms, own.evaluation.entered_ms))
    return replace(own, given=Success([before.value, own.value]), evaluation=evaluation)


def with_previous(results: Mapping[tuple[Frames, str], Checkpoint], name: Name, own: AtTask) -> AtTask | None:
    """Return the arrival with a result of the previous branch, or None before that is committed."""
    *around, frame = name.frames
    if frame.index == 0:
        return replace(own, given=Success({"own": own.value, "previous": None}))
    before = (*around, replace(frame, index=frame.index - 1))
    result = results.get((before, own.task.after_previous or ""))
    if result is None or not isinstance(outcome := created_outcome(result), Success):
        return None
    evaluation = replace(own.evaluation, entered_ms=max(result.committed_ms, own.evaluation.entered_ms))
    return replace(own, given=Success({"own": own.value, "previous": outcome.value}), evaluation=evaluation)
