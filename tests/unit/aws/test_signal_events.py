"""The alias for signals of event sources, which read no answer: forged events become dead letters, and nothing else."""

from typing import Any

import boto3
import pytest

from tests.unit.aws.control_platform import CONTROL, Context, Deployed, at, deployed
from tests.unit.aws.test_dead_letters import REASON, Letters, failed, letters
from unum_runtime.errors import SignalRefused
from unum_runtime.features.signals import signal, signal_by_key
from unum_runtime.functions.operations import control_entry, control_requests

__all__ = ["deployed", "letters"]  # the fixtures

ALIAS = "signal-events-Flow"
BY_KEY = signal_by_key.request("go", "7", {"cents": 1}, id="event-1")


def hear(deployed: Deployed, event: Any) -> Any:
    deployed.functions.use("control")
    return control_entry.handle(event, Context(f"{CONTROL}:{ALIAS}", "1"))


@pytest.mark.parametrize(
    "event",
    [
        None,
        [],
        {"detail": {"order": 7}, "id": "event-1"},
        {"Records": [{"eventSource": "aws:sqs", "body": "{}"}]},
        {"$unum": 1, "control": "stop", "execution": "e"},
        {"$unum": 1, "control": "sweep", "silent_ms": 1, "nudge": True},
        {"$unum": 1, "start": "f", "input": 1},
        {"$unum": 1, "workflow": "Flow", "execution": ["e", 1], "state": "B"},
        {**BY_KEY, "key": None},
        {**BY_KEY, "key": True},
        {**BY_KEY, "key": {"a": 1}},
        {**BY_KEY, "phase": "left"},
        {name: value for name, value in BY_KEY.items() if name != "key"},
        signal.request("never", "go", 1, id="event-1"),
    ],
)
def test_what_is_no_signal_is_an_error_and_changes_nothing(deployed: Deployed, event: Any) -> None:
    deployed.begun()
    deployed.functions.sent()
    before = boto3.client("dynamodb").scan(TableName="state")["Items"]
    with pytest.raises(SignalRefused):
        hear(deployed, event)
    assert deployed.functions.sent() == []
    assert boto3.client("dynamodb").scan(TableName="state")["Items"] == before


def test_refusals_that_are_answers_would_be_noticed(deployed: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken variant: Lambda drops the answer to an event, and nobody knows of the signal."""
    monkeypatch.setattr(control_entry, "_hear", control_requests.answer)
    with pytest.raises(pytest.fail.Exception):
        test_what_is_no_signal_is_an_error_and_changes_nothing(deployed, signal.request("never", "go", 1, id="1"))


def test_a_number_is_the_key_of_its_digits(deployed: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[Any] = []

    def take(event: Any, _context: Any) -> Any:
        heard.append(event)
        return {"is_new": True}

    monkeypatch.setattr(control_requests, "answer", take)
    assert hear(deployed, {**BY_KEY, "key": 7}) == {"is_new": True}
    assert heard == [BY_KEY]


def test_a_refused_signal_is_tried_again_by_sweeps_and_stays_a_letter(letters: Letters) -> None:
    called: list[Any] = []
    accepts = False

    def invoke(**parameters: Any) -> Any:
        called.append(parameters["FunctionName"])
        return {"Payload": _Bytes()} if accepts else {"FunctionError": "Unhandled", "Payload": _Bytes()}

    letters.invoke = invoke
    letters.put(failed(BY_KEY, REASON, address=at("control", ALIAS)))
    assert letters.round() == ["dead letter"]
    assert letters.visible == 1
    accepts = True
    assert letters.round(after_s=3_600) == ["letter retried"]
    assert (letters.visible, called) == (0, [at("control", ALIAS)] * 2)


class _Bytes:
    """The payload of an answer."""

    def read(self) -> bytes:
        return b'{"errorType": "SignalRefused", "errorMessage": "it has ended"}'
