"""What a failure-free run would compute from the outcomes that are committed: plain recursion, no events.

It shares with the protocol what a state does (`protocol.advance`), and nothing of how invocations are named, ordered,
joined and resumed: those rules stand here a second time, so that a mistake in them shows as a difference.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from unum_runtime.asl import dataflow
from unum_runtime.errors import StatesError
from unum_runtime.model.checkpoint import Checkpoint, Collected, Failure, Outcome, Success, to_text
from unum_runtime.model.ir import FanOut, Json, Task, Workflow
from unum_runtime.model.naming import Execution, Frame, Frames, Name
from unum_runtime.protocol.advance import AtFanOut, AtTask, Ended, Failed, Moment, advance, branch_start, join
from unum_runtime.protocol.compiled import compiled
from unum_runtime.protocol.plan import MAX_OUTCOME_BYTES, budget_exceeded

LIMIT = "States.DataLimitExceeded"


class Unexplained(Exception):
    """What is committed cannot come of a failure-free run."""


@dataclass(frozen=True, slots=True)
class Past:
    """What happened.

    Attributes:
        committed: the checkpoint of an invocation; None where there is none.
        author: the invocation whose delivery wrote the checkpoint.
    """

    committed: Callable[[Name], Checkpoint | None]
    author: Callable[[Name], Name | None]


@dataclass(frozen=True, slots=True)
class End:
    """What a scope came to, and when its last outcome was committed."""

    outcome: Outcome
    at_ms: int


@dataclass(slots=True)
class Reference:
    """A failure-free run of one execution.

    Attributes:
        workflow: the workflow.
        execution: the execution.
        past: what is committed.
        events: what user code of each invocation that can be reached is to see.
        unsettled: invocations that come after an outcome which is not committed; so what they see may differ.
    """

    workflow: Workflow
    execution: Execution
    past: Past
    events: dict[Name, Json] = field(default_factory=dict)
    unsettled: set[Name] = field(default_factory=set)

    def run(self, value: Json) -> Outcome | None:
        """How the execution ends that is started with `value`; None when that depends on what is not committed yet.

        Raises:
            Unexplained: an outcome was committed that no failure-free run could have.
        """
        end = self._follow((), self.workflow.start_at, value, self.execution.started_ms)
        return None if end is None else end.outcome

    def _follow(self, frames: Frames, start: str, value: Json, at_ms: int) -> End | None:
        """Follow one scope from entering `start` with `value`, which was committed at `at_ms`."""
        step = 0 if frames else 1
        is_first = True
        while True:
            name = Name(self.execution, frames, step)
            # The protocol counts hops where it goes on from a checkpoint; a branch begins without one of its own.
            is_spent = step > 0 and Name(self.execution, frames, step - 1).hops >= self.workflow.hop_budget
            match advance(self.workflow, start, value, self._moment(at_ms)):
                case AtTask() | AtFanOut() if is_spent:
                    return End(budget_exceeded(self.workflow), at_ms)
                case AtTask(task, raw):
                    self._expect_event(name, task, raw, at_ms)
                    names, task = self._committers(name, task)
                    end = self._task(names, task)
                    following, step = task.next, names[-1].step
                case AtFanOut(state, raw, _) if is_first:
                    end = self._pure(name, state.name, Success(raw))
                    following = state.name
                case AtFanOut(state, raw, inputs):
                    end = self._fan_out(name, state, raw, inputs, at_ms)
                    following = state.next
                case Ended(last, result):
                    return self._last(name, last, End(Success(result), at_ms), is_first=is_first)
                case Failed(last, failure):
                    return self._last(name, last, End(failure, at_ms), is_first=is_first)
            if end is None or isinstance(end.outcome, Failure) or following is None:
                return end
            start, value, at_ms = following, end.outcome.value, end.at_ms
            step, is_first = step + 1, False

    def _committers(self, name: Name, task: Task) -> tuple[list[Name], Task]:
        """The invocations from `task` to the Task whose commit stands for its own, and that Task.

        What the others came to is known to nobody but the deliveries that saw it.
        """
        names = [name]
        while task.committed_by is not None:
            names.append(replace(names[-1], step=names[-1].step + 1))
            task = self.workflow.task(task.committed_by)
        self.unsettled.update(names[1:])
        return names, task

    def _task(self, names: list[Name], task: Task) -> End | None:
        name = names[-1]
        checkpoint = self._committed(name, task.name)
        if checkpoint is None:
            return None
        outcome = _uncollected(checkpoint)
        is_limit = isinstance(outcome, Failure) and outcome.error == LIMIT
        author = self.past.author(name)
        if author not in names and not is_limit:
            raise Unexplained(f"{name}: the outcome of {task.name!r} comes from a delivery of {author}")
        return End(outcome, checkpoint.committed_ms)

    def _expect_event(self, name: Name, task: Task, raw: Json, at_ms: int) -> None:
        context = self._moment(at_ms).context(task.name)
        try:
            self.events[name] = dataflow.effective_input(compiled(self.workflow, task).flow, raw, context)
        except StatesError:
            return  # the Task fails before user code runs, so there is no event that it would see

    def _last(self, name: Name, state: str, end: End, *, is_first: bool) -> End | None:
        """The end of a scope; one that took no step is committed, so that there is something to go on from."""
        return self._pure(name, state, end.outcome) if is_first else end

    def _pure(self, name: Name, state: str, expected: Outcome) -> End | None:
        """An outcome that no user code made, once it is committed."""
        checkpoint = self._committed(name, state)
        return None if checkpoint is None else self._explained(checkpoint, [expected])

    def _fan_out(self, name: Name, state: FanOut, raw: Json, inputs: tuple[Json, ...], at_ms: int) -> End | None:
        ends = [
            self._follow((*name.frames, Frame(state.name, name.step, 0, index, len(inputs))), first, value, at_ms)
            for index, value in enumerate(inputs)
            for first in [branch_start(state, index)]
        ]
        failures: list[Outcome] = [end.outcome for end in ends if end and isinstance(end.outcome, Failure)]
        done = [end for end in ends if end and isinstance(end.outcome, Success)]
        checkpoint = self._committed(name, state.name)
        if failures:
            return None if checkpoint is None else self._explained(checkpoint, failures)
        if len(done) < len(inputs):
            if checkpoint:
                raise Unexplained(
                    f"{name}: {state.name!r} has an outcome, but {len(inputs) - len(done)} branches have none"
                )
            return None
        last_ms = max(end.at_ms for end in done)
        results = [end.outcome.value for end in done if isinstance(end.outcome, Success)]
        outcome = join(self.workflow, state, raw, results, self._moment(last_ms))
        if checkpoint:
            return self._explained(checkpoint, [outcome])
        return End(outcome, last_ms) if state.join and isinstance(outcome, Success) else None

    def _committed(self, name: Name, state: str) -> Checkpoint | None:
        checkpoint = self.past.committed(name)
        if checkpoint and checkpoint.state != state:
            raise Unexplained(f"{name}: expected an outcome of {state!r}, found one of {checkpoint.state!r}")
        return checkpoint

    def _explained(self, checkpoint: Checkpoint, possible: list[Outcome]) -> End:
        found = _uncollected(checkpoint)
        if not any(explains(outcome, found) for outcome in possible):
            raise Unexplained(f"{checkpoint.name}: expected one of {possible}, found {found}")
        return End(found, checkpoint.committed_ms)

    def _moment(self, at_ms: int) -> Moment:
        return Moment(self.workflow.name, self.execution, at_ms)


def explains(expected: Outcome, found: Outcome) -> bool:
    """Whether `found` is `expected`, or says that `expected` is too large."""
    if isinstance(found, Failure) and found.error == LIMIT and isinstance(expected, Success):
        return len(to_text(expected.value).encode()) > MAX_OUTCOME_BYTES
    return same_json(_fields(expected), _fields(found))


def _uncollected(checkpoint: Checkpoint) -> Outcome:
    assert not isinstance(checkpoint.outcome, Collected)  # noqa: S101 - what is read here is what was created
    return checkpoint.outcome


def same_json(one: Json, other: Json) -> bool:
    """Whether two values are the same JSON; Python alone would take true for 1."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _fields(outcome: Outcome) -> Json:
    return [outcome.value] if isinstance(outcome, Success) else [outcome.error, outcome.cause]
