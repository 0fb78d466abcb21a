"""Definitions from text, files and Python objects, and the functions that they are bound to."""

from pathlib import Path
from typing import Any

import pytest

from unum_compiler.definition import Definition
from unum_runtime.errors import DefinitionError, Problem

ARN = "${Token[TOKEN.11]}"


def task(resource: str, **fields: Any) -> dict[str, Any]:
    return {"Type": "Task", "Resource": resource, "End": True, **fields}


def machine(**states: Any) -> dict[str, Any]:
    return {"StartAt": next(iter(states)), "States": states}


def refusal(text: str) -> Problem:
    with pytest.raises(DefinitionError) as caught:
        Definition.from_asl(text)
    return caught.value.problems[0]


def test_text_and_objects_give_the_same() -> None:
    text = '{"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "f", "End": true}}}'
    assert Definition.from_asl(text) == Definition.from_asl(machine(A=task("f")))


def test_later_changes_of_the_objects_do_not_matter() -> None:
    states = machine(A=task("f"))
    definition = Definition.from_asl(states)
    states["States"]["A"]["Resource"] = "g"
    assert definition.compile("w", ["f"]).task("A").function == "f"


def test_no_json_is_refused_with_line_and_column() -> None:
    assert refusal('{\n  "StartAt": }').path == "line 2, column 14"


@pytest.mark.parametrize("text", ["", " ", "not a definition", '{"a": NaN}', "[" * 100_000, "1" * 5_000])
def test_no_json_is_refused(text: str) -> None:
    assert refusal(text).message


def test_keys_that_are_there_twice_are_refused() -> None:
    problem = refusal('{"StartAt": "A", "States": {"A": {}, "B": {}, "A": {}}}')
    assert problem.path == "$.States"
    assert '"A" occurs twice' in problem.message


def test_file_is_named_with_line_and_column(tmp_path: Path) -> None:
    path = tmp_path / "flow.asl.json"
    path.write_text('{"StartAt" "A"}')
    with pytest.raises(DefinitionError) as caught:
        Definition.from_asl_file(path)
    assert caught.value.problems[0].path == f"{path}:1:12"


def test_file_in_another_encoding_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "flow.asl.json"
    path.write_bytes('{"StartAt": "Ä"}'.encode("latin-1"))
    with pytest.raises(DefinitionError, match="UTF-8"):
        Definition.from_asl_file(path)


def test_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "flow.asl.json"
    path.write_bytes(b'\xef\xbb\xbf{"StartAt": "A"}')
    assert Definition.from_asl_file(path) == Definition.from_asl({"StartAt": "A"})


def test_functions_are_bound_at_any_depth_and_nowhere_else() -> None:
    invoke = "arn:${Token[AWS.Partition.3]}:states:::lambda:invoke"
    states = machine(
        A={"Type": "Parallel", "Branches": [machine(B=task(ARN))], "Next": "C"},
        C={"Type": "Map", "Iterator": machine(D=task(ARN)), "Next": "E"},
        E={"Type": "Map", "ItemProcessor": machine(F=task(invoke, Parameters={"FunctionName": ARN})), "Next": "G"},
        G={"Type": "Pass", "Result": {"FunctionName": "arn:x", "Resource": "arn:x"}, "End": True},
    )
    bound = Definition.from_asl(states).bind({ARN: "f", "arn:x": "g"})
    workflow = bound.compile("w", ["f", "g"])
    assert {task.name: task.function for task in workflow.tasks} == {"B": "f", "D": "f", "F": "f"}
    assert workflow.states["G"].data["Result"] == {"FunctionName": "arn:x", "Resource": "arn:x"}


def test_token_that_stays_is_a_problem_at_its_place() -> None:
    with pytest.raises(DefinitionError) as caught:
        Definition.from_asl(machine(A=task(ARN))).bind({}).compile("w", ["f"])
    assert [problem.path for problem in caught.value.problems] == ["$.States.A.Resource"]


@pytest.mark.parametrize("value", [None, 1, "x", [], {}, {"States": {"A": 1}}, {"States": {"A": {"Branches": [1]}}}])
def test_bind_leaves_to_compile_what_is_wrong(value: Any) -> None:
    definition = Definition.from_asl(value) if not isinstance(value, str) else Definition.from_asl('"x"')
    assert definition.bind({"a": "b"}) == definition
