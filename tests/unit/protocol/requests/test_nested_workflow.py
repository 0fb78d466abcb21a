"""What the start alias answers to whoever starts executions by name, with the state in memory."""

import json
from typing import Any

import pytest

from tests.unit.protocol.platform import Platform, chain
from unum_runtime.model.envelope import describe_request, register_request
from unum_runtime.protocol.delivery.start import resume
from unum_runtime.protocol.requests import start_alias


def fail(_event: Any) -> Any:
    raise ValueError("no such thing")


@pytest.fixture
def platform() -> Platform:
    return Platform.of(chain("A"), A=lambda event: {"a": event})


def ask(platform: Platform, event: dict[str, Any]) -> Any:
    assert start_alias.is_request(event)
    return json.loads(json.dumps(start_alias.answer(platform.runtime(), event)))


def registered(platform: Platform, text: str = '{"n": 1}') -> Any:
    return ask(platform, register_request("e", text))


def test_an_execution_is_noted_and_does_not_begin(platform: Platform) -> None:
    arn = platform.workflow.home.arn("execution:w:e")
    assert registered(platform) == {"ExecutionArn": arn, "StartDate": platform.clock.ms}
    assert platform.sent == []
    assert platform.ending() is None


def test_a_start_request_begins_what_was_noted_once(platform: Platform) -> None:
    registered(platform)
    for _ in range(2):
        resume(platform.runtime(), "e")
    platform.deliver_all()
    assert platform.calls == {"A": 1}


def test_the_same_name_and_input_are_the_same_execution(platform: Platform) -> None:
    first = registered(platform)
    platform.clock.pass_seconds(5)
    assert registered(platform, '{ "n" : 1 }') == first


def test_another_input_is_refused(platform: Platform) -> None:
    registered(platform)
    refused = registered(platform, '{"n": true}')
    assert refused["error"] == "ExecutionAlreadyExists"
    assert "another input" in refused["message"]


@pytest.mark.parametrize(
    ("name", "text", "error"),
    [
        ("a b", "1", "InvalidName"),
        ("a", "{", "InvalidExecutionInput"),
        ("a", "NaN", "InvalidExecutionInput"),
        ("a", json.dumps("x" * 400_000), "InvalidExecutionInput"),
    ],
)
def test_what_cannot_be_started_is_refused(platform: Platform, name: str, text: str, error: str) -> None:
    assert ask(platform, register_request(name, text))["error"] == error


def test_a_request_without_an_input_is_none(platform: Platform) -> None:
    assert ask(platform, {"$unum": 1, "register": "e"})["error"] == start_alias.INVALID_REQUEST


def test_an_execution_is_described_while_it_runs_and_when_it_has_succeeded(platform: Platform) -> None:
    begun = registered(platform)
    running = ask(platform, describe_request("e"))
    assert running == {
        **begun,
        "Name": "e",
        "StateMachineArn": platform.workflow.home.arn("stateMachine:w"),
        "Input": '{"n":1}',
        "InputDetails": {"Included": True},
        "Status": "RUNNING",
    }
    platform.clock.pass_seconds(2)
    resume(platform.runtime(), "e")
    assert ask(platform, describe_request("e")) == {
        **running,
        "Status": "SUCCEEDED",
        "StopDate": platform.clock.ms,
        "Output": '{"a":{"n":1}}',
        "OutputDetails": {"Included": True},
    }


def test_a_failure_is_described() -> None:
    platform = Platform.of(chain("A"), A=fail)
    registered(platform)
    resume(platform.runtime(), "e")
    description = ask(platform, describe_request("e"))
    assert (description["Status"], description["Error"]) == ("FAILED", "ValueError")
    assert "no such thing" in description["Cause"]
    assert "Output" not in description


def test_an_execution_that_there_is_not_is_told(platform: Platform) -> None:
    assert ask(platform, describe_request("e"))["error"] == "ExecutionDoesNotExist"
