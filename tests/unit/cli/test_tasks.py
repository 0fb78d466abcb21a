"""Commands for task tokens, through the alias of a real workflow; a queue in moto."""

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from tests.unit.client.alias_caller import ALIAS, AliasCaller
from unum_cli.commands.stack import deployed
from unum_runtime.features.activities import Activities
from unum_runtime.functions.operations.caller import LambdaCaller
from unum_runtime.model.checkpoint import Failure, Success
from unum_runtime.model.envelope import with_alias

START = with_alias(ALIAS, "start-w")
WHERE = ("--start-alias", START, "--region", "us-east-1")


@pytest.fixture(autouse=True)
def entry(monkeypatch: pytest.MonkeyPatch) -> AliasCaller:
    """Return the function behind the start alias."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    for name in ("AWS_ENDPOINT_URL", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    found = AliasCaller.of_a_task_that_waits()
    monkeypatch.setattr(LambdaCaller, "call", lambda _self, address, payload: found.call(address, payload))
    return found


@pytest.fixture
def queue_url() -> Iterator[str]:
    with mock_aws():
        client: Any = boto3.client("sqs", region_name="us-east-1")
        yield client.create_queue(QueueName="work")["QueueUrl"]


def offer(queue_url: str, token: str, value: Any) -> None:
    client: Any = boto3.client("sqs", region_name="us-east-1")
    Activities(client, {"work": queue_url}).offer("work", token, value)


def test_success(unum: Any, entry: AliasCaller, file: Any) -> None:
    file("out.json", {"n": [1, None]})
    ran = unum("send-task-success", "--token", entry.begun(), "--output", "@out.json", *WHERE)
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    assert entry.outcome == Success({"n": [1, None]})


def test_failure(unum: Any, entry: AliasCaller) -> None:
    given = ("--task-token", entry.begun(), "--error", "Bad", "--cause", "because")
    ran = unum("send-task-failure", *given, *WHERE, "--json")
    assert (ran.code, json.loads(ran.out)) == (0, {})
    assert entry.outcome == Failure("Bad", "because")


def test_a_heartbeat_says_when_the_task_waits_no_longer(unum: Any, entry: AliasCaller) -> None:
    token = entry.begun()
    assert unum("send-task-heartbeat", "--token", token, *WHERE).code == 0
    assert entry.outcome is None
    unum("send-task-failure", "--token", token, *WHERE)
    ran = unum("send-task-heartbeat", "--token", token, *WHERE)
    assert ran.code == 1
    assert ran.err.startswith("TaskTimedOut: ")


def test_errors_have_the_names_of_the_client_s(unum: Any) -> None:
    ran = unum("send-task-success", "--token", "made up", "--output", "1", *WHERE)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("InvalidToken: ")


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("{", "--output: line 1, column 2: expected JSON"),
        ("NaN", "--output: "),
        ('"' + "x" * 380_000 + '"', "--output: expected JSON text of at most 380000 bytes"),
    ],
)
def test_output_that_is_none(unum: Any, entry: AliasCaller, output: str, said: str) -> None:
    ran = unum("send-task-success", "--token", entry.begun(), "--output", output, *WHERE)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(said)
    assert entry.outcome is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("send-task-heartbeat", "--token", "t"), "expected --stack STACK, or --start-alias ARN"),
        (
            ("get-activity-task", "work", "--start-alias", START),
            "--queue-url: expected the URL",
        ),
        (("send-task-success", "--token", "t"), "the following arguments are required: --output"),
    ],
)
def test_what_has_to_be_given(unum: Any, arguments: tuple[str, ...], said: str) -> None:
    ran = unum(*arguments, "--region", "us-east-1")
    assert ran.code == 2
    assert said in ran.err


def test_a_worker_takes_a_task(unum: Any, entry: AliasCaller, queue_url: str) -> None:
    offer(queue_url, entry.begun(), {"n": 1})
    ran = unum("get-activity-task", "work", "--queue-url", queue_url, "--worker-name", "me", *WHERE)
    assert ran.out.splitlines() == [f"token  {entry.tokens[0]}", 'input  {"n":1}']
    assert entry.requests[-1]["worker"] == "me"


def test_a_worker_takes_a_task_as_json(unum: Any, entry: AliasCaller, queue_url: str) -> None:
    offer(queue_url, entry.begun(), {"n": 1})
    ran = unum("get-activity-task", "work", "--queue-url", queue_url, *WHERE, "--json")
    assert json.loads(ran.out) == {"taskToken": entry.tokens[0], "input": '{"n":1}'}


def test_nothing_to_do(unum: Any, queue_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unum_client.task_responses.POLL_S", 0)
    ran = unum("get-activity-task", "work", "--queue-url", queue_url, *WHERE)
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.startswith("nothing to do in activity work")
    assert json.loads(unum("get-activity-task", "work", "--queue-url", queue_url, *WHERE, "--json").out) == {}


def test_a_stack_says_where_its_activities_are() -> None:
    outputs = {"FlowWorkflow": "w", "FlowTable": "t", "FlowStartAlias": START, "FlowRetention": "1"}
    assert deployed("S", outputs, None).activities == {}
    assert deployed("S", outputs | {"FlowActivities": '{"work": "url"}'}, "w").activities == {"work": "url"}
