"""What a failure-free run would compute from the outcomes that are committed: plain recursion, no events.

It shares with the protocol what a state does (`protocol.advance`), and nothing of how invocations are named, ordered,
joined, retried and resumed: those rules stand here a second time, so that a mistake in them shows as a difference.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product

from unum_runtime.asl.program import Left
from unum_runtime.model.checkpoint import (
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
from unum_runtime.model.ir import FanOut, Json, Map, Task, Workflow
from unum_runtime.model.naming import Execution, Frame, Frames, Name
from unum_runtime.protocol.planning.advance import (
    Arrival,
    AtFanOut,
    AtTask,
    AtWait,
    Ended,
    Failed,
    advance,
    branch_moment,
    branch_start,
    by_branch,
    exceeded,
    join,
    pass_wait,
    too_many_failed,
)
from unum_runtime.protocol.planning.evaluation import INPUT, REDRIVES, EvaluationContext
from unum_runtime.protocol.planning.plan import budget_exceeded, out_of_time
from unum_runtime.protocol.runtime import DEADLINE_MARGIN_S
from unum_runtime.simulator.committed_past import Past
from unum_runtime.simulator.comparison import LIMIT, explains, same_json
from unum_runtime.simulator.expected_recovery import Failing, deadline_ms
from unum_runtime.simulator.reference_points import End, Point, Visit


class Unexplained(Exception):
    """What is committed cannot come of a failure-free run."""


@dataclass(slots=True)
class Reference:
    """A failure-free run of one execution.

    Attributes:
        workflow: the workflow.
        execution: the execution.
        past: what is committed.
        visits: what user code of each invocation that can be reached is to see.
        unsettled: invocations and Tasks that come after an outcome which is not committed; so what they see may differ.
        entered: the last two Tasks, fan-outs or Waits that the top level has come to.
        met: with what branches have come to Tasks that neighbours meet in.
        reached: the name of the outcome that the top level comes to next.
        redrives: how often the execution was redriven.
    """

    workflow: Workflow
    execution: Execution
    past: Past
    visits: dict[Name, Visit] = field(default_factory=dict)
    unsettled: set[tuple[Name, str]] = field(default_factory=set)
    entries: list[AtTask | AtFanOut | AtWait] = field(default_factory=list)
    neighbours: dict[Name, AtTask] = field(default_factory=dict)
    next_name: Name | None = None
    redrives: int = 0

    def run(self, value: Json) -> Ending | None:
        """How the execution ends that is started with `value`; None when that depends on what is not committed yet.

        Raises:
            Unexplained: an outcome was committed that no failure-free run could have.
        """
        record = Name(self.execution, (), 0)
        variables = {INPUT: value} if self.workflow.keeps_input else {}
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
        """The end of the top level, where somebody has stopped the execution."""
        record = None if self.next_name is None else self.past.stopped(self.next_name)
        return None if record is None else End(_uncollected(record), record.committed_ms, record.name)

    def _redrive_point(self, end: End) -> Point | None:
        """Where the top level goes on after `end` if somebody has redriven the execution."""
        if end.name is None or isinstance(end.outcome, Success):
            return None
        checkpoint = self.past.committed(replace(end.name, step=end.name.step + 1))
        if checkpoint is None:
            return None
        self.redrives += 1
        count = {REDRIVES: self.redrives} if self.workflow.counts_redrives else {}
        expected = [(arrival.value, _redrive_continuation(arrival, count)) for arrival in self.entries]
        found = _uncollected(checkpoint)
        for value, continuation in expected:
            if explains(Success(value), found) and same_json(continuation.to_item(), checkpoint.continuation.to_item()):
                after = self._after_commit(checkpoint, checkpoint.state)
                assert isinstance(after, Point)  # noqa: S101 - it is entered with a value
                return replace(after, until_ms=continuation.until_ms)
        raise Unexplained(f"{checkpoint.name}: expected that one of {expected} is entered again, found {checkpoint}")

    def _follow(self, point: Point) -> End | None:
        """Follow one scope from `point`."""
        found: Point | End | None = point
        while isinstance(found, Point):
            point = found
            if not point.name.frames:
                self.next_name = point.name
            arrived = self._arrive(point)
            if not point.name.frames and isinstance(arrived, AtTask | AtFanOut | AtWait):
                self.entries = [*self.entries[-1:], arrived]
            match arrived:
                case AtTask() as arrival:
                    found = self._after_task(point, arrival)
                case AtWait() as arrival:
                    found = self._after_wait(point, arrival)
                case AtFanOut() as arrival:
                    found = self._after_fan_out(point, arrival) if point.last else self._first_fan_out(point, arrival)
                case Ended(state, result):
                    found = self._end_of_scope(point, state, result)
                case Failed(state, failure):
                    found = self._end_of_scope(point, state, failure)
        return found

    def _arrive(self, point: Point) -> Arrival:
        arrival: Arrival = Ended(point.last, Success(point.value))
        if point.start is not None:
            arrival = _still_waiting(advance(point.start, Success(point.value), point.evaluation), point)
        # The protocol looks at its limits where it goes on from a checkpoint; a branch begins without one of its own.
        if isinstance(arrival, Failed) or point.name.step == 0:
            return arrival
        if self._is_late(point.evaluation.entered_ms):
            return Failed(point.last, out_of_time(self.workflow))
        if not isinstance(arrival, Ended) and point.before.hops >= self.workflow.hop_budget:
            return Failed(point.last, budget_exceeded(self.workflow))
        return arrival

    def _end_of_scope(self, point: Point, state: str, outcome: Outcome) -> End | None:
        """The end of a scope; one that took no step is committed, so that there is something to go on from."""
        if not point.is_first:
            return End(outcome, point.evaluation.entered_ms)
        checkpoint = self._committed(point.name, state)
        if checkpoint is None:
            return None
        self._expect(checkpoint, [outcome])
        is_in_time = isinstance(outcome, Failure) or not self._is_late(checkpoint.committed_ms)
        return End(_uncollected(checkpoint) if is_in_time else out_of_time(self.workflow), checkpoint.committed_ms)

    def _first_fan_out(self, point: Point, arrival: AtFanOut) -> Point | End | None:
        """A fan-out that comes first is committed with what it is entered with."""
        checkpoint = self._committed(point.name, arrival.state.name)
        if checkpoint is None:
            return None
        return self._enter_fan_out(checkpoint, arrival.value, Continuation(variables=arrival.evaluation.variables))

    def _enter_fan_out(self, checkpoint: Checkpoint, value: Json, continuation: Continuation) -> Point | End:
        self._expect(checkpoint, [Success(value)], continuation)
        return self._after_commit(checkpoint, checkpoint.state)

    def _neighbour_join(self, name: Name, own: AtTask) -> AtTask | None:
        """What a Task is entered with that its own branch has come to with `own`; None until that before has."""
        self.neighbours[name] = own
        frames, index = name.frames[:-1], name.frames[-1].index
        if index == 0:
            return replace(own, given=Success([None, own.value]))
        before = self.neighbours.get(replace(name, frames=(*frames, replace(name.frames[-1], index=index - 1))))
        if before is None:
            return None
        evaluation = replace(own.evaluation, entered_ms=max(before.evaluation.entered_ms, own.evaluation.entered_ms))
        return replace(own, given=Success([before.value, own.value]), evaluation=evaluation)

    def _after_task(self, point: Point, arrived: AtTask) -> Point | End | None:
        arrival = self._neighbour_join(point.name, arrived) if arrived.task.meets_previous else arrived
        if arrival is None:
            return None
        evaluation = replace(arrival.evaluation, seed=str(point.name), visited=0)
        visit = self.visits[point.name] = Visit(arrival.task, arrival.value, evaluation, arrival.due_ms)
        task = self._committer(point.name, arrival.task)
        copied = self._copied_outcome(point.name)
        if copied:
            return self._after_copy(copied)
        checkpoint = self._committed(point.name, task.name)
        if checkpoint is None:
            return None
        author = self.past.author(checkpoint.name)
        outcome = _uncollected(checkpoint)
        is_limit = isinstance(outcome, Failure) and outcome.error == LIMIT
        if author.name != point.name and not is_limit and not self._waits_beyond_retention(checkpoint, arrival.due_ms):
            raise Unexplained(f"{checkpoint.name}: the outcome of {task.name!r} comes from a delivery of {author.name}")
        if author.name == point.name and author.state in (None, arrival.task.name):
            self._expect_task(checkpoint, visit, author.retries)
        return self._after_commit(checkpoint, task.next)

    def _committer(self, name: Name, task: Task) -> Task:
        """The Task whose commit stands for that of `task`, under the same name.

        What the others came to is known to nobody but the deliveries that saw it.
        """
        while task.committed_by is not None:
            task = self.workflow.task(task.committed_by)
            self.unsettled.add((name, task.name))
        return task

    def _after_copy(self, kept: Checkpoint) -> Point | End | None:
        """Where the scope goes on from what a redrive has kept, whatever it would have come to now.

        A Wait that a branch begins with may take longer than the execution may, now that it begins later.
        """
        if _is_retried(kept):
            return self._after_retry(kept)
        is_entered = kept.phase is Phase.ENTERED
        return self._after_commit(kept, kept.state if is_entered else self.workflow.states[kept.state].next)

    def _copied_outcome(self, name: Name) -> Checkpoint | None:
        """The outcome of an earlier round or try of the fan-out around `name`, if a redrive has kept that."""
        checkpoint = self.past.committed(name)
        return checkpoint if checkpoint and self._is_copied(checkpoint) else None

    def _is_copied(self, checkpoint: Checkpoint) -> bool:
        if not checkpoint.name.frames or self.past.author(checkpoint.name).name is not None:
            return False
        first, *inner = checkpoint.name.frames
        # Each try of a fan-out takes a step, so it has no higher number than that.
        places = ((iteration, number) for iteration in range(1, first.iteration) for number in range(iteration))
        rounds = (replace(first, iteration=iteration, generation=number) for iteration, number in places)
        tries = ((replace(frame, generation=number) for number in range(frame.iteration)) for frame in inner)
        paths = product(rounds, *tries)
        before = (self.past.committed(replace(checkpoint.name, frames=frames)) for frames in paths)
        return any(each and (each.state, each.outcome) == (checkpoint.state, checkpoint.outcome) for each in before)

    def _expect_task(self, checkpoint: Checkpoint, visit: Visit, retries: tuple[int, ...]) -> None:
        """What user code returned may be anything; that it failed must have led where it did."""
        outcome, continuation, task = _uncollected(checkpoint), checkpoint.continuation, visit.task
        failed = Failing(task, visit.raw, visit.evaluation, retries)
        if continuation.caught is not None:
            self._expect_recovery(checkpoint, failed, [continuation.caught])
        elif isinstance(outcome, Failure):
            if not failed.is_from_catcher(outcome):
                self._expect_recovery(checkpoint, failed, [outcome])
        else:
            own = {name.removesuffix(".$") for name in task.data.get("Assign", {})}
            kept, found = (
                {name: value for name, value in variables.items() if name not in own}
                for variables in (visit.evaluation.variables, continuation.variables)
            )
            if not same_json(kept, found):
                raise Unexplained(f"{checkpoint.name}: expected the variables {kept}, found {found}")

    def _after_wait(self, point: Point, arrival: AtWait) -> Point | End | None:
        state, copied = arrival.state, self._copied_outcome(point.name)
        if copied:
            return self._after_copy(copied)
        checkpoint = self._committed(point.name, state.name)
        if checkpoint is None:
            return None
        if self._waits_beyond_retention(checkpoint, arrival.until_ms):
            return self._after_commit(checkpoint, None)
        if checkpoint.committed_ms < arrival.until_ms:
            early_ms = arrival.until_ms - checkpoint.committed_ms
            raise Unexplained(f"{checkpoint.name}: {state.name!r} ended {early_ms} ms before its time")
        left = pass_wait(state, arrival.value, replace(arrival.evaluation, seed=str(point.name), visited=0))
        self._expect(checkpoint, [_outcome(left)], _continuation(left))
        return self._after_commit(checkpoint, state.next)

    def _after_fan_out(self, point: Point, arrival: AtFanOut) -> Point | End | None:
        state, size = arrival.state, len(arrival.inputs)
        retries = point.retries if point.last == state.name else ()
        ends = list(self._branches(point.name, arrival, sum(retries)))
        failed = [end for end in ends if end and isinstance(end.outcome, Failure)]
        copied = self._copied_outcome(point.name)
        if copied:
            return self._after_copy(copied)
        checkpoint = self._outcome_of(point.name, state)
        if state.quorum is not None:
            return self._after_quorum(point, arrival, ends, state.quorum, retries)
        tolerates = isinstance(state, Map) and state.tolerates
        if failed and not tolerates:
            return self._after_failure(checkpoint, arrival, [_as_of_scope(state, end) for end in failed], retries)
        done = [end for end in ends if end]
        if len(done) < size:
            if self.past.committed(point.name):
                missing = size - len(done)
                raise Unexplained(f"{point.name}: {state.name!r} has an outcome, but {missing} branches have none")
            return None
        evaluation = self._evaluation(point.name, max(end.at_ms for end in done), arrival.evaluation.variables)
        if too_many_failed(state, arrival.value, len(failed), size, evaluation):
            return self._after_failure(checkpoint, arrival, [End(exceeded(), evaluation.entered_ms)], retries)
        results = [end.outcome.value for end in done if isinstance(end.outcome, Success)]
        return self._after_join(point, arrival, join(state, arrival.value, results, evaluation), evaluation, retries)

    def _after_quorum(
        self, point: Point, arrival: AtFanOut, ends: Sequence[End | None], quorum: int, retries: tuple[int, ...]
    ) -> Point | End | None:
        """A fan-out that goes on from any `quorum` branches that have succeeded; its outcome tells from which."""
        state, checkpoint = arrival.state, self._outcome_of(point.name, arrival.state)
        failed = [end for end in ends if end and isinstance(end.outcome, Failure)]
        if len(failed) > len(ends) - quorum:
            return self._after_failure(checkpoint, arrival, failed, retries)
        results = [end.outcome.value for end in ends if end and isinstance(end.outcome, Success)]
        if len(results) < quorum:
            if self.past.committed(point.name):
                raise Unexplained(
                    f"{point.name}: {state.name!r} has an outcome, but {len(results)} of {quorum} results"
                )
            return None
        evaluation = self._evaluation(point.name, max(end.at_ms for end in ends if end), arrival.evaluation.variables)
        lefts = [join(state, arrival.value, chosen, evaluation) for chosen in map(list, combinations(results, quorum))]
        if checkpoint:
            self._expect(checkpoint, [_outcome(left) for left in lefts])
            return self._after_commit(checkpoint, state.next)
        if state.join is not None:
            self.unsettled.add((point.name, state.join))
        return self._after_join(point, arrival, lefts[0], evaluation, retries)

    def _branches(self, name: Name, arrival: AtFanOut, generation: int) -> Iterable[End | None]:
        state = arrival.state
        for index, value in enumerate(arrival.inputs):
            frames: Frames = (*name.frames, Frame(state.name, name.step, generation, index, len(arrival.inputs)))
            evaluation = branch_moment(state, index, value, arrival.evaluation)
            yield self._follow(
                Point(Name(self.execution, frames, 0), "", branch_start(state, index), value, evaluation)
            )

    def _after_join(
        self,
        point: Point,
        arrival: AtFanOut,
        left: Left | Failure,
        evaluation: EvaluationContext,
        retries: tuple[int, ...],
    ) -> Point | End | None:
        state, checkpoint = arrival.state, self._outcome_of(point.name, arrival.state)
        if checkpoint and isinstance(left, Failure):
            return self._after_failure(checkpoint, arrival, [End(left, evaluation.entered_ms)], retries)
        if checkpoint:
            self._expect(checkpoint, [_outcome(left)], _continuation(left))
            return self._after_commit(checkpoint, state.next)
        if state.join is None or isinstance(left, Failure):
            return None
        after = replace(evaluation, variables=left.variables)
        return Point(point.name, state.name, state.next, left.value, after, joins=True)

    def _after_failure(
        self, checkpoint: Checkpoint | None, arrival: AtFanOut, failed: Sequence[End], retries: tuple[int, ...]
    ) -> Point | End | None:
        """What is committed of a fan-out that failed by any of `failed`."""
        if checkpoint is None:
            return None
        evaluation = replace(arrival.evaluation, seed=str(checkpoint.name))
        failures = [end.outcome for end in failed if isinstance(end.outcome, Failure)]
        since_ms = min(end.at_ms for end in failed)
        failing = Failing(arrival.state, arrival.value, evaluation, retries, since_ms)
        self._expect_recovery(checkpoint, failing, failures)
        if _is_retried(checkpoint):
            return self._after_retry(checkpoint)
        return self._after_commit(checkpoint, arrival.state.next)

    def _after_retry(self, retried: Checkpoint) -> Point | End | None:
        """The fan-out that is retried is entered once more, in the next step, when its time has come."""
        continuation, outcome = retried.continuation, _uncollected(retried)
        assert isinstance(outcome, Success)  # noqa: S101 - it is the state's input
        name = replace(retried.name, step=retried.name.step + 1)
        if not name.frames:
            self.next_name = name
        checkpoint = self._committed(name, retried.state)
        if checkpoint is None:
            return None
        if self._is_copied(checkpoint):  # and its retriers begin anew
            return self._after_commit(checkpoint, checkpoint.state)
        if self._waits_beyond_retention(checkpoint, continuation.until_ms):
            return self._after_commit(checkpoint, None)
        if checkpoint.committed_ms < (continuation.until_ms or 0):
            raise Unexplained(f"{checkpoint.name}: {retried.state!r} was retried before its time")
        return self._enter_fan_out(
            checkpoint, outcome.value, Continuation(variables=continuation.variables, retries=continuation.retries)
        )

    def _expect_recovery(self, checkpoint: Checkpoint, failed: Failing, failures: Sequence[Failure]) -> None:
        """Whether one of `failures` of a state leads to `checkpoint`.

        Raises:
            Unexplained: none does.
        """
        expected = [failed.expected_commit(failure, checkpoint) for failure in failures]
        if not any(_matches(checkpoint, *one) for one in expected):
            raise Unexplained(f"{checkpoint.name}: expected one of {expected}, found {_summary(checkpoint)}")

    def _after_commit(self, checkpoint: Checkpoint, following: str | None) -> Point | End:
        """Where the scope goes on from `checkpoint`."""
        outcome, continuation = _uncollected(checkpoint), checkpoint.continuation
        if isinstance(outcome, Failure):
            return End(outcome, checkpoint.committed_ms, checkpoint.name)
        name = checkpoint.name
        evaluation = self._evaluation(name, checkpoint.committed_ms, continuation.variables)
        start = continuation.goes_to or following
        return Point(
            replace(name, step=name.step + 1), checkpoint.state, start, outcome.value, evaluation, continuation.retries
        )

    def _committed(self, name: Name, state: str) -> Checkpoint | None:
        checkpoint = self.past.committed(name)
        if checkpoint and checkpoint.state != state:
            raise Unexplained(f"{name}: expected an outcome of {state!r}, found one of {checkpoint.state!r}")
        return checkpoint

    def _outcome_of(self, name: Name, state: FanOut) -> Checkpoint | None:
        """The outcome of a fan-out itself; none where the Task that joins its results has committed in its place."""
        checkpoint = self.past.committed(name)
        is_joined = checkpoint and state.join and checkpoint.state == self.workflow.committer(state.join)
        return None if is_joined else self._committed(name, state.name)

    def _expect(
        self, checkpoint: Checkpoint, possible: Sequence[Outcome], continuation: Continuation | None = None
    ) -> None:
        found = _uncollected(checkpoint)
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
        """Whether `checkpoint` tells that an event could not wait until `due_ms`: nothing is kept for so long."""
        outcome = _uncollected(checkpoint)
        last_s = self.execution.started_ms // 1000 + self.past.retention_s - DEADLINE_MARGIN_S
        is_too_long = due_ms is not None and due_ms // 1000 > last_s
        return is_too_long and isinstance(outcome, Failure) and outcome.error == "States.Runtime"

    def _is_late(self, at_ms: int) -> bool:
        deadline = deadline_ms(self.workflow, self.execution)
        return deadline is not None and at_ms >= deadline


def _redrive_continuation(arrival: AtTask | AtFanOut | AtWait, count: Mapping[str, Json]) -> Continuation:
    """How what was come to is entered once more: not before its time, where it waited."""
    variables = {**arrival.evaluation.variables, **count}
    match arrival:
        case AtTask(due_ms=until_ms) | AtWait(until_ms=until_ms):
            return Continuation(variables=variables, until_ms=until_ms)
    return Continuation(variables=variables)


def _still_waiting(arrival: Arrival, point: Point) -> Arrival:
    """`arrival`, not before its time, where it is at what a redrive has entered."""
    if point.until_ms is None:
        return arrival
    match arrival:
        case AtWait(state) if state.name == point.start:
            return replace(arrival, until_ms=point.until_ms)
        case AtTask(task, _, evaluation) if task.name == point.start:
            entered = replace(evaluation, entered_ms=max(evaluation.entered_ms, point.until_ms))
            return replace(arrival, evaluation=entered, due_ms=point.until_ms)
    return arrival


def _as_of_scope(state: FanOut, end: End) -> End:
    """How `end`, at which a branch of `state` failed, shows in the scope around."""
    return replace(end, outcome=by_branch(state, end.outcome)) if isinstance(end.outcome, Failure) else end


def _matches(checkpoint: Checkpoint, phase: Phase, outcome: Outcome, continuation: Continuation) -> bool:
    found = _uncollected(checkpoint)
    if not explains(outcome, found):
        return False
    is_same_continuation = same_json(continuation.to_item(), checkpoint.continuation.to_item())
    return checkpoint.phase is phase and (is_same_continuation or type(found) is not type(outcome))


def _is_retried(checkpoint: Checkpoint) -> bool:
    return checkpoint.phase is Phase.RETRIED and isinstance(checkpoint.outcome, Success)


def _summary(checkpoint: Checkpoint) -> tuple[Phase, Outcome, Continuation]:
    return checkpoint.phase, _uncollected(checkpoint), checkpoint.continuation


def _outcome(left: Left | Failure) -> Outcome:
    return left if isinstance(left, Failure) else Success(left.value)


def _continuation(left: Left | Failure) -> Continuation:
    return Continuation() if isinstance(left, Failure) else Continuation(variables=left.variables)


def _uncollected(checkpoint: Checkpoint) -> Outcome:
    assert not isinstance(checkpoint.outcome, Collected)  # noqa: S101 - what is read here is what was created
    return checkpoint.outcome
