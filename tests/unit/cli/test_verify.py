"""``unum verify`` against DynamoDB in this process."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from tests.unit.cli.states_table import ADDRESS, states_table
from unum_compiler import compile_workflow
from unum_simulator.local import LocalWorkflow

DEFINITION = {
    "StartAt": "Half",
    "States": {
        "Half": {"Type": "Task", "Resource": "half", "Next": "Again"},
        "Again": {"Type": "Task", "Resource": "half", "End": True},
    },
}


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A table with an execution that succeeded and one that failed."""
    with states_table(monkeypatch) as store:
        workflow = compile_workflow(DEFINITION, name="w", functions=None)
        local = LocalWorkflow(workflow, {"half": lambda event, _: event / 2}, store)
        local.run("good", 2)
        local.run("bad", "two")
        yield boto3.resource("dynamodb").Table("states")


@pytest.fixture
def definition(file: Callable[..., Path]) -> str:
    return str(file("flow.asl.json", DEFINITION))


def end_of(table: Any, name: str) -> Any:
    return next(
        each for each in table.scan()["Items"] if each["pk"].startswith(f"w/{name}:") and each["sk"] == "000000002"
    )


def test_histories_without_faults_exit_with_0(unum: Any, table: Any, definition: str) -> None:
    ran = unum("verify", "good", *ADDRESS, "--file", definition)
    assert (ran.code, ran.out, ran.err) == (0, "execution good: 3 commits, nothing is wrong\n", "")
    ran = unum("verify", "bad", *ADDRESS, "--file", definition, "--json")
    assert (ran.code, json.loads(ran.out)) == (0, {"name": "bad", "steps": 2, "faults": []})
    assert table.scan()["Items"]


def test_faults_are_told_with_place_and_remedy(unum: Any, table: Any, definition: str) -> None:
    end = end_of(table, "good")
    table.put_item(Item={**end, "ttl": 1})
    table.put_item(Item={**end, "sk": "000000003"})
    ran = unum("verify", "good", *ADDRESS, "--file", definition)
    assert ran.code == 1
    assert "faults in 4 commits" in ran.err
    assert "#2: expiry: expires " in ran.out
    assert "remedy: " in ran.out
    ran = unum("verify", "good", *ADDRESS, "--file", definition, "--json")
    faults = json.loads(ran.out)["faults"]
    assert ran.code == 1
    assert all(each.keys() == {"rule", "place", "found", "remedy"} for each in faults)
    assert "expiry" in {each["rule"] for each in faults}


def test_the_retention_may_be_given(unum: Any, table: Any, definition: str) -> None:
    for item in table.scan()["Items"]:
        if item["pk"].startswith("w/good:"):
            table.put_item(Item={**item, "ttl": int(item["at"]) // 1000 + 86_400})
    assert unum("verify", "good", *ADDRESS, "--file", definition).code == 1
    assert unum("verify", "good", *ADDRESS, "--file", definition, "--retention", "86400").code == 0


def test_what_cannot_be_verified_is_told(unum: Any, table: Any, definition: str) -> None:
    ran = unum("verify", "nobody", *ADDRESS, "--file", definition)
    assert (ran.code, ran.out) == (1, "")
    assert "has no execution 'nobody'" in ran.err
    ran = unum("verify", "good", *ADDRESS)
    assert ran.code == 1
    assert "definition: workflow 'w': expected the definition with digest" in ran.out
    assert unum("verify", "good", *ADDRESS, "--retention", "0").code == 2
    assert table.scan()["Items"]
