"""``unum trace`` against DynamoDB in this process."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from tests.unit.cli.traces.collector import Collector, decoded, spans_of
from unum_cli.traces.exporter import PREFIX
from unum_compiler import compile_workflow
from unum_runtime.store.dynamodb import DynamoStore
from unum_simulator.local import LocalWorkflow

ADDRESS = ("--table", "states", "--workflow", "w")
HALF = {"StartAt": "Half", "States": {"Half": {"Type": "Task", "Resource": "half", "End": True}}}
DEFINITION = {"StartAt": "Each", "States": {"Each": {"Type": "Map", "ItemProcessor": HALF, "End": True}}}


@pytest.fixture(autouse=True)
def executions(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A table with an execution that succeeded and one that failed."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    for name in ("AWS_ENDPOINT_URL", "AWS_PROFILE", "AWS_REGION", f"{PREFIX}ENDPOINT", f"{PREFIX}HEADERS"):
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
        local = LocalWorkflow(workflow, {"half": lambda event, _: event / 2}, DynamoStore(client, "states"))
        local.run("good", [2])
        local.run("bad", ["two"])
        yield


@pytest.fixture
def parent(file: Callable[..., Path]) -> str:
    """A file with the definition of `p`, whose execution `e` has started the execution `good` of `w`."""
    parameters = {"StateMachineArn": "arn:aws:lambda:us-east-1:123456789012:function:f:start-w"}
    start = {
        "Type": "Task",
        "Resource": "arn:aws:states:::states:startExecution",
        "Parameters": parameters,
        "End": True,
    }
    definition = {"StartAt": "Start", "States": {"Start": start}}
    answer = {"ExecutionArn": "arn:aws:states:us-east-1:123456789012:execution:w:good", "StartDate": 1}
    client: Any = boto3.client("dynamodb")
    workflow = compile_workflow(definition, name="p", functions=None)
    LocalWorkflow(workflow, {"Start": lambda *_: answer}, DynamoStore(client, "states")).run("e", {})
    return str(file("parent.asl.json", definition))


@pytest.fixture
def definition(file: Callable[..., Path]) -> str:
    return str(file("flow.asl.json", DEFINITION))


def test_a_tree(unum: Any, definition: str) -> None:
    ran = unum("trace", "good", *ADDRESS, "--file", definition)
    title, headings, *rows = ran.out.splitlines()
    assert (ran.code, ran.err) == (0, "")
    assert title.endswith(" of w/good")
    assert headings.split() == ["SPAN", "BEGAN", "DURATION", "STATUS", "NOTES"]
    names = [re.split(r" {2,}(?=\d)", row)[0] for row in rows]  # times are as wide as the machine is slow
    assert [name for name in names if name.strip() not in ("queue", "cold start")] == [
        "w",
        "  Each",
        "    Each branch 0",
        "      Half",
        "        user code",
    ]
    assert "TypeError" in unum("trace", "bad", *ADDRESS, "--file", definition).out


def test_json_is_a_request_of_otlp(unum: Any, definition: str) -> None:
    ran = unum("trace", "arn:aws:states:us-east-1:1:execution:w:good", *ADDRESS, "--file", definition, "--json")
    assert [span.name for span in spans_of(decoded(json.loads(ran.out)))][:2] == ["w", "Each"]


def test_it_is_sent(unum: Any, definition: str, collector: Collector) -> None:
    ran = unum("trace", "good", *ADDRESS, "--file", definition, "--otlp", collector.url)
    trace_id, execution, count, word = ran.out.split()
    assert {span.trace_id.hex() for span in collector.spans} == {trace_id}
    assert (execution, int(count), word) == ("w/good", len(collector.spans), "spans")


def test_what_was_sent_as_json(unum: Any, definition: str, collector: Collector, monkeypatch: Any) -> None:
    monkeypatch.setenv(f"{PREFIX}ENDPOINT", collector.url)
    monkeypatch.setenv(f"{PREFIX}HEADERS", "x-tenant=7")
    ran = unum("trace", "bad", *ADDRESS, "--file", definition, "--json", "--otlp")
    (sent,) = json.loads(ran.out)["sent"]
    assert sent == {"traceId": collector.spans[0].trace_id.hex(), "execution": "bad", "spans": len(collector.spans)}
    assert collector.headers[0]["x-tenant"] == "7"


def test_without_the_option_nothing_is_sent(
    unum: Any, definition: str, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"{PREFIX}ENDPOINT", collector.url)
    assert unum("trace", "good", *ADDRESS, "--file", definition).code == 0
    assert collector.paths == []


def test_a_child_in_the_same_table_is_linked(unum: Any, parent: str, definition: str) -> None:
    ran = unum("trace", "e", "--table", "states", "--workflow", "p", "--file", parent, "--json")
    (link,) = (link for span in spans_of(decoded(json.loads(ran.out))) for link in span.links)
    child = json.loads(unum("trace", "good", *ADDRESS, "--file", definition, "--json").out)
    (root, *_) = spans_of(decoded(child))
    assert (link.trace_id, link.span_id) == (root.trace_id, root.span_id)
    assert ran.code == 0
    assert ran.err.startswith("w/good: left out: workflow 'w': expected the definition")


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("nobody",), 1, "workflow 'w' has no execution 'nobody'"),
        (("good",), 1, "`--file FILE`"),  # the table has no definitions
        (("--otlp", "good"), 2, "the following arguments are required: EXECUTION"),
        (("good", "--otlp", "good"), 2, "--otlp: expected a URL"),
    ],
)
def test_errors(unum: Any, arguments: tuple[str, ...], code: int, text: str) -> None:
    ran = unum("trace", *arguments, *ADDRESS)
    assert (ran.code, ran.out) == (code, "")
    assert text in ran.err


def test_a_refusal_of_the_collector_is_an_error(unum: Any, definition: str, collector: Collector) -> None:
    collector.answers.append((400, {}, '{"message": "no tenant"}'))
    ran = unum("trace", "good", *ADDRESS, "--file", definition, "--otlp", collector.url)
    assert (ran.code, ran.out) == (1, "")
    assert "expected the collector to accept the spans, got HTTP 400 Bad Request: no tenant" in ran.err
