"""Order of data flow in JSONPath states."""

from typing import Any

import pytest

from unum_runtime.asl.expression_context import ExpressionContext
from unum_runtime.asl.jsonpath.dataflow import (
    DataFlow,
    check_path,
    check_reference,
    check_result_path,
    effective_input,
    output,
    select,
)
from unum_runtime.asl.states_errors import ResultPathMatchFailure, RuntimeFailure

CONTEXT = ExpressionContext({"Execution": {"Id": "e1"}}, {"v": {"id": 7}})


def run(fields: dict[str, Any], raw: Any, result: Any) -> tuple[Any, Any]:
    flow = DataFlow.of(fields)
    return effective_input(flow, raw, CONTEXT), output(flow, raw, result, CONTEXT)


def test_the_fields_apply_in_order() -> None:
    fields = {
        "InputPath": "$.numbers",
        "Parameters": {"a.$": "$.val1", "id.$": "$$.Execution.Id"},
        "ResultSelector": {"sum.$": "$.total"},
        "ResultPath": "$.numbers.result",
        "OutputPath": "$.numbers",
    }
    raw = {"title": "add", "numbers": {"val1": 3, "val2": 4}}
    assert run(fields, raw, {"total": 7, "noise": 0}) == (
        {"a": 3, "id": "e1"},
        {"val1": 3, "val2": 4, "result": {"sum": 7}},
    )
    assert raw == {"title": "add", "numbers": {"val1": 3, "val2": 4}}


@pytest.mark.parametrize(
    ("fields", "given", "passed_on"),
    [
        ({}, {"x": 1}, "result"),
        ({"InputPath": None}, {}, "result"),
        ({"ResultPath": None}, {"x": 1}, {"x": 1}),
        ({"OutputPath": None}, {"x": 1}, {}),
        ({"Parameters": {}}, {}, "result"),
        ({"ResultSelector": {"a": None}}, {"x": 1}, {"a": None}),
        ({"InputPath": "$$.Execution"}, {"Id": "e1"}, "result"),
        ({"OutputPath": "$$.Execution.Id"}, {"x": 1}, "e1"),
        ({"InputPath": "$v", "OutputPath": "$v.id"}, {"id": 7}, 7),
        ({"ResultPath": "$.r"}, {"x": 1}, {"x": 1, "r": "result"}),
        ({"InputPath": "$.x", "ResultPath": "$.r"}, 1, {"x": 1, "r": "result"}),
        ({"InputPath": None, "ResultPath": "$.r", "OutputPath": "$.r"}, {}, "result"),
    ],
)
def test_each_field(fields: dict[str, Any], given: Any, passed_on: Any) -> None:
    assert run(fields, {"x": 1}, "result") == (given, passed_on)


# Causes recorded from AWS, without AWS's prefix with the name of the state.
@pytest.mark.parametrize("field", ["InputPath", "OutputPath"])
def test_a_path_without_value(field: str) -> None:
    with pytest.raises(RuntimeFailure) as caught:
        run({field: "$.NoSuchPath"}, {"x": 1}, {"x": 1})
    assert caught.value.error == "States.Runtime"
    assert caught.value.cause == "Invalid path '$.NoSuchPath' : No results for path: $['NoSuchPath']"


def test_a_result_path_that_does_not_fit() -> None:
    with pytest.raises(ResultPathMatchFailure):
        run({"ResultPath": "$.x"}, "foo", 1)


def test_select_reads_the_input_the_context_or_a_variable() -> None:
    assert select("$", 5, CONTEXT) == 5
    assert select("$.a[*]", {"a": [1]}, CONTEXT) == [1]
    assert select("$$.Execution.Id", {}, CONTEXT) == "e1"
    assert select("$v['id']", {}, CONTEXT) == 7
    with pytest.raises(RuntimeFailure, match=r"Invalid path '\$w' : \$w is none of the variables .* assigned: v"):
        select("$w", {}, CONTEXT)


@pytest.mark.parametrize(
    ("check", "text", "message"),
    [
        (check_path, "x", "a path begins with $"),
        (check_path, 5, "expected a path like $.value, or null; got 5"),
        (check_path, "States.Array($)", "expected a path; write intrinsic functions in fields ending in .$"),
        (check_result_path, "$.a[*]", "expected a reference path"),
        (check_result_path, "$$.x", "a result goes into the input"),
        (check_result_path, "$x", "a result goes into the input"),
        (check_result_path, "$x.y", "or a variable; begin with $."),
    ],
)
def test_problems_are_reported_with_their_places(check: Any, text: Any, message: str) -> None:
    (problem,) = check(text, "$.States.X.F")
    assert problem.path == "$.States.X.F"
    assert message in problem.message


def test_reference_paths() -> None:
    assert not check_reference("$.a[0]", "$")
    assert not check_result_path(None, "$")
    assert "expected a reference path" in check_reference("$.a[-1]", "$.ItemsPath")[0].message


def test_flows_of_equal_fields_are_equal() -> None:
    fields = {"Parameters": {"a.$": "$.b"}, "ResultPath": None}
    assert DataFlow.of(fields) == DataFlow.of(dict(fields))
    assert DataFlow.of({}) == DataFlow()
