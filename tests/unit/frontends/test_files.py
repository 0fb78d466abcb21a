"""Definitions in files: JSON and YAML say the same, and what YAML alone can say is refused with its place."""

import json
from pathlib import Path
from typing import Any

import pytest

from unum_compiler.definition import Definition
from unum_runtime.errors import DefinitionError, Problem

MACHINE: dict[str, Any] = {
    "StartAt": "Resize",
    "States": {
        "Resize": {"Type": "Task", "Resource": "resize", "ResultPath": None, "Next": "Done"},
        "Done": {"Type": "Pass", "Result": {"at": "2016-03-14T01:59:00Z", "n": 3, "f": 0.5, "ok": True}, "End": True},
    },
}

YAML = """
StartAt: Resize
States:
  Resize:
    Type: Task
    Resource: resize
    ResultPath: null
    Next: Done
  Done:
    Type: Pass
    Result: {at: 2016-03-14T01:59:00Z, n: 3, f: 0.5, ok: true}
    End: true
"""


def file_of(folder: Path, text: str, name: str = "flow.asl.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def refusal(folder: Path, text: str) -> Problem:
    path = file_of(folder, text)
    with pytest.raises(DefinitionError) as caught:
        Definition.from_asl_file(path)
    (problem,) = caught.value.problems
    return Problem(problem.path.removeprefix(str(path)), problem.message)


@pytest.mark.parametrize("name", ["flow.yaml", "flow.yml", "flow.asl.YAML"])
def test_yaml_says_the_same_as_json(tmp_path: Path, name: str) -> None:
    assert Definition.from_asl_file(file_of(tmp_path, YAML, name)) == Definition.from_asl(MACHINE)


def test_other_names_are_json(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match="expected JSON"):
        Definition.from_asl_file(file_of(tmp_path, YAML, "flow.asl"))


def test_anchors_and_merges_are_resolved(tmp_path: Path) -> None:
    text = "a: &base {x: 1, y: 2}\nb: {<<: *base, y: 3}\nc: {<<: [{z: 0}, *base, {z: 9}]}\nd: *base"
    read = json.loads(Definition.from_asl_file(file_of(tmp_path, text)).text)
    base = {"x": 1, "y": 2}
    assert read == {"a": base, "b": {"x": 1, "y": 3}, "c": {**base, "z": 0}, "d": base}


def test_keys_stay_text(tmp_path: Path) -> None:
    assert Definition.from_asl_file(file_of(tmp_path, "on: 1\n2: x")) == Definition.from_asl({"on": 1, "2": "x"})


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("a: 1\nb: 2\na: 3", ":3:1", '"a" occurs twice'),
        ("a: !Sub x", ":1:4", "!Sub"),
        ("a:\n  - !GetAtt F.Arn", ":2:5", "!GetAtt"),
        ("a: !!binary eA==", ":1:4", "!!binary"),
        ("a: &a [*a]", ":1:4", "no cycles"),
        ("a: {<<: 3}", ":1:9", "expected an object"),
        ("? [a]\n: 1", ":1:3", "text as key"),
        ("a: [", ":1:5", "expected YAML"),
        ("a: 1\n--- \nb: 2", ":2:1", "another document"),
        ("a: \x01", "", "expected YAML"),
        ("a: .inf", "", "expected a JSON number"),
    ],
)
def test_what_json_cannot_say_is_refused(tmp_path: Path, text: str, place: str, message: str) -> None:
    problem = refusal(tmp_path, text)
    assert message in problem.message
    assert problem.path in (place, "$.a")


def test_library_is_asked_for_where_it_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "yaml", None)
    assert "install unum-constructs[yaml]" in refusal(tmp_path, YAML).message
