"""``unum children`` against a table with one execution of a distributed Map."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from unum_compiler import compile_workflow
from unum_runtime.simulator.local import LocalWorkflow
from unum_runtime.store.dynamodb import DynamoStore

ADDRESS = ("--table", "states", "--workflow", "w")
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
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    for name in ("AWS_ENDPOINT_URL", "AWS_PROFILE", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    with mock_aws():
        client: Any = boto3.client("dynamodb")
        client.create_table(
            TableName="states",
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        )
        workflow = compile_workflow(DEFINITION, name="w", functions=None)
        halves = LocalWorkflow(workflow, {"half": lambda event, _: event / 2}, DynamoStore(client, "states"))
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
