"""Pure states: from a state and its input to the next Task, the next fan-out, or the end of the scope.

Deterministic: whoever calls it with the same committed value and moment gets the same answer.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeAlias

from unum_runtime.asl import conditions, dataflow
from unum_runtime.asl.failures import RuntimeFailure
from unum_runtime.errors import StatesError
from unum_runtime.model.checkpoint import Failure, Success
from unum_runtime.model.ir import Choice, Fail, FanOut, Json, Map, Parallel, State, Task, Workflow
from unum_runtime.model.naming import Execution
from unum_runtime.protocol.compiled import Compiled, compiled

MAX_PURE_STEPS = 25_000
"""Pure states in one go, as many as Step Functions allows events; an endless loop without a Task ends with an error."""


@dataclass(frozen=True, slots=True)
class Moment:
    """What the context object says; part of what is committed, so that every delivery sees the same.

    Attributes:
        workflow: name of the workflow.
        execution: the execution.
        entered_ms: when the states were entered, in milliseconds since 1970: the commit before them.
    """

    workflow: str
    execution: Execution
    entered_ms: int

    def context(self, state: str) -> dict[str, Json]:
        """The context object (``$$``) in `state`."""
        return {
            "Execution": {
                "Id": f"{self.workflow}:{self.execution.name}",
                "Name": self.execution.name,
                "StartTime": timestamp(self.execution.started_ms),
            },
            "State": {"Name": state, "EnteredTime": timestamp(self.entered_ms)},
            "StateMachine": {"Id": self.workflow, "Name": self.workflow},
        }


@dataclass(frozen=True, slots=True)
class AtTask:
    """A Task is next; `value` is its input before its data flow."""

    task: Task
    value: Json


@dataclass(frozen=True, slots=True)
class AtFanOut:
    """A fan-out with Tasks is next.

    Attributes:
        state: the Map or Parallel.
        value: its input before its data flow.
        inputs: what each branch is entered with.
    """

    state: FanOut
    value: Json
    inputs: tuple[Json, ...]


@dataclass(frozen=True, slots=True)
class Ended:
    """The scope ended with `value` after `state`."""

    state: str
    value: Json


@dataclass(frozen=True, slots=True)
class Failed:
    """`state` failed."""

    state: str
    failure: Failure


Arrival: TypeAlias = AtTask | AtFanOut | Ended | Failed


def advance(workflow: Workflow, start: str, value: Json, moment: Moment) -> Arrival:
    """Follow pure states from entering `start` with `value`."""
    name = start
    for _ in range(MAX_PURE_STEPS):
        try:
            step = _enter(workflow, workflow.states[name], value, moment)
        except StatesError as failed:
            return Failed(name, Failure(failed.error, f"state {name!r}: {failed.cause}"))
        if not isinstance(step, tuple):
            return step
        value, following = step
        if following is None:
            return Ended(name, value)
        name = following
    cause = f"state {name!r}: {MAX_PURE_STEPS} states since the last Task; a loop without a Task must end"
    return Failed(name, Failure("States.Runtime", cause))


def branch_start(state: FanOut, index: int) -> str:
    """The state that branch `index` of `state` begins with."""
    return state.branches[index] if isinstance(state, Parallel) else _as_map(state).start


def initial_width(state: FanOut, size: int) -> int:
    """How many of `size` branches start at once; each that completes starts the one that is as many places after it."""
    limit = state.max_concurrency if isinstance(state, Map) else 0
    return min(limit, size) if limit else size


def needs_value(workflow: Workflow, state: FanOut) -> bool:
    """Whether the outcome of `state` depends on its input, and not on its results alone."""
    return compiled(workflow, state).flow.result_path != "$"


def join(workflow: Workflow, state: FanOut, value: Json, results: list[Json], moment: Moment) -> Success | Failure:
    """The outcome of a fan-out.

    Args:
        workflow: the workflow.
        state: its Map or Parallel.
        value: the state's input before its data flow; not looked at unless `needs_value`.
        results: what its branches came to, in their order.
        moment: for the context object.
    """
    try:
        return Success(dataflow.output(compiled(workflow, state).flow, value, results, moment.context(state.name)))
    except StatesError as failed:
        return Failure(failed.error, failed.cause)


def _enter(workflow: Workflow, state: State, value: Json, moment: Moment) -> Arrival | tuple[Json, str | None]:
    """Either where it stops, or (the state's output, the state after it)."""
    match state:
        case Task():
            return AtTask(state, value)
        case FanOut():
            return _enter_fan_out(workflow, state, value, moment)
        case Fail():
            return Failed(state.name, Failure(state.error, state.cause))
    fields = compiled(workflow, state)
    context = moment.context(state.name)
    effective = dataflow.effective_input(fields.flow, value, context)
    target = state.next
    if isinstance(state, Choice):
        target = conditions.choose(fields.rules, state.default, effective, context)
    result = state.data.get("Result", effective)
    return dataflow.output(fields.flow, value, result, context), target


def _enter_fan_out(
    workflow: Workflow, state: FanOut, value: Json, moment: Moment
) -> AtFanOut | Failed | tuple[Json, str | None]:
    inputs = _branch_inputs(compiled(workflow, state), state, value, moment.context(state.name))
    if inputs and not state.pure:
        return AtFanOut(state, value, inputs)
    results = []
    for index, entered in enumerate(inputs):
        match advance(workflow, branch_start(state, index), entered, moment):
            case Ended(_, result):
                results.append(result)
            case Failed(_, failure):
                return Failed(state.name, failure)
    outcome = join(workflow, state, value, results, moment)
    return Failed(state.name, outcome) if isinstance(outcome, Failure) else (outcome.value, state.next)


def _branch_inputs(fields: Compiled, state: FanOut, value: Json, context: dict[str, Json]) -> tuple[Json, ...]:
    effective = dataflow.effective_input(fields.flow, value, context)
    if isinstance(state, Parallel):
        return (effective,) * len(state.branches)
    items = dataflow.select(fields.items_path, effective, context)
    if not isinstance(items, list):
        raise RuntimeFailure(f"ItemsPath {fields.items_path!r}: expected an array, found {type(items).__name__}")
    if fields.item_selector is None:
        return tuple(items)
    return tuple(
        fields.item_selector.render(effective, {**context, "Map": {"Item": {"Index": index, "Value": item}}})
        for index, item in enumerate(items)
    )


def _as_map(state: FanOut) -> Map:
    assert isinstance(state, Map)  # noqa: S101 - FanOut has two subclasses
    return state


def timestamp(ms: int) -> str:
    """RFC 3339 with milliseconds, as Step Functions writes times."""
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
