"""``unum test-state``: one state alone."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TASK = {
    "Type": "Task",
    "Resource": "arn:aws:states:::lambda:invoke",
    "Parameters": {"FunctionName": "double", "Payload.$": "$.n"},
    "ResultSelector": {"value.$": "$.Payload"},
    "ResultPath": "$.doubled",
    "Retry": [{"ErrorEquals": ["Busy"], "IntervalSeconds": 2, "MaxAttempts": 2}],
    "Catch": [{"ErrorEquals": ["States.ALL"], "ResultPath": "$.error", "Next": "Mend"}],
    "Next": "Next",
}
EACH = {
    "Type": "Map",
    "ItemsPath": "$.list",
    "ItemSelector": {"v.$": "$$.Map.Item.Value"},
    "ItemProcessor": {"StartAt": "Inner", "States": {"Inner": {"Type": "Pass", "End": True}}},
    "End": True,
}
MACHINE: dict[str, Any] = {
    "StartAt": "Wide",
    "States": {
        "Wide": {
            "Type": "Map",
            "ItemsPath": "$.list",
            "ItemProcessor": {
                "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"},
                "StartAt": "Inner",
                "States": {"Inner": {"Type": "Pass", "Parameters": {"v.$": "$"}, "End": True}},
            },
            "Next": "Over",
        },
        "Over": {"Type": "Succeed"},
    },
}


READER = {
    "Resource": "arn:aws:states:::s3:getObject",
    "ReaderConfig": {"InputType": "CSV", "CSVHeaderLocation": "FIRST_ROW"},
    "Parameters": {"Bucket": "b", "Key": "k"},
}


@pytest.fixture
def single(unum: Any, file: Callable[..., Path]) -> Callable[..., Any]:
    """Runs a state: (definition, options by name) to the exit code and what was printed."""

    def run(definition: Any, **options: Any) -> tuple[int, Any]:
        path = file("state.json", definition)
        texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in options.items()}
        given = [part for name, text in texts.items() for part in (f"--{name.replace('_', '-')}", text)]
        ran = unum("test-state", str(path), *given)
        return ran.code, json.loads(ran.out) if ran.out else ran.err

    return run


def test_a_mocked_result_goes_through_the_states_fields(single: Any) -> None:
    mock = {"result": json.dumps({"Payload": 4, "StatusCode": 200})}
    code, ended = single(TASK, input={"n": 2}, mock=mock, inspection_level="DEBUG")
    assert code == 0
    assert ended == {
        "status": "SUCCEEDED",
        "output": {"n": 2, "doubled": {"value": 4}},
        "nextState": "Next",
        "inspectionData": {
            "input": {"n": 2},
            "afterInputPath": {"n": 2},
            "afterParameters": {"FunctionName": "double", "Payload": 2},
            "result": {"Payload": 4, "StatusCode": 200},
            "afterResultSelector": {"value": 4},
            "afterResultPath": {"n": 2, "doubled": {"value": 4}},
        },
    }


# Recorded by AWS.
def test_a_fail_shows_its_input_after_input_path(single: Any) -> None:
    _code, ended = single({"Type": "Fail", "ErrorPath": "$.why"}, input={"why": "No"}, inspection_level="DEBUG")
    assert ended == {
        "status": "FAILED",
        "error": "No",
        "inspectionData": {"input": {"why": "No"}, "afterInputPath": {"why": "No"}},
    }


def test_a_function_is_run_where_there_is_no_mock(single: Any, file: Callable[..., Path]) -> None:
    file("code.py", "def double(event, context): return 2 * event\n")
    code, ended = single(TASK, input={"n": 2}, functions="code.py")
    assert (code, ended["output"]) == (0, {"n": 2, "doubled": {"value": 4}})


@pytest.mark.parametrize(
    ("error", "count", "status", "details"),
    [
        ("Busy", 0, "RETRIABLE", {"retryIndex": 0, "retryBackoffIntervalSeconds": 2}),
        ("Busy", 1, "RETRIABLE", {"retryIndex": 0, "retryBackoffIntervalSeconds": 4}),
        ("Busy", 2, "CAUGHT_ERROR", {"retryIndex": 0, "catchIndex": 0}),
        ("Other", 0, "CAUGHT_ERROR", {"catchIndex": 0}),
    ],
)
def test_an_error_is_retried_or_caught(single: Any, error: str, count: int, status: str, details: Any) -> None:
    mock, configuration = {"errorOutput": {"error": error, "cause": "c"}}, {"retrierRetryCount": count}
    _, ended = single(TASK, input={"n": 2}, mock=mock, state_configuration=configuration, inspection_level="DEBUG")
    assert (ended["status"], ended["error"], ended["cause"]) == (status, error, "c")
    assert ended["inspectionData"]["errorDetails"] == details
    caught = {"n": 2, "error": {"Error": error, "Cause": "c"}}
    assert (ended.get("nextState"), ended.get("output")) == (
        ("Mend", caught) if "catchIndex" in details else (None, None)
    )


def test_what_fails_for_good_is_shown_and_fails_the_command(single: Any) -> None:
    definition = {"Type": "Task", "Resource": "f", "InputPath": "$.nothing", "End": True}
    code, ended = single(definition, mock={"result": "1"})
    assert code == 1
    assert (ended["status"], ended["error"]) == ("FAILED", "States.Runtime")


def test_variables_are_seen_and_assigned(single: Any) -> None:
    definition = {"Type": "Pass", "Assign": {"b.$": "$a"}, "Parameters": {"x.$": "$a"}, "End": True}
    _, ended = single(definition, variables={"a": 1}, inspection_level="TRACE")
    assert ended["output"] == {"x": 1}
    assert ended["inspectionData"]["variables"] == {"a": 1, "b": 1}


def test_the_context_object_can_be_given(single: Any) -> None:
    definition = {"Type": "Pass", "Parameters": {"x.$": "$$.Execution.Name"}, "End": True}
    assert single(definition, context={"Execution": {"Name": "n"}})[1]["output"] == {"x": "n"}


def test_a_choice_says_where_it_leads(single: Any) -> None:
    rule = {"Variable": "$.n", "NumericGreaterThan": 1, "Next": "Many"}
    definition = {"Type": "Choice", "Choices": [rule], "Default": "Few"}
    assert single(definition, input={"n": 2})[1] == {"status": "SUCCEEDED", "output": {"n": 2}, "nextState": "Many"}
    assert single(definition, input={"n": 1})[1]["nextState"] == "Few"


def test_a_map_shows_what_its_branches_are_entered_with(single: Any) -> None:
    _, ended = single(EACH, input={"list": [1, 2]}, mock={"result": "[3, 4]"}, inspection_level="DEBUG")
    seen = ended["inspectionData"]
    assert ended["output"] == [3, 4]
    assert (seen["afterItemsPath"], seen["afterItemSelector"]) == ([1, 2], [{"v": 1}, {"v": 2}])
    assert seen["maxConcurrency"] == 0


def test_map_without_items_shows_no_numbers(single: Any) -> None:
    _, ended = single(EACH, input={"list": 1}, mock={"result": "[]"}, inspection_level="DEBUG")
    assert ended["status"] == "FAILED"
    assert "maxConcurrency" not in ended["inspectionData"]


def test_fields_of_an_object_are_read_with_their_keys(single: Any) -> None:
    wide = {name: value for name, value in MACHINE["States"]["Wide"].items() if name != "ItemsPath"}
    reader = {**READER, "ReaderConfig": {"InputType": "JSON"}}
    selector = {"k.$": "$$.Map.Item.Key", "v.$": "$$.Map.Item.Value"}
    _, ended = single(
        {**wide, "ItemReader": reader, "ItemSelector": selector},
        mock={"result": "[1]"},
        state_configuration={"mapItemReaderData": '{"a": 7}'},
        inspection_level="DEBUG",
    )
    assert ended["inspectionData"]["afterItemSelector"] == [{"k": "a", "v": 7}]


def test_a_map_reads_what_its_reader_would(single: Any) -> None:
    wide = {name: value for name, value in MACHINE["States"]["Wide"].items() if name != "ItemsPath"}
    definition = {**wide, "ItemReader": READER}
    mock, configuration = {"result": "[1, 2]"}, {"mapItemReaderData": "a,b\n1,2\n3,4\n"}
    _, ended = single(definition, mock=mock, state_configuration=configuration, inspection_level="DEBUG")
    assert (ended["output"], ended["nextState"]) == ([1, 2], "Over")
    assert ended["inspectionData"]["afterItemsPath"] == [{"a": "1", "b": "2"}, {"a": "3", "b": "4"}]


def test_a_state_of_a_machine_is_found_at_any_depth(single: Any) -> None:
    assert single(MACHINE, state_name="Inner", input=3)[1] == {"status": "SUCCEEDED", "output": {"v": 3}}


@pytest.mark.parametrize(
    ("definition", "options", "said"),
    [
        (EACH, {}, "mock: the Map 'StateName' needs a mock"),
        (TASK, {}, "mock: 'StateName' needs a mock or the function 'double'"),
        ({"Type": "Succeed"}, {"mock": {"result": "1"}}, "mock: expected a Task, Map or Parallel"),
        (TASK, {"mock": {"result": '{"StatusCode": "x"}'}}, "$.StatusCode: expected a value of type integer"),
        (TASK, {"mock": {}}, "mock: expected either result or errorOutput"),
        (TASK, {"mock": {"result": "1", "mode": 2}}, "mock: there is no field mode"),
        (TASK, {"mock": {"errorOutput": {"cause": "c"}}}, 'mock.errorOutput: expected an object with "error"'),
        (TASK, {"mock": {"result": "{"}}, "mock.result: "),
        (
            TASK,
            {"mock": {"result": "1"}, "state_configuration": {"retrierRetryCount": -1}},
            "expected an integer from 0",
        ),
        (TASK, {"mock": {"result": "{}"}, "variables": "[]"}, "variables: expected an object, got []"),
        (
            EACH,
            {
                "input": {"list": [1]},
                "mock": {"errorOutput": {"error": "E"}},
                "state_configuration": {"errorCausedByState": "X"},
            },
            "errorCausedByState: expected a state inside 'StateName', got 'X'; states inside: Inner",
        ),
        (
            EACH,
            {"input": {"list": [1]}, "mock": {"result": "[1]"}, "state_configuration": {"mapIterationFailureCount": 2}},
            "mapIterationFailureCount: expected at most 1",
        ),
        (EACH, {"input": {"list": [1]}, "mock": {"result": "{}"}}, "mock.result: expected an array"),
    ],
)
def test_what_does_not_fit_is_said(single: Any, definition: Any, options: dict[str, Any], said: str) -> None:
    code, message = single(definition, **options)
    assert code == 2
    assert said in message


@pytest.mark.parametrize(
    ("definition", "options", "said"),
    [
        ({"Type": "Pass"}, {}, "$.States.StateName: "),
        ([], {}, "$: expected an object"),
        (MACHINE, {}, "$: this is a state machine; say which of its states is to be tested"),
        (MACHINE, {"state_name": "X"}, "there is no state 'X'; there are: Inner, Over, Wide"),
    ],
)
def test_problems_of_the_definition_are_said(single: Any, definition: Any, options: dict[str, Any], said: str) -> None:
    code, message = single(definition, **options)
    assert code == 1
    assert said in message
