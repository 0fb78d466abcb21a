"""Whole executions in process, through the real ingress, step, plan and perform."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from unum_client.reading import stored_steps
from unum_compiler import compile_workflow
from unum_runtime.json_text import MAX_DEPTH
from unum_runtime.model.checkpoint import Ending, Failure, Status, Success
from unum_runtime.protocol.runtime import CallbackPending
from unum_simulator.local import Function, LocalWorkflow

TASK = {"Type": "Task", "Resource": "F"}


def local(definition: dict[str, Any], **functions: Function) -> LocalWorkflow:
    compiled = compile_workflow(definition, name="w", functions=functions)
    return LocalWorkflow(compiled, functions)


def run(definition: dict[str, Any], value: Any = None, **functions: Function) -> Ending:
    return local(definition, **functions).run("e", value)


def machine(**states: Any) -> dict[str, Any]:
    return {"StartAt": next(iter(states)), "States": states}


def succeeded(value: Any) -> Ending:
    return Ending(Status.SUCCEEDED, Success(value))


def failure(ending: Ending) -> Failure:
    assert ending.status is Status.FAILED
    assert isinstance(ending.outcome, Failure)
    return ending.outcome


def test_data_flow_applies_to_a_tasks_input_and_result() -> None:
    task = {
        **TASK,
        "InputPath": "$.a",
        "Parameters": {"b.$": "$.b"},
        "ResultSelector": {"r.$": "$.c"},
        "ResultPath": "$.a.d",
        "OutputPath": "$.a",
        "End": True,
    }
    seen = []

    def function(event: Any, _context: Any) -> Any:
        seen.append(json.dumps(event))
        event["b"] = "changed by user code, which must not show"
        return {"c": 7, "more": 8}

    assert run(machine(T=task), {"a": {"b": [1]}}, F=function) == succeeded({"b": [1], "d": {"r": 7}})
    assert seen == ['{"b": [1]}']


def test_a_variable_stays_what_it_was_when_user_code_changes_its_event() -> None:
    def function(event: Any, _context: Any) -> Any:
        event["x"].append("changed by user code, which must not show")
        return 1

    first = {"Type": "Pass", "Assign": {"x": [1]}, "Next": "T"}
    shows = {"Type": "Pass", "Parameters": {"x.$": "$x"}, "End": True}
    definition = machine(First=first, T={**TASK, "Parameters": {"x.$": "$x"}, "Next": "Shows"}, Shows=shows)
    assert run(definition, F=function) == succeeded({"x": [1]})


def changing(event: Any, _context: Any) -> Any:
    """Change all mutable parts of the event, without effect on the execution."""
    for part in event.values() if isinstance(event, dict) else event:
        if isinstance(part, dict | list):
            changing(part, None)
    event.clear()
    return 1


SHOWS = {"Type": "Pass", "Parameters": {"x.$": "$x"}, "End": True}


def test_retried_task_takes_an_input_as_deep_as_json_may_be() -> None:
    """A copy of an object in Python, level by level, reaches half the depth."""
    deep: Any = 1
    for _ in range(MAX_DEPTH):
        deep = [deep]
    retries = {**TASK, "Retry": [{"ErrorEquals": ["States.ALL"]}], "ResultPath": None, "End": True}
    assert run(machine(T=retries), deep, F=lambda _event, _context: None) == succeeded(deep)


def test_user_code_that_changes_its_event_keeps_the_executions_input() -> None:
    shows = {"Type": "Pass", "Parameters": {"x.$": "$$.Execution.Input"}, "End": True}
    assert run(machine(T={**TASK, "Next": "S"}, S=shows), {"a": [1]}, F=changing) == succeeded({"x": {"a": [1]}})


def test_user_code_that_changes_its_event_does_not_change_the_definition() -> None:
    first = {"Type": "Pass", "Result": {"a": [1]}, "Assign": {"x.$": "$"}, "Next": "T"}
    workflow = local(machine(First=first, T={**TASK, "Next": "S"}, S=SHOWS), F=changing)
    assert [workflow.run(name, None) for name in ("e", "f")] == [succeeded({"x": {"a": [1]}})] * 2


def test_user_code_that_joins_results_cannot_change_variables_by_its_event() -> None:
    definition = machine(
        First={"Type": "Pass", "Assign": {"x": {"a": [1]}}, "Next": "P"},
        P={"Type": "Parallel", "Branches": [machine(B={**TASK, "Resource": "B", "End": True})], "Next": "Between"},
        Between={"Type": "Pass", "Parameters": {"x.$": "$x"}, "Next": "T"},
        T={**TASK, "Next": "S"},
        S=SHOWS,
    )
    assert run(definition, F=changing, B=lambda _event, _context: 1) == succeeded({"x": {"a": [1]}})


def test_user_code_after_a_neighbour_cannot_change_variables_by_its_event() -> None:
    each = machine(
        A={**TASK, "Resource": "A", "Assign": {"x": {"a": [1]}}, "Next": "Between"},
        Between={"Type": "Pass", "Parameters": {"x.$": "$x"}, "Next": "T"},
        T={**TASK, "Next": "S"},
        S=SHOWS,
    )
    definition = machine(M={"Type": "Map", "ItemProcessor": each, "End": True})
    plain = local(definition, F=changing, A=lambda _event, _context: 1)
    states = {**plain.workflow.states, "T": replace(plain.workflow.task("T"), meets_previous=True)}
    lanes = replace(plain, workflow=replace(plain.workflow, states=states))
    assert lanes.run("e", [1, 2]) == succeeded([{"x": {"a": [1]}}] * 2)


def test_check_for_a_late_holder_finds_a_time_that_user_code_deleted() -> None:
    waits = {
        **TASK,
        "Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken",
        "Parameters": {"FunctionName": "F", "Payload.$": "$"},
        "TimeoutSecondsPath": "$.seconds",
        "End": True,
    }

    def function(event: Any, _context: Any) -> Any:
        event.clear()
        return CallbackPending()

    definition = machine(First={**TASK, "Resource": "G", "Next": "T"}, T=waits)
    assert failure(run(definition, F=function, G=lambda _event, _context: {"seconds": 5})).error == "States.Timeout"


@pytest.mark.parametrize(("result", "output"), [(1, True), (1, 1.0), (False, 0), ({"a": [1]}, {"a": [True]})])
def test_output_equal_to_the_last_result_in_python_is_shown(result: Any, output: Any) -> None:
    definition = machine(T={**TASK, "Next": "P"}, P={"Type": "Pass", "Result": output, "End": True})
    ending = run(definition, F=lambda _event, _context: result)
    assert isinstance(ending.outcome, Success)
    assert json.dumps(ending.outcome.value) == json.dumps(output)


@pytest.mark.parametrize("fusion", [False, True])
def test_what_states_between_two_tasks_change_is_what_the_second_gets(*, fusion: bool) -> None:
    between = {"Type": "Pass", "Parameters": {"n.$": "$.n", "more": True}, "Next": "Second"}
    seen = []

    def function(event: Any, _context: Any) -> Any:
        seen.append(json.dumps(event))
        event["n"] = "changed by user code, which must not show"
        return {"n": len(seen)}

    definition = machine(
        First={**TASK, "Next": "P"}, P=between, Second={**TASK, "Next": "Third"}, Third={**TASK, "End": True}
    )
    executed = replace(local(definition, F=function), fusion=fusion)
    assert executed.run("e", {"n": 0, "gone": 1}) == succeeded({"n": 3})
    assert seen == ['{"n": 0, "gone": 1}', '{"n": 1, "more": true}', '{"n": 2}']


def test_lambda_invoke_gives_the_wrapped_result() -> None:
    task = {
        "Type": "Task",
        "Resource": "arn:aws:states:::lambda:invoke",
        "Parameters": {"FunctionName": "F", "Payload": {"x.$": "$.y"}},
        "End": True,
    }
    ending = run(machine(T=task), {"y": 3}, F=lambda event, _: event["x"] + 1)
    assert isinstance(ending.outcome, Success)
    assert ending.outcome.value["Payload"] == 4
    assert ending.outcome.value["StatusCode"] == 200


def test_an_exception_fails_the_execution_with_its_class_and_stack() -> None:
    def function(_event: Any, _context: Any) -> Any:
        raise LookupError("no such thing")

    outcome = failure(run(machine(A={**TASK, "Next": "B"}, B={**TASK, "End": True}), F=function))
    assert outcome.error == "LookupError"
    cause = json.loads(str(outcome.cause))
    assert (cause["errorMessage"], cause["errorType"]) == ("no such thing", "LookupError")
    assert "in function" in cause["stackTrace"][0], "the first frame is the user's"


@pytest.mark.parametrize(
    ("result", "place"),
    [
        (
            {"items": [1, {"when": datetime(2026, 1, 1, tzinfo=UTC)}]},
            "$.items[1].when: datetime.datetime is not JSON; return str, int, float, bool, None, list or dict",
        ),
        ({"x": float("nan")}, "$.x: nan is not JSON; return a finite number or None"),
        ({"x": {1, 2}}, "$.x: set is not JSON; return str, int, float, bool, None, list or dict"),
    ],
)
def test_an_output_that_is_not_json_names_type_and_place(result: Any, place: str) -> None:
    outcome = failure(run(machine(A={**TASK, "End": True}), F=lambda *_: result))
    assert outcome.error == "Runtime.MarshalError"
    assert json.loads(str(outcome.cause)) == {
        "errorMessage": place,
        "errorType": "Runtime.MarshalError",
        "stackTrace": [],
    }


def test_decimals_and_tuples_become_what_lambda_makes_of_them() -> None:
    assert run(machine(A={**TASK, "End": True}), F=lambda *_: (Decimal("1.5"), 2)) == succeeded([1.5, 2])


def test_a_choice_without_match_and_default_fails() -> None:
    choice = {"Type": "Choice", "Choices": [{"Variable": "$.n", "NumericEquals": 1, "Next": "A"}]}
    outcome = failure(run(machine(C=choice, A={**TASK, "End": True}), {"n": 2}, F=lambda *_: 0))
    assert outcome.error == "States.NoChoiceMatched"


def test_a_fail_state_inside_a_branch_fails_the_execution() -> None:
    bad = {"Type": "Fail", "Error": "Bad", "Cause": "because"}
    branches = [machine(A={**TASK, "End": True}), machine(B={**TASK, "ResultPath": "$", "Next": "X"}, X=bad)]
    assert failure(run(machine(P={"Type": "Parallel", "Branches": branches, "End": True}), F=lambda *_: 0)) == Failure(
        "Bad", "because"
    )


def test_a_failure_two_scopes_deep_ends_the_execution() -> None:
    inner = {"Type": "Map", "ItemProcessor": machine(T={**TASK, "End": True}), "End": True}
    outer = {"Type": "Map", "ItemProcessor": machine(Inner=inner), "End": True}

    def function(event: Any, _context: Any) -> Any:
        return 1 / event

    assert failure(run(machine(Outer=outer), [[1, 2], [3, 0]], F=function)).error == "ZeroDivisionError"


def test_nested_maps_keep_every_value_in_its_place() -> None:
    inner = {"Type": "Map", "ItemProcessor": machine(T={**TASK, "End": True}), "End": True}
    outer = {"Type": "Map", "ItemProcessor": machine(Inner=inner), "End": True}
    grid = [[f"{row}.{column}" for column in range(3)] for row in range(3)]
    assert run(machine(Outer=outer), grid, F=lambda event, _: event) == succeeded(grid)


def test_branches_that_end_in_different_places_keep_their_order() -> None:
    small = {"Variable": "$", "NumericLessThan": 3, "Next": "Pass"}
    branch = machine(
        T={**TASK, "Next": "C"},
        C={"Type": "Choice", "Choices": [small], "Default": "Again"},
        Pass={"Type": "Pass", "Parameters": {"small.$": "$"}, "End": True},
        Again={**TASK, "End": True},
    )
    each = {"Type": "Map", "ItemProcessor": branch, "ResultPath": "$.out", "ItemsPath": "$.in", "End": True}
    ending = run(machine(M=each), {"in": [1, 5, 2, 9]}, F=lambda event, _: event)
    assert ending == succeeded({"in": [1, 5, 2, 9], "out": [{"small": 1}, 5, {"small": 2}, 9]})


def test_a_branch_without_a_task_is_computed_in_place() -> None:
    branches = [machine(A={"Type": "Pass", "Result": 1, "End": True}), machine(B={**TASK, "End": True})]
    parallel = {"Type": "Parallel", "Branches": branches, "End": True}
    assert run(machine(P=parallel), 0, F=lambda *_: 2) == succeeded([1, 2])


def test_a_workflow_without_any_task_ends_too() -> None:
    assert run(machine(P={"Type": "Pass", "Result": {"a": 1}, "ResultPath": "$.r", "End": True}), {}) == succeeded(
        {"r": {"a": 1}}
    )
    assert failure(run(machine(F={"Type": "Fail", "Error": "E"}))) == Failure("E", None)


@pytest.mark.parametrize("limit", [1, 2, 3, 10, 20])
def test_max_concurrency_bounds_what_runs_at_once(limit: int) -> None:
    each = {
        "Type": "Map",
        "MaxConcurrency": limit,
        "ItemProcessor": machine(A={**TASK, "Next": "B"}, B={"Type": "Task", "Resource": "G", "End": True}),
        "End": True,
    }
    running, most = set(), []

    def enter(event: Any, _context: Any) -> Any:
        running.add(event)
        most.append(len(running))
        return event

    def leave(event: Any, _context: Any) -> Any:
        running.remove(event)
        return event

    assert run(machine(M=each), list(range(10)), F=enter, G=leave) == succeeded(list(range(10)))
    assert max(most) == min(limit, 10)


def test_a_loop_runs_until_its_choice_ends_it() -> None:
    definition = machine(
        T={**TASK, "Next": "C"},
        C={"Type": "Choice", "Choices": [{"Variable": "$", "NumericLessThan": 5, "Next": "T"}], "Default": "S"},
        S={"Type": "Succeed"},
    )
    workflow = local(definition, F=lambda event, _: event + 1)
    assert workflow.run("e", 0) == succeeded(5)
    execution = stored_steps.start_record(workflow.store, "w", "e").name.execution
    assert [step.name.step for step in stored_steps.steps(workflow.store, "w", execution)] == [1, 2, 3, 4, 5]


def test_an_execution_that_exceeds_its_hop_budget_fails_by_name() -> None:
    endless = machine(
        T={**TASK, "Next": "C"},
        C={"Type": "Choice", "Choices": [{"Variable": "$", "IsNull": True, "Next": "S"}], "Default": "T"},
        S={"Type": "Succeed"},
    )
    workflow = local(endless, F=lambda event, _: event)
    bounded = replace(workflow, workflow=replace(workflow.workflow, hop_budget=20))
    assert failure(bounded.run("e", 0)).error == "Unum.HopBudgetExceeded"
    execution = stored_steps.start_record(bounded.store, "w", "e").name.execution
    assert len(list(stored_steps.steps(bounded.store, "w", execution))) == 20


def test_a_loop_without_a_task_ends_with_an_error() -> None:
    definition = machine(
        A={"Type": "Pass", "Next": "C"},
        C={"Type": "Choice", "Choices": [{"Variable": "$", "IsPresent": True, "Next": "A"}], "Default": "T"},
        T={**TASK, "End": True},
    )
    outcome = failure(run(definition, 1, F=lambda *_: 0))
    assert outcome.error == "States.Runtime"
    assert "a loop without a Task" in str(outcome.cause)


def test_an_output_that_is_too_large_fails_visibly() -> None:
    outcome = failure(run(machine(A={**TASK, "End": True}), F=lambda *_: "x" * 500_000))
    assert outcome.error == "States.DataLimitExceeded"
    assert "500002 bytes" in str(outcome.cause)


def test_the_same_start_twice_runs_user_code_once() -> None:
    calls = []
    workflow = local(machine(A={**TASK, "End": True}), F=lambda event, _: calls.append(event) or event)
    assert workflow.run("e", 1) == workflow.run("e", 1) == succeeded(1)
    assert calls == [1]


def test_user_code_gets_a_stable_idempotency_key() -> None:
    seen = []
    each = {"Type": "Map", "ItemProcessor": machine(A={**TASK, "End": True}), "End": True}
    workflow = local(machine(M=each), F=lambda _, context: seen.append(context.unum.idempotency_key))
    workflow.run("e", [1, 2])
    assert len(set(seen)) == 2
    assert all(key.startswith("w/e:") for key in seen)


def test_an_input_that_is_too_large_fails_the_execution_visibly() -> None:
    workflow = local(machine(A={**TASK, "End": True}), F=lambda event, _: event)
    outcome = failure(workflow.run("e", "x" * 500_000))
    assert outcome.error == "States.DataLimitExceeded"
    assert "the input has 500002 bytes" in str(outcome.cause)
    assert failure(workflow.run("e", "x" * 500_000)) == outcome, "a name has one execution"
