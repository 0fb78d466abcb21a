"""``unum children`` against a table with one execution of a distributed Map."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.states_table import ADDRESS, states_table
from unum_compiler import compile_workflow
from unum_simulator.local import LocalWorkflow

HALF = {"StartAt": "Half", "States": {"Half": {"Type": "Task", "Resource": "half", "End": True}}}
EACH = {
    "Type": "Map",
    "ItemProcessor": {"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}, **HALF},
    "ToleratedFailureCount": 1,
    "End": True,
}
DEFINITION = {"StartAt": "Each", "States": {"Each": EACH}}


@pytest.fixture(autouse=True)
def execution(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with states_table(monkeypatch) as store:
        workflow = compile_workflow(DEFINITION, name="w", functions=None)
        halves = LocalWorkflow(workflow, {"half": lambda event, _: event / 2}, store)
        halves.run("good", [2, "two"])
        yield


@pytest.fixture
def definition(file: Callable[..., Path]) -> Path:
    return file("flow.asl.json", DEFINITION)


def test_children_are_listed(unum: Any, definition: Path) -> None:
    listed = unum("children", "good", *ADDRESS, "--file", str(definition)).out.splitlines()
    assert [line.split("  ", 1)[1].partition(":")[0] for line in listed] == ["Each[0]  SUCCEEDED", "Each[1]  FAILED"]
    assert "TypeError" in listed[1]


def test_one_child_is_described_with_its_steps(unum: Any, definition: Path) -> None:
    found = json.loads(unum("children", "good", *ADDRESS, "--file", str(definition), "--json").out)
    assert [(child["index"], child["input"], child["output"]) for child in found] == [([0], 2, 1.0), ([1], "two", None)]
    name = found[0]["name"]
    shown = unum("children", "good", *ADDRESS, "--file", str(definition), "--child", name).out
    assert shown.startswith(f"{name}  Each[0]  SUCCEEDED\n")
    assert "input    2\noutput   1.0\n" in shown
    assert "Half  SUCCEEDED" in shown
    (step,) = json.loads(unum("children", "good", *ADDRESS, "--file", str(definition), "--child", name, "--json").out)[
        "steps"
    ]
    assert step["state"] == "Half"


def test_an_unknown_child_is_an_error(unum: Any, definition: Path) -> None:
    ran = unum("children", "good", *ADDRESS, "--file", str(definition), "--child", "absent")
    assert ran.code == 1
    assert "--child: expected one of 2 begun child executions, got 'absent'" in ran.err


def test_a_child_is_described_and_its_history_shown_by_its_arn(unum: Any, definition: Path) -> None:
    first, second = unum("children", "good", *ADDRESS, "--file", str(definition)).out.splitlines()
    arn = "arn:aws:states:us-east-1:123456789012:execution:w/Each"
    events = unum("history", f"{arn}:{second.split()[0]}", *ADDRESS, "--file", str(definition)).out
    assert "ExecutionFailed" in events.splitlines()[-1]
    # No definition is stored by local runs, and `describe` takes none.
    missing = unum("describe", f"{arn}:{first.split()[0]}", *ADDRESS)
    assert (missing.code, "definition" in missing.err) == (1, True)
    assert unum("describe", f"{arn}:{first.split()[0]}", *ADDRESS, "--receipt").code == 2
    unknown = unum("describe", f"{arn}:29d9d883-7fbd-8321-8c59-26bf12920333", *ADDRESS)
    assert (unknown.code, "has no child execution" in unknown.err) == (1, True)
