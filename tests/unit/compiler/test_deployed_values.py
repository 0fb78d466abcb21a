"""Placeholders of a new definition get the values that the deployed one has at their places."""

from typing import Any

import pytest

from unum_compiler import compile_workflow
from unum_compiler.analysis.changes import with_values_of
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Json


def workflow(parameters: Json) -> Workflow:
    machine = {"StartAt": "P", "States": {"P": {"Type": "Pass", "Parameters": parameters, "End": True}}}
    return compile_workflow(machine, name="w", functions=None)


@pytest.mark.parametrize(
    ("deployed", "new", "expected"),
    [
        ("arn:x", "${Value1}", "arn:x"),
        ("https://sqs/q?1", "https://${Value1}/q?1", "https://sqs/q?1"),
        ("a-b-a", "${V}-${W}-${V}", "a-b-a"),
        ("a-b-c", "${V}-${W}-${V}", "${V}-${W}-${V}"),
        ("https://sqs/other", "https://${Value1}/q", "https://${Value1}/q"),
        (5, "${Value1}", "${Value1}"),
        (5, "${Number1}", 5),
        ([1, {"a": 2}], "${Json1}", [1, {"a": 2}]),
        (["x", "y"], ["${V}", "z"], ["x", "z"]),
        (["x"], ["${V}", "z"], ["${V}", "z"]),
        ({"a": "x"}, {"a": "${V}", "b": "${V}"}, {"a": "x", "b": "${V}"}),
    ],
)
def test_values(deployed: Any, new: Any, expected: Any) -> None:
    filled = with_values_of(workflow({"x": deployed}), workflow({"x": new}))
    assert filled.states["P"].data["Parameters"] == {"x": expected}


def test_numbers_of_retriers_and_the_time_limit() -> None:
    def limited(most: Json, limit: Json) -> Workflow:
        task = {"Type": "Task", "Resource": "f", "End": True, "Retry": [{"ErrorEquals": ["E"], "MaxAttempts": most}]}
        machine = {"StartAt": "T", "TimeoutSeconds": limit, "States": {"T": task}}
        return compile_workflow(machine, name="w", functions=None)

    new = limited("${Value1}", "${Value2}")
    assert with_values_of(limited(5, 60), new).digest == limited(5, 60).digest
    assert with_values_of(limited(5, 60), limited(6, 60)).digest == limited(6, 60).digest


def test_a_state_that_is_not_deployed_stays() -> None:
    new = compile_workflow(
        {"StartAt": "Q", "States": {"Q": {"Type": "Pass", "Result": "${V}", "End": True}}}, name="w", functions=None
    )
    assert with_values_of(workflow({}), new).digest == new.digest
