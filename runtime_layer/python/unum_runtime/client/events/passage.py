"""The states between two commits, one at a time.

They run no user code and leave no trace, but planning is a pure function of what is committed: so each can be visited
again, by the code that passed it first, to learn what it was entered and left with.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from unum_runtime.model.checkpoint import Failure, Success
from unum_runtime.model.ir import FanOut, Form, Json, State, Task, Workflow
from unum_runtime.protocol.planning.advance import (
    MAX_PURE_STEPS,
    Arrival,
    AtFanOut,
    AtTask,
    Ended,
    Failed,
    advance,
    branch_moment,
    branch_start,
)
from unum_runtime.protocol.planning.evaluation import EvaluationContext


@dataclass(frozen=True, slots=True)
class Visit:
    """A state that control came to.

    Attributes:
        state: the state.
        value: what it was entered with.
        evaluation: when.
        exit: what it was left with; None where control stops at it, or fails.
        branches: the visits in each branch, of a fan-out that was computed in place.
    """

    state: State
    value: Json
    evaluation: EvaluationContext
    exit: "Exit | None" = None
    branches: tuple["Passage", ...] = ()


@dataclass(frozen=True, slots=True)
class Exit:
    """How a state was left.

    Attributes:
        value: its output.
        evaluation: when, with the variables after it.
        target: the state that control went on to; None where the scope ended.
    """

    value: Json
    evaluation: EvaluationContext
    target: str | None


@dataclass(frozen=True, slots=True)
class Passage:
    """The states that control passed without a commit.

    Attributes:
        visits: of each of them, in order; the last may be one that control stopped at.
        failure: what it ended with; None where nothing failed.
    """

    visits: tuple[Visit, ...] = ()
    failure: Failure | None = None


class Passages:
    """Passages through `workflow`."""

    def __init__(self, workflow: Workflow) -> None:
        self._states = _OneAtATime(workflow.states)
        self._workflow = replace(workflow, states=self._states)

    def passage(
        self, start: str, value: Json, evaluation: EvaluationContext, *, stops_at: str | None = None
    ) -> Passage:
        """What happens from entering `start` with `value` on.

        Args:
            start: name of the first state.
            value: what it is entered with.
            evaluation: when.
            stops_at: name of the Wait that was not passed; None for none.
        """
        visits: list[Visit] = []
        for visit, arrival in self._visits(start, value, replace(evaluation, workflow=self._workflow)):
            stops = isinstance(arrival, AtTask) and arrival.due_ms is not None and visit.state.name == stops_at
            visits.append(replace(visit, exit=None) if stops else visit)
            if stops or visit.exit is None or visit.exit.target is None:
                return Passage(tuple(visits), arrival.failure if isinstance(arrival, Failed) else None)
        return Passage(tuple(visits))

    def _visits(self, name: str, value: Json, evaluation: EvaluationContext) -> Iterator[tuple[Visit, Arrival]]:
        for _ in range(MAX_PURE_STEPS):
            visit, arrival = self._visit(name, value, evaluation)
            yield visit, arrival
            if visit.exit is None or visit.exit.target is None:
                return
            name, value, evaluation = visit.exit.target, visit.exit.value, visit.exit.evaluation

    def _visit(self, name: str, value: Json, evaluation: EvaluationContext) -> tuple[Visit, Arrival]:
        state = self._states.enter(name)
        branches = self._branches(state, value, evaluation) if isinstance(state, FanOut) and state.pure else ()
        self._states.enter(name)
        arrival = advance(name, Success(value), evaluation)
        return Visit(state, value, evaluation, _exit(arrival, evaluation), branches), arrival

    def _branches(self, state: FanOut, value: Json, evaluation: EvaluationContext) -> tuple[Passage, ...]:
        """What happens in each branch of a fan-out that is computed in place."""
        self._states.enter(state.name, as_if=replace(state, pure=False))
        opened = advance(state.name, Success(value), evaluation)
        if not isinstance(opened, AtFanOut):
            return ()
        return tuple(
            self.passage(branch_start(state, index), entered, branch_moment(state, index, entered, evaluation))
            for index, entered in enumerate(opened.inputs)
        )


class _Ahead(Task):
    """A state that control has come to and does not enter."""


class _OneAtATime(dict[str, State]):
    """The states of a workflow, of which planning can enter one, and finds a Task in place of those after it."""

    def __init__(self, states: Mapping[str, State]) -> None:
        super().__init__(states)
        self._entering: State | None = None
        self._scope: str | None = None

    def enter(self, name: str, as_if: State | None = None) -> State:
        """Let planning enter the state called `name`, `as_if` it were that one, and return it."""
        state = super().__getitem__(name)
        self._entering, self._scope = as_if or state, state.scope
        return state

    def __getitem__(self, name: str) -> State:
        state = super().__getitem__(name)
        if state.scope != self._scope:  # in a branch of a fan-out that is computed in place
            return state
        entering, self._entering = self._entering, None
        return entering or _ahead(state)


def _ahead(state: State) -> State:
    return _Ahead(name=state.name, scope=state.scope, data={}, next=None, function="", form=Form.DIRECT)


def _exit(arrival: Arrival, evaluation: EvaluationContext) -> Exit | None:
    """How the state was left from which planning arrived here."""
    match arrival:
        case AtTask(_Ahead(name=target), given, after):
            return Exit(given.value, after, target)
        case Ended(_, given):
            return Exit(given.value, evaluation, None)
    return None
