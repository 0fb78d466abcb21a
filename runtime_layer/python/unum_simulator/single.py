"""A test of one state alone, with the semantics of Step Functions' TestState API.

Source: AWS Step Functions API Reference, "TestState", "MockInput" and "TestStateConfiguration".
"""

from collections.abc import Iterator
from uuid import uuid4

from unum_runtime.asl.deployed_workflow import with_numbers
from unum_runtime.clock import SystemClock
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import Execution
from unum_runtime.model.states import FanOut, Json, Map, Pattern, State, Task, Work
from unum_runtime.protocol.planning.evaluation import INPUT, EvaluationContext
from unum_simulator.stand_ins.called_handlers import handler_names
from unum_simulator.state_test.state_visit import Given, Level, Mock, Staged, Validation, Visit, check_result

__all__ = ["Given", "Level", "Mock", "Validation", "test_state"]

NOTHING = Given()


def test_state(
    workflow: Workflow,
    state: str,
    value: Json,
    *,
    given: Given = NOTHING,  # noqa: PT028 - no test, but called as in AWS
    level: Level = Level.INFO,  # noqa: PT028 - the same
) -> dict[str, Json]:
    """Return the result of `state` for the input `value`, computed by the deployed workflow's code.

    Args:
        workflow: the compiled workflow.
        state: name of one of its states.
        value: the state's input.
        given: mock, context and variables around the state.
        level: amount of inspection data.

    Returns:
        Under the names that TestState gives them, as JSON values and not as texts: ``status``, which is ``SUCCEEDED``,
        ``FAILED``, ``RETRIABLE`` or ``CAUGHT_ERROR``; where there is any, ``output``, ``nextState``, ``error`` and
        ``cause``; from `Level.DEBUG` on ``inspectionData``.

    Raises:
        KeyError: unknown state.
        ValueError: `given` does not fit the state.
        DefinitionError: only the deployment knows a number of a retrier, or the time limit of executions.
    """
    found = workflow.states[state]
    with_numbers(workflow)
    _check(workflow, found, given)
    visit = Visit(workflow, found, value, given, _evaluation(workflow, found, value, given))
    ended = visit.end()
    return ended if level is Level.INFO else {**ended, "inspectionData": visit.seen}


def _check(workflow: Workflow, state: State, given: Given) -> None:
    """Raise ValueError if `given` lacks data for `state`, or has data that `state` cannot use."""
    _check_mock(state, given)
    inside, origin = set(_inside(workflow, state)), given.error_caused_by_state
    if origin is not None and origin not in inside:
        known = ", ".join(sorted(inside)) or "none"
        raise ValueError(
            f"errorCausedByState: expected a state inside {state.name!r}, got {origin!r}; states inside: {known}"
        )
    if given.map_iteration_failure_count and not isinstance(state, Map):
        raise ValueError(f"mapIterationFailureCount: expected a Map, but {state.name!r} is a {_kind(state)}; remove it")


def _check_mock(state: State, given: Given) -> None:
    mock = given.mock
    if mock is None:
        if isinstance(state, Task) and state.name in given.functions:
            return
        if isinstance(state, FanOut) or (isinstance(state, Task) and state.pattern is not Pattern.RESPONSE):
            raise ValueError(f"mock: the {_kind(state)} {state.name!r} needs a mock; give a result or an error")
        if isinstance(state, Task) and given.functions.keys().isdisjoint(handler_names(state)):
            raise ValueError(f"mock: {state.name!r} needs a mock or the function {state.function!r}; give one of them")
    elif not isinstance(state, Work):
        raise ValueError(f"mock: expected a Task, Map or Parallel, but {state.name!r} is a {_kind(state)}; remove it")
    elif mock.error is None and isinstance(state, Task):
        check_result(state, mock.result, mock.field_validation_mode)
    elif mock.error is None and not isinstance(mock.result, list) and not (isinstance(state, Map) and state.writes):
        raise ValueError(f"mock.result: expected an array with the result of each branch of {state.name!r}")


def _inside(workflow: Workflow, state: State) -> Iterator[str]:
    """Yield the names of all states in the branches of `state`, nested ones included."""
    for inner in workflow.states.values():
        if inner.scope == state.name:
            yield inner.name
            yield from _inside(workflow, inner)


def _evaluation(workflow: Workflow, state: State, value: Json, given: Given) -> Staged:
    now_ms = SystemClock().now_ms()
    execution = Execution(str(uuid4()), now_ms)
    token = str(uuid4()) if isinstance(state, Task) and state.pattern is not Pattern.RESPONSE else ""
    own = EvaluationContext(workflow, execution, now_ms, str(execution), {INPUT: value})
    context = dict(own.context_of(state.name, retries=(), token=token).context_object)
    # As in Step Functions, which runs a tested state in an Express Workflow.
    express = workflow.home.arn(f"express:{workflow.name}:{execution.name}")
    context["Execution"] = {**context["Execution"], "Id": express}
    del context["Execution"]["RedriveCount"]
    shown = context if given.context is None else given.context
    return Staged(workflow, execution, now_ms, str(execution), given.variables, context=shown)


def _kind(state: State) -> str:
    return type(state).__name__
