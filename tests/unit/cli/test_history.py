"""``unum history`` against DynamoDB in this process."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.states_table import ADDRESS, states_table
from unum_compiler import compile_workflow
from unum_simulator.local import LocalWorkflow

DEFINITION = {
    "StartAt": "Each",
    "States": {
        "Each": {
            "Type": "Map",
            "ItemProcessor": {
                "StartAt": "Half",
                "States": {"Half": {"Type": "Task", "Resource": "half", "End": True}},
            },
            "Next": "Done",
        },
        "Done": {"Type": "Pass", "End": True},
    },
}


@pytest.fixture(autouse=True)
def executions(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A table with an execution that succeeded and one that failed."""
    with states_table(monkeypatch) as store:
        workflow = compile_workflow(DEFINITION, name="w", functions=None)
        local = LocalWorkflow(workflow, {"half": lambda event, _: event / 2}, store)
        local.run("good", [2])
        local.run("bad", ["two"])
        yield


@pytest.fixture
def definition(file: Callable[..., Path]) -> Path:
    return file("flow.asl.json", DEFINITION)


def test_a_table(unum: Any, definition: Path) -> None:
    ran = unum("history", "good", *ADDRESS, "--file", str(definition))
    heading, *rows = (line.split() for line in ran.out.splitlines())
    assert (ran.code, heading) == (0, ["ID", "PREVIOUS", "AFTER", "EVENT", "INDEX", "STATE", "ERROR"])
    assert rows[0] == ["1", "-", "0", "ms", "ExecutionStarted", "-", "-"]
    assert [row[4:] for row in rows if row[4].startswith(("Lambda", "MapIt"))] == [
        ["MapIterationStarted", "0", "Each"],
        ["LambdaFunctionScheduled", "0", "Half"],
        ["LambdaFunctionStarted", "0", "Half"],
        ["LambdaFunctionSucceeded", "0", "Half"],
        ["MapIterationSucceeded", "0", "Each"],
    ]
    (passed,) = (row for row in rows if row[4] == "PassStateExited")
    assert passed[2].startswith("~")
    failed = unum("history", "bad", *ADDRESS, "--file", str(definition)).out
    assert failed.splitlines()[-1].split()[-3:] == ["-", "-", "TypeError"]


def test_json_as_of_the_aws_command_line(unum: Any, definition: Path) -> None:
    ran = unum("history", "arn:aws:states:us-east-1:1:execution:w:good", *ADDRESS, "--file", str(definition), "--json")
    found = json.loads(ran.out)["events"]
    assert (found[0]["type"], found[0]["id"]) == ("ExecutionStarted", 1)
    assert found[0]["timestamp"] < found[-1]["timestamp"]
    assert found[-1]["executionSucceededEventDetails"]["output"] == "[1.0]"


def test_what_is_refused(unum: Any, definition: Path, file: Callable[..., Path]) -> None:
    ran = unum("history", "nobody", *ADDRESS, "--file", str(definition))
    assert (ran.code, ran.out) == (1, "")
    assert "workflow 'w' has no execution 'nobody'" in ran.err
    other = file("other.asl.json", {"StartAt": "P", "States": {"P": {"Type": "Pass", "End": True}}})
    ran = unum("history", "good", *ADDRESS, "--file", str(other))
    assert ran.code == 1
    assert "but this is version" in ran.err
    assert unum("history", "good", *ADDRESS, "--file", "nowhere.json").code == 2
    ran = unum("history", "good", *ADDRESS)
    assert (ran.code, ran.out) == (1, "")
    assert "found none: its retention has passed" in ran.err
    assert "--file FILE" in ran.err


def test_map_runs(unum: Any, definition: Path) -> None:
    ran = unum("map-runs", "good", *ADDRESS, "--file", str(definition))
    assert (ran.code, ran.out) == (0, "Each: SUCCEEDED, 1 in all: 1 succeeded\n")
    (run,) = json.loads(unum("map-runs", "bad", *ADDRESS, "--file", str(definition), "--json").out)
    assert (run["status"], run["items"]["failed"], run["items"]["total"]) == ("FAILED", 1, 1)
    assert unum("map-runs", "absent", *ADDRESS, "--file", str(definition)).code == 1
