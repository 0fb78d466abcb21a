"""Reference run: the failure-free result of the committed outcomes, by plain recursion without events.

It shares with the protocol only the semantics of a single state (`protocol.planning.advance`). Naming, ordering, joins,
retries and redrives have a second implementation here, so a bug in the protocol shows as a difference.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product

from unum_runtime.asl.program import StateOutput
from unum_runtime.model.checkpoint import (
    Checkpoint,
    Continuation,
    Ending,
    Failure,
    Outcome,
    Phase,
    Status,
    Success,
)
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import Execution, Frame, Frames, Name
from unum_runtime.model.states import FanOut, Json, Map, Task
from unum_runtime.protocol.delivery.run_task import event_of
from unum_runtime.protocol.planning import dataset_variables
from unum_runtime.protocol.planning.advance import (
    Arrival,
    AtFanOut,
    AtTask,
    AtWait,
    Ended,
    Failed,
    advance,
    branch_evaluation,
    branch_start,
    by_branch,
    exceeded,
    join,
    pass_wait,
    too_many_failed,
)
from unum_runtime.protocol.planning.evaluation import INPUT, REDRIVEN_AT, REDRIVES, SEED, EvaluationContext, compiled
from unum_runtime.protocol.planning.plan import beyond_budget, out_of_time
from unum_runtime.protocol.runtime import DEADLINE_MARGIN_S
from unum_simulator.expected_commits import (
    LIMIT,
    Failing,
    commit_fields,
    continuation_of,
    created_outcome,
    deadline_ms,
    explains,
    is_retried,
    matches_commit,
    outcome_of,
    same_json,
)
from unum_simulator.observed import Past

# Positions of the reference run, the expected view of user code there, and the ends of scopes.


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


class Unexplained(Exception):
    """Committed data that contradicts every failure-free run."""


@dataclass(slots=True)
class Reference:
    """A failure-free run of one execution.

    Attributes:
        workflow: the workflow.
        execution: the execution.
        past: committed history.
        visits: expected views of user code, by reachable invocation.
        unsettled: invocations and Tasks after an uncommitted outcome, whose view may still change.
        entries: the last two Tasks, fan-outs or Waits that the top level entered.
        neighbours: branches' arrivals at Tasks of neighbour joins.
        results: successes of Tasks, by branch and Task, for Tasks of the next branch.
        next_name: name of the top level's next outcome.
        redrives: number of redrives.
    """

    workflow: Workflow
    execution: Execution
    past: Past
    visits: dict[Name, Visit] = field(default_factory=dict)
    unsettled: set[tuple[Name, str]] = field(default_factory=set)
    entries: list[AtTask | AtFanOut | AtWait] = field(default_factory=list)
    neighbours: dict[Name, AtTask] = field(default_factory=dict)
    results: dict[tuple[Frames, str], Checkpoint] = field(default_factory=dict)
    next_name: Name | None = None
    redrives: int = 0

    def run(self, value: Json) -> Ending | None:
        """Return the ending of an execution with input `value`, or None if it depends on uncommitted outcomes.

        Raises:
            Unexplained: a committed outcome contradicts every failure-free run.
        """
        if self.past.is_fork and self.past.entry is None:
            return None  # nothing may run before the fork has copied its origin's commits
        record = Name(self.execution, (), 0)
        variables = {INPUT: value} if self.workflow.keeps_input else {}
        if self.past.secret and self.workflow.draws:
            variables[SEED] = self.past.secret
        evaluation = self._evaluation(record, self.execution.started_ms, variables)
        first = Point(Name(self.execution, (), 1), "", self.workflow.start_at, value, evaluation)
        end = self._follow(first) or self._stop_end()
        while end is not None and (again := self._redrive_point(end)) is not None:
            end = self._follow(again) or self._stop_end()
        if end is None:
            return None
        if self._is_late(end.at_ms):
            return Ending(Status.TIMED_OUT, out_of_time(self.workflow))
        return Ending(Status.SUCCEEDED if isinstance(end.outcome, Success) else Status.FAILED, end.outcome)

    def _stop_end(self) -> End | None:
        """Return the top level's end by a stop record, or None."""
        record = None if self.next_name is None else self.past.stopped(self.next_name)
        return None if record is None else End(created_outcome(record), record.committed_ms, record.name)

    def _redrive_point(self, end: End) -> Point | None:
        """Return the top level's position after a redrive of `end`, or None without a redrive."""
        if end.name is None or isinstance(end.outcome, Success):
            return None
        checkpoint = self.past.committed(replace(end.name, step=end.name.step + 1))
        if checkpoint is None:
            return None
        self.redrives += 1
        expected = [
            (arrival.value, redrive_continuation(arrival, self._redriven(end, checkpoint))) for arrival in self.entries
        ]
        found = created_outcome(checkpoint)
        for value, continuation in expected:
            if explains(Success(value), found) and same_json(continuation.to_item(), checkpoint.continuation.to_item()):
                after = self._after_commit(checkpoint, checkpoint.state)
                assert isinstance(after, Point)  # noqa: S101 - it is entered with a value
                return replace(after, until_ms=continuation.until_ms)
        raise Unexplained(f"{checkpoint.name}: expected a redrive of one of {expected}, found {checkpoint}")

    def _redriven(self, end: End, checkpoint: Checkpoint) -> dict[str, Json]:
        """Return the variables with number and time of redrives after the redrive `checkpoint` of `end`."""
        if not self.workflow.counts_redrives:
            return {}
        # A request that copied and died may have fixed the time before the one that committed.
        at_ms = checkpoint.continuation.variables.get(REDRIVEN_AT, 0)
        if not end.at_ms - self.past.tolerance_ms <= at_ms <= checkpoint.committed_ms:
            raise Unexplained(f"{checkpoint.name}: redriven at {at_ms}, before the end at {end.at_ms} or after itself")
        return {REDRIVES: self.redrives, REDRIVEN_AT: at_ms}

    def _follow(self, point: Point) -> End | None:
        """Follow one scope from `point` to its end."""
        found: Point | End | None = point
        while isinstance(found, Point):
            point = found
            if not point.name.frames:
                self.next_name = point.name
            arrived = self._arrive(point)
            if not point.name.frames and isinstance(arrived, AtTask | AtFanOut | AtWait):
                self.entries = [*self.entries[-1:], arrived]
            match arrived:
                case _ if point.name == self.past.entry:
                    found = self._after_fork(point, arrived)
                case AtTask() as arrival:
                    found = self._after_task(point, arrival)
                case AtWait() as arrival:
                    found = self._after_wait(point, arrival)
                case AtFanOut() as arrival:
                    found = self._after_fan_out(point, arrival) if point.last else self._first_fan_out(point, arrival)
                case Ended(state, outcome) | Failed(state, outcome):
                    found = self._end_of_scope(point, state, outcome)
        return found

    def _after_fork(self, point: Point, arrival: Arrival) -> Point | End:
        """Return the position after the commit that begins a fork's own steps, with the original input or another."""
        checkpoint = self.past.committed(point.name)
        assert checkpoint is not None  # noqa: S101 - the entry is known by its commit
        if isinstance(arrival, AtTask) and arrival.task.name == checkpoint.state and not self.past.is_given:
            self._expect(checkpoint, [Success(arrival.value)])
        if isinstance(arrival, AtFanOut) and arrival.state.name == checkpoint.state and not self.past.is_given:
            self._expect(checkpoint, [Success(arrival.value)])
        return self._after_commit(checkpoint, checkpoint.state)

    def _arrive(self, point: Point) -> Arrival:
        arrival: Arrival = Ended(point.last, Success(point.value))
        if point.start is not None:
            arrival = still_waiting(advance(point.start, Success(point.value), point.evaluation), point)
        # The protocol checks its limits when it continues from a checkpoint; a branch begins without one.
        if isinstance(arrival, Failed) or point.name.step == 0:
            return arrival
        if self._is_late(point.evaluation.entered_ms):
            return Failed(point.last, out_of_time(self.workflow))
        width = len(arrival.inputs) if isinstance(arrival, AtFanOut) else None
        beyond = None if isinstance(arrival, Ended) else beyond_budget(self.workflow, point.before, width)
        return arrival if beyond is None else Failed(point.last, beyond)

    def _end_of_scope(self, point: Point, state: str, outcome: Outcome) -> End | None:
        """Return the end of a scope; a scope without steps commits its outcome, as a base for the parent scope."""
        if not point.is_first:
            return End(outcome, point.evaluation.entered_ms)
        checkpoint = self._checkpoint_of(point.name, state)
        if checkpoint is None:
            return None
        self._expect(checkpoint, [outcome])
        # A timeout replaces only a success: a failure ends the execution anyway.
        is_in_time = isinstance(outcome, Failure) or not self._is_late(checkpoint.committed_ms)
        return End(created_outcome(checkpoint) if is_in_time else out_of_time(self.workflow), checkpoint.committed_ms)

    def _first_fan_out(self, point: Point, arrival: AtFanOut) -> Point | End | None:
        """Return the position after a scope's first fan-out, which commits its own input."""
        checkpoint = self._checkpoint_of(point.name, arrival.state.name)
        if checkpoint is None:
            return None
        return self._enter_fan_out(checkpoint, arrival.value, Continuation(variables=arrival.evaluation.variables))

    def _enter_fan_out(self, checkpoint: Checkpoint, value: Json, continuation: Continuation) -> Point | End:
        self._expect(checkpoint, [Success(value)], continuation)
        return self._after_commit(checkpoint, checkpoint.state)

    def _joined(self, name: Name, arrived: AtTask) -> AtTask | None:
        """Return the arrival at a Task with its inputs; None while one is missing."""
        if arrived.task.after_previous is not None:
            return with_previous(self.results, name, arrived)
        return with_neighbour(self.neighbours, name, arrived) if arrived.task.meets_previous else arrived

    def _after_task(self, point: Point, arrived: AtTask) -> Point | End | None:
        arrival = self._joined(point.name, arrived)
        if arrival is None:
            return None
        evaluation = replace(arrival.evaluation, seed=str(point.name), visited=0)
        visit = self.visits[point.name] = Visit(arrival.task, arrival.value, evaluation, arrival.due_ms)
        task = self._committer(point.name, arrival.task)
        copied = self._copied_outcome(point.name)
        if copied:
            self.results[point.name.frames, copied.state] = copied
            return self._after_copy(copied)
        checkpoint = self._checkpoint_of(point.name, task.name)
        if checkpoint is None:
            return None
        self.results[point.name.frames, task.name] = checkpoint
        author = self.past.author(checkpoint.name)
        outcome = created_outcome(checkpoint)
        is_limit = isinstance(outcome, Failure) and outcome.error == LIMIT
        if author.name != point.name and not is_limit and not self._waits_beyond_retention(checkpoint, arrival.due_ms):
            raise Unexplained(f"{checkpoint.name}: a delivery of {author.name} committed the outcome of {task.name!r}")
        if author.name == point.name and author.state in (None, arrival.task.name):
            self._expect_task(checkpoint, visit, author.retries)
        return self._after_commit(checkpoint, task.next)

    def _committer(self, name: Name, task: Task) -> Task:
        """Return the Task whose commit covers `task`, under the same name.

        Outcomes of the earlier Tasks exist only in the deliveries that computed them.
        """
        while task.committed_by is not None:
            task = self.workflow.task(task.committed_by)
            self.unsettled.add((name, task.name))
        return task

    def _after_copy(self, copied: Checkpoint) -> Point | End | None:
        """Return the position after an outcome that a redrive preserved, regardless of a new result.

        A branch that begins later may now have a Wait beyond the execution's deadline.
        """
        if is_retried(copied):
            return self._after_retry(copied)
        is_entered = copied.phase is Phase.ENTERED
        return self._after_commit(copied, copied.state if is_entered else self.workflow.states[copied.state].next)

    def _copied_outcome(self, name: Name) -> Checkpoint | None:
        """Return the outcome that a redrive copied from an earlier iteration or attempt of the fan-out, or None."""
        checkpoint = self.past.committed(name)
        return checkpoint if checkpoint and self._is_copied(checkpoint) else None

    def _is_copied(self, checkpoint: Checkpoint) -> bool:
        if not checkpoint.name.frames or self.past.author(checkpoint.name).name is not None:
            return False
        first, *inner = checkpoint.name.frames
        # Each attempt of a fan-out takes a step, so its generation is below its iteration.
        places = ((iteration, number) for iteration in range(1, first.iteration) for number in range(iteration))
        rounds = (replace(first, iteration=iteration, generation=number) for iteration, number in places)
        tries = ((replace(frame, generation=number) for number in range(frame.iteration)) for frame in inner)
        paths = product(rounds, *tries)
        before = (self.past.committed(replace(checkpoint.name, frames=frames)) for frames in paths)
        return any(each and (each.state, each.outcome) == (checkpoint.state, checkpoint.outcome) for each in before)

    def _expect_task(self, checkpoint: Checkpoint, visit: Visit, retries: tuple[int, ...]) -> None:
        """Raise Unexplained if a failure led to another commit than the recovery rules require; any success is fine."""
        outcome, continuation, task = created_outcome(checkpoint), checkpoint.continuation, visit.task
        failed = Failing(task, visit.raw, visit.evaluation, retries)
        if continuation.caught is not None:
            self._expect_recovery(checkpoint, failed, [continuation.caught])
        elif isinstance(outcome, Failure):
            if not failed.is_from_catcher(outcome):
                self._expect_recovery(checkpoint, failed, [outcome])
        else:
            own = {name.removesuffix(".$") for name in task.data.get("Assign", {})}
            kept, found = (
                {name: value for name, value in dataset_variables.without(variables).items() if name not in own}
                for variables in (visit.evaluation.variables, continuation.variables)
            )
            if not same_json(kept, found):
                raise Unexplained(f"{checkpoint.name}: expected the variables {kept}, found {found}")

    def _after_wait(self, point: Point, arrival: AtWait) -> Point | End | None:
        state, copied = arrival.state, self._copied_outcome(point.name)
        if copied:
            return self._after_copy(copied)
        checkpoint = self._checkpoint_of(point.name, state.name)
        if checkpoint is None:
            return None
        if self._waits_beyond_retention(checkpoint, arrival.until_ms):
            return self._after_commit(checkpoint, None)
        if checkpoint.committed_ms < arrival.until_ms - self.past.tolerance_ms:
            early_ms = arrival.until_ms - checkpoint.committed_ms
            raise Unexplained(f"{checkpoint.name}: {state.name!r} ended {early_ms} ms too early")
        left = pass_wait(state, arrival.value, replace(arrival.evaluation, seed=str(point.name), visited=0))
        self._expect(checkpoint, [outcome_of(left)], continuation_of(left))
        return self._after_commit(checkpoint, state.next)

    def _after_fan_out(self, point: Point, arrival: AtFanOut) -> Point | End | None:
        state, size = arrival.state, len(arrival.inputs)
        retries = point.retries if point.last == state.name else ()
        # Follow the branches first, even of a copied outcome: their user code may have run before the
        # redrive.
        ends = self._branches(point.name, arrival, sum(retries))
        failed = [end for end in ends if end and isinstance(end.outcome, Failure)]
        copied = self._copied_outcome(point.name)
        if copied:
            return self._after_copy(copied)
        checkpoint = self._outcome_of(point.name, state)
        if state.quorum is not None:
            return self._after_quorum(point, arrival, ends, state.quorum, retries)
        tolerates = isinstance(state, Map) and state.tolerates
        if failed and not tolerates:
            return self._after_failure(checkpoint, arrival, [as_of_scope(state, end) for end in failed], retries)
        done = [end for end in ends if end]
        if len(done) < size:
            if self.past.committed(point.name):
                missing = size - len(done)
                raise Unexplained(
                    f"{point.name}: {state.name!r} has an outcome, but {missing} branches have no outcome"
                )
            return None
        evaluation = self._evaluation(point.name, max(end.at_ms for end in done), arrival.evaluation.variables)
        if too_many_failed(state, arrival.value, len(failed), size, evaluation):
            return self._after_failure(checkpoint, arrival, [End(exceeded(), evaluation.entered_ms)], retries)
        results = [end.outcome.value for end in done if isinstance(end.outcome, Success)]
        return self._after_join(point, arrival, join(state, arrival.value, results, evaluation), evaluation, retries)

    def _after_quorum(
        self, point: Point, arrival: AtFanOut, ends: Sequence[End | None], quorum: int, retries: tuple[int, ...]
    ) -> Point | End | None:
        """Return the position after a fan-out that needs `quorum` successes; its outcome tells the counted branches."""
        state, checkpoint = arrival.state, self._outcome_of(point.name, arrival.state)
        failed = [end for end in ends if end and isinstance(end.outcome, Failure)]
        if len(failed) > len(ends) - quorum:
            return self._after_failure(checkpoint, arrival, failed, retries)
        results = [end.outcome.value for end in ends if end and isinstance(end.outcome, Success)]
        if len(results) < quorum:
            if self.past.committed(point.name):
                raise Unexplained(
                    f"{point.name}: {state.name!r} has an outcome, but only {len(results)} of {quorum} results"
                )
            return None
        evaluation = self._evaluation(point.name, max(end.at_ms for end in ends if end), arrival.evaluation.variables)
        lefts = [join(state, arrival.value, chosen, evaluation) for chosen in map(list, combinations(results, quorum))]
        if checkpoint:
            self._expect(checkpoint, [outcome_of(left) for left in lefts])
            return self._after_commit(checkpoint, state.next)
        # Any quorum may win the commit, so the join Task's input is not determined yet.
        if state.join is not None:
            self.unsettled.add((point.name, state.join))
        return self._after_join(point, arrival, lefts[0], evaluation, retries)

    def _branches(self, name: Name, arrival: AtFanOut, generation: int) -> list[End | None]:
        ends: list[End | None] = []
        for index in range(len(arrival.inputs)):
            point = branch_point(arrival, name, generation, index, ends)
            ends.append(None if point is None else self._follow(point))
        return ends

    def _after_join(
        self,
        point: Point,
        arrival: AtFanOut,
        left: StateOutput | Failure,
        evaluation: EvaluationContext,
        retries: tuple[int, ...],
    ) -> Point | End | None:
        state, checkpoint = arrival.state, self._outcome_of(point.name, arrival.state)
        if checkpoint and isinstance(left, Failure):
            return self._after_failure(checkpoint, arrival, [End(left, evaluation.entered_ms)], retries)
        if checkpoint:
            self._expect(checkpoint, [outcome_of(left)], continuation_of(left))
            return self._after_commit(checkpoint, state.next)
        if state.join is None or isinstance(left, Failure):
            return None
        after = replace(evaluation, variables=left.variables)
        return Point(point.name, state.name, state.next, left.value, after, joins=True)

    def _after_failure(
        self, checkpoint: Checkpoint | None, arrival: AtFanOut, failed: Sequence[End], retries: tuple[int, ...]
    ) -> Point | End | None:
        """Return the position after failure of a fan-out, by any failed branch in `failed`."""
        if checkpoint is None:
            return None
        evaluation = replace(arrival.evaluation, seed=str(checkpoint.name))
        failures = [end.outcome for end in failed if isinstance(end.outcome, Failure)]
        since_ms = min(end.at_ms for end in failed) - self.past.tolerance_ms
        failing = Failing(arrival.state, arrival.value, evaluation, retries, since_ms)
        self._expect_recovery(checkpoint, failing, failures)
        if is_retried(checkpoint):
            return self._after_retry(checkpoint)
        return self._after_commit(checkpoint, arrival.state.next)

    def _after_retry(self, retried: Checkpoint) -> Point | End | None:
        """Return the position after a fan-out's retry, which enters it again in the next step after the delay."""
        continuation, outcome = retried.continuation, created_outcome(retried)
        assert isinstance(outcome, Success)  # noqa: S101 - it is the state's input
        name = replace(retried.name, step=retried.name.step + 1)
        if not name.frames:
            self.next_name = name
        checkpoint = self._checkpoint_of(name, retried.state)
        if checkpoint is None:
            return None
        if self._is_copied(checkpoint):  # the redrive also resets its retriers
            return self._after_commit(checkpoint, checkpoint.state)
        if self._waits_beyond_retention(checkpoint, continuation.until_ms):
            return self._after_commit(checkpoint, None)
        if checkpoint.committed_ms < (continuation.until_ms or 0) - self.past.tolerance_ms:
            raise Unexplained(f"{checkpoint.name}: {retried.state!r} was retried too early")
        return self._enter_fan_out(
            checkpoint, outcome.value, Continuation(variables=continuation.variables, retries=continuation.retries)
        )

    def _expect_recovery(self, checkpoint: Checkpoint, failed: Failing, failures: Sequence[Failure]) -> None:
        """Raise Unexplained unless one of the state's `failures` leads to `checkpoint`."""
        expected = [failed.expected_commit(failure, checkpoint) for failure in failures]
        if not any(matches_commit(checkpoint, *one) for one in expected):
            raise Unexplained(f"{checkpoint.name}: expected one of {expected}, found {commit_fields(checkpoint)}")

    def _after_commit(self, checkpoint: Checkpoint, following: str | None) -> Point | End:
        """Return the scope's position after `checkpoint`, with `following` as the next state."""
        outcome, continuation = created_outcome(checkpoint), checkpoint.continuation
        if isinstance(outcome, Failure):
            return End(outcome, checkpoint.committed_ms, checkpoint.name)
        name = checkpoint.name
        evaluation = self._evaluation(name, checkpoint.committed_ms, continuation.variables)
        start = continuation.goes_to or following
        return Point(
            replace(name, step=name.step + 1), checkpoint.state, start, outcome.value, evaluation, continuation.retries
        )

    def _checkpoint_of(self, name: Name, state: str) -> Checkpoint | None:
        checkpoint = self.past.committed(name)
        if checkpoint and checkpoint.state != state:
            raise Unexplained(f"{name}: expected an outcome of {state!r}, found one of {checkpoint.state!r}")
        return checkpoint

    def _outcome_of(self, name: Name, state: FanOut) -> Checkpoint | None:
        """Return the fan-out's own outcome, or None if its join Task committed instead."""
        checkpoint = self.past.committed(name)
        is_joined = checkpoint and state.join and checkpoint.state == self.workflow.committer(state.join)
        return None if is_joined else self._checkpoint_of(name, state.name)

    def _expect(
        self, checkpoint: Checkpoint, possible: Sequence[Outcome], continuation: Continuation | None = None
    ) -> None:
        found = created_outcome(checkpoint)
        if not any(explains(outcome, found, self.workflow.payload_limit) for outcome in possible):
            raise Unexplained(f"{checkpoint.name}: expected one of {possible}, found {found}")
        if (
            continuation is not None
            and isinstance(found, Success)
            and not same_json(continuation.to_item(), checkpoint.continuation.to_item())
        ):
            raise Unexplained(f"{checkpoint.name}: expected {continuation}, found {checkpoint.continuation}")

    def _evaluation(self, name: Name, at_ms: int, variables: Json) -> EvaluationContext:
        return EvaluationContext(self.workflow, self.execution, at_ms, str(name), variables)

    def _waits_beyond_retention(self, checkpoint: Checkpoint, due_ms: int | None) -> bool:
        """Return True if `checkpoint` is a failure of a wait until `due_ms` that exceeds the retention."""
        outcome = created_outcome(checkpoint)
        last_s = self.execution.started_ms // 1000 + self.past.retention_s - DEADLINE_MARGIN_S
        # The protocol refuses such a wait at once: the event's data would expire before its delivery.
        is_too_long = due_ms is not None and due_ms // 1000 > last_s
        return is_too_long and isinstance(outcome, Failure) and outcome.error == "States.Runtime"

    def _is_late(self, at_ms: int) -> bool:
        deadline = deadline_ms(self.workflow, self.execution)
        return deadline is not None and at_ms >= deadline
