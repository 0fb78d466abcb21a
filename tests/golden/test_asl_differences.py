"""Behaviour that differs from Step Functions, or of which nothing is known there; see docs/asl.md."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest

from unum_compiler.definition import Definition
from unum_runtime.errors import DefinitionError
from unum_runtime.model.checkpoint import Ending, Failure, Success
from unum_runtime.model.states import Json
from unum_simulator.local import LocalWorkflow

Handler = Callable[[Json, Any], Json]
END = {"End": True}
TASK: dict[str, Any] = {"Type": "Task", "Resource": "f"}


def echo(event: Json, _context: Any) -> Json:
    return event


def run(states: dict[str, Any], value: Json = None, f: Handler = echo, **fields: Json) -> Ending:
    definition = Definition.from_asl({"StartAt": next(iter(states)), "States": states, **fields})
    return LocalWorkflow(definition.compile("w", None), {"f": f}).run("e", value)


def error(ending: Ending) -> str | None:
    return ending.outcome.error if isinstance(ending.outcome, Failure) else None


def machine(inner: dict[str, Any], **processor: Json) -> dict[str, Any]:
    """A Map whose branches are the state I."""
    return {"Type": "Map", "ItemProcessor": {**processor, "StartAt": "I", "States": {"I": {**inner, **END}}}}


DISTRIBUTED = {"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}}


def test_values_may_have_380_kb() -> None:
    states = {"A": {**TASK, **END}}
    text = "x" * 300_000
    assert run(states, text).outcome == Success(text)
    assert error(run(states, "x" * 400_000)) == "States.DataLimitExceeded"


def test_a_seed_gives_one_number() -> None:
    states = {"A": {"Type": "Pass", "Parameters": {"n.$": "States.MathRandom(1, 1000000, 7)"}, **END}}
    found = {str(run(states).outcome) for _ in range(3)}
    assert len(found) == 1


def test_states_between_two_tasks_share_their_time() -> None:
    keeps = {"Parameters": {"t.$": "$$.State.EnteredTime", "before.$": "$"}}
    states = {"A": {"Type": "Pass", **keeps, "Next": "B"}, "B": {"Type": "Pass", **keeps, **END}}
    outcome = run(states).outcome
    assert isinstance(outcome, Success)
    assert outcome.value["t"] == outcome.value["before"]["t"]


def test_eval_is_refused() -> None:
    state = {"Type": "Pass", "QueryLanguage": "JSONata", "Output": "{% $eval('1') %}", **END}
    with pytest.raises(DefinitionError, match=r"\$eval"):
        run({"A": state})


def queried(expression: str, value: Json = None) -> Ending:
    state = {"Type": "Pass", "QueryLanguage": "JSONata", "Output": f"{{% {expression} %}}", **END}
    return run({"A": state}, value)


def test_numbers_and_texts_that_javascript_would_change() -> None:
    expression = "[$string(1 / 0), $states.input, $base64encode('ä')]"
    exact = 123456789012345678901
    assert queried(expression, exact).outcome == Success(["Infinity", exact, "w6Q="])


def test_an_index_counts_from_the_end() -> None:
    assert run({"A": {"Type": "Pass", "InputPath": "$[-1]", **END}}, [1, 2]).outcome == Success(2)


def test_a_heartbeat_counts_from_the_beginning() -> None:
    local = LocalWorkflow(
        Definition.from_asl({"StartAt": "A", "States": {"A": {**TASK, "HeartbeatSeconds": 5, **END}}}).compile(
            "w", None
        ),
        {"f": lambda event, _context: local.clock.skip_to(local.clock.now_ms() + 6_000) or event},
    )
    assert error(local.run("e", 1)) == "States.HeartbeatTimeout"


def test_a_time_limit_takes_effect_at_the_next_commit() -> None:
    ran: list[Json] = []

    def slow(event: Json, _context: Any) -> Json:
        ran.append(event)
        local.clock.skip_to(local.clock.now_ms() + 20_000)
        return event

    states = {"A": {**TASK, "Next": "B"}, "B": {**TASK, **END}}
    definition = Definition.from_asl({"StartAt": "A", "TimeoutSeconds": 10, "States": states})
    local = LocalWorkflow(definition.compile("w", None), {"f": slow})
    assert error(local.run("e", 1)) == "States.Timeout"
    assert ran == [1]


def _fails_for_zero(ran: list[Json]) -> Handler:
    def work(event: Json, _context: Any) -> Json:
        ran.append(event)
        if event == 0:
            raise ValueError("zero")
        return event

    return work


def test_siblings_of_a_failed_branch_are_not_interrupted() -> None:
    ran: list[Json] = []
    inner = {**TASK, "Retry": [{"ErrorEquals": ["States.Timeout"]}]}
    ending = run({"A": {**machine(inner), **END}}, [0, 1, 2], _fails_for_zero(ran))
    assert error(ending) == "ValueError"
    assert ran[0] == 0


def test_all_branches_end_before_failures_are_counted() -> None:
    ran: list[Json] = []
    some = {**machine(TASK, **DISTRIBUTED), "ToleratedFailureCount": 0, **END}
    assert error(run({"A": some}, [0, 1, 2], _fails_for_zero(ran))) == "States.ExceedToleratedFailureThreshold"
    assert sorted(map(int, ran)) == [0, 1, 2]


def test_a_branch_of_a_distributed_map_has_a_name_of_its_own() -> None:
    identity = {
        "name.$": "$$.Execution.Name",
        "input.$": "$$.Execution.Input",
        "redrives.$": "$$.Execution.RedriveCount",
    }
    ending = run({"A": {**machine({"Type": "Pass", "Parameters": identity}, **DISTRIBUTED), **END}}, [7])
    assert isinstance(ending.outcome, Success)
    (found,) = ending.outcome.value
    assert uuid.UUID(found.pop("name"))
    assert found == {"input": 7, "redrives": 0}


def test_only_a_distributed_map_runs_over_an_object() -> None:
    inner = {"Type": "Pass"}
    assert error(run({"A": {**machine(inner), **END}}, {"a": 1})) == "States.Runtime"
    ending = run({"A": {**machine(inner, **DISTRIBUTED), **END}}, {"a": 1})
    assert ending.outcome == Success([{"Key": "a", "Value": 1}])


def test_a_fan_out_fails_with_the_error_of_its_branch() -> None:
    inner = {"StartAt": "I", "States": {"I": {"Type": "Fail", "Error": "E"}}}
    assert error(run({"A": {"Type": "Parallel", "Branches": [inner], **END}})) == "E"
    assert error(run({"A": {**TASK, "Parameters": {"x.$": "$.missing"}, **END}}, {})) == "States.Runtime"


def test_an_error_without_a_cause() -> None:
    caught = {"Catch": [{"ErrorEquals": ["States.ALL"], "Next": "C"}]}
    inner = {"StartAt": "I", "States": {"I": {"Type": "Fail", "Error": "E"}}}
    states = {"A": {"Type": "Parallel", "Branches": [inner], **caught, **END}, "C": {"Type": "Pass", **END}}
    assert run(states).outcome == Success({"Error": "E"})


def test_an_intrinsic_function_that_fails() -> None:
    caught = {"Catch": [{"ErrorEquals": ["States.IntrinsicFailure"], "Next": "C"}]}
    broken = {**TASK, "Parameters": {"x.$": "States.StringToJson('{')"}, **caught, **END}
    ending = run({"A": broken, "C": {"Type": "Pass", "InputPath": "$.Error", **END}})
    assert ending.outcome == Success("States.IntrinsicFailure")
