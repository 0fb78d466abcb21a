"""Commands that do something to executions; the control alias is in this process."""

import json
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

import boto3
import pytest
from moto import mock_aws

from tests.unit.protocol.job_platform import watching
from tests.unit.protocol.map_platform import deliver_all, deployed, lose
from tests.unit.protocol.platform import Platform, chain
from unum_cli.aws.session import Session
from unum_cli.commands.control_command import last_errors
from unum_client.aws_connection import AwsConnection
from unum_client.control import Control
from unum_runtime.errors import ClientError
from unum_runtime.features.timers.sqs_timer import Delayed
from unum_runtime.model.checkpoint import Began
from unum_runtime.protocol.control import operator_requests, pausing
from unum_runtime.protocol.control.throttles import Throttle, note_throttle
from unum_runtime.protocol.requests.answers import refusal

CONTROL = "arn:aws:lambda:us-east-1:1:function:control"
ADDRESS = ("--table", "states", "--workflow", "w", "--control-alias", CONTROL, "--region", "us-east-1")


class Alias:
    """The control alias of the workflow on a platform."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    def call(self, address: str, payload: bytes) -> Any:
        assert address.startswith("alias:")
        event = json.loads(payload)
        try:
            if pausing.is_request(event):
                return pausing.answer(self._platform.runtime(), event)
            asked = operator_requests.parse(event)
            done = operator_requests.answer(self._platform.runtime(), asked, Began("v", {}))
            return done | {"on": "current", "reason": "both have the same definition"}
        except ClientError as error:
            return refusal(type(error).__name__, str(error))


@pytest.fixture
def platform(monkeypatch: pytest.MonkeyPatch) -> Platform:
    """A before B; the event for B of execution `lost` was lost, and B failed in `bad`."""
    made = deployed(chain("A", "B"), B=lambda event: 1 / event)
    made.start("lost", 1)
    lose(made, "B")
    made.start("bad", 0)
    deliver_all(made)
    monkeypatch.setattr(
        Control, "connect", lambda **_: Control(caller=Alias(made), control_alias="alias", workflow="w")
    )
    return made


def test_why_tells_what_is_missing_and_what_helps(unum: Callable[..., Any], platform: Platform) -> None:
    ran = unum("why", "lost", *ADDRESS)
    assert (ran.code, platform.sent) == (0, [])
    assert "B  lost:" in ran.out
    assert "waits for delivery, since" in ran.out
    assert "unum nudge lost" in ran.out
    shown = json.loads(unum("why", "lost", *ADDRESS, "--json").out)
    assert (shown["count"], shown["missing"][0]["state"], shown["missing"][0]["index"]) == (1, "B", [])
    assert "waits for nothing" in unum("why", "bad", *ADDRESS).out


def test_why_tells_of_an_event_that_waits_for_concurrency(unum: Callable[..., Any], platform: Platform) -> None:
    (step,) = [each for each in platform.steps("lost") if each.state == "A"]
    since_ms = platform.clock.ms - 7_200_000
    note_throttle(platform.runtime(), step.name.following, Throttle(since_ms, platform.clock.ms))
    reply = unum("why", "lost", *ADDRESS).out
    assert "waits for concurrency, since 20" in reply
    assert "raise the function's reserved concurrency or the account's limit" in reply
    (shown,) = json.loads(unum("why", "lost", *ADDRESS, "--json").out)["missing"]
    assert shown["waits_for"] == "delivery"
    assert datetime.fromisoformat(shown["throttled_since"]).timestamp() * 1000 == since_ms


def test_why_tells_of_a_job_by_what_it_is_asked_for(unum: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = watching()
    waiting.begun()
    monkeypatch.setattr(
        Control, "connect", lambda **_: Control(caller=Alias(waiting), control_alias="alias", workflow="w")
    )
    reply = unum("why", "e", *ADDRESS).out
    assert "waits for job whose next poll is due by 20" in reply
    assert "job: 1\n" in reply
    assert "unum nudge e polls at once" in reply
    (shown,) = json.loads(unum("why", "e", *ADDRESS, "--json").out)["missing"]
    assert (shown["waits_for"], shown["job"], shown["until"] > shown["since"]) == ("job", 1, True)
    waiting.later.clear()
    assert unum("nudge", "e", *ADDRESS).code == 0
    assert [event.job["handle"] for event in waiting.sent] == [1]


def test_nudge_sends_it(unum: Callable[..., Any], platform: Platform) -> None:
    assert unum("nudge", "lost", *ADDRESS).code == 0
    assert [event.state for event in platform.sent] == ["B"]


def test_redrive_and_fork(unum: Callable[..., Any], platform: Platform) -> None:
    assert "bad redriven at" in unum("redrive", "bad", *ADDRESS).out
    ran = unum("fork", "bad", *ADDRESS, "--from", "B", "--name", "better", "--input", "4", "--json")
    assert json.loads(ran.out)["name"] == "better"
    deliver_all(platform)
    ended = platform.ending("better")
    assert ended is not None
    assert ended.status == "SUCCEEDED"


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("redrive", "lost"), 1, "it is RUNNING"),
        (("why", "nowhere"), 1, "no execution 'nowhere'"),
        (("fork", "bad", "--from", "X", "--name", "n"), 1, "none of that name"),
        (("fork", "bad", "--from", "B", "--name", "not a name"), 2, "expected 1 to 80 characters"),
    ],
)
def test_what_cannot_be_done(
    unum: Callable[..., Any], platform: Platform, arguments: tuple[str, ...], code: int, says: str
) -> None:
    ran = unum(*arguments, *ADDRESS)
    assert (ran.code, platform.sent) == (code, [])
    assert says in ran.err


def test_pause_and_resume(unum: Callable[..., Any], platform: Platform, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AwsConnection, "open_stores", lambda *_: (platform.memory, None))
    shows = ("pause", "--show", *ADDRESS)
    assert unum(*shows).out == "w starts executions\n"
    ran = unum("pause", "--reason", "the \x1b[31msupplier is closed", *ADDRESS)
    assert ran.code == 0
    assert re.fullmatch(r"w starts no executions since \S+ \S+ UTC: the \\u001b\[31msupplier is closed\n", ran.out), (
        ran.out
    )
    assert "\x1b" not in ran.out
    assert unum(*shows).out == ran.out
    shown = json.loads(unum(*shows, "--json").out)
    assert (shown["workflow"], shown["pause"]["reason"]) == ("w", "the \x1b[31msupplier is closed")
    assert unum("resume", *ADDRESS).out == "w starts executions\n"
    assert json.loads(unum(*shows, "--json").out) == {"workflow": "w", "pause": None}
    assert unum("pause", "--reason", "", *ADDRESS).code == 1


def test_a_pause_needs_a_reason_or_shows_one(unum: Callable[..., Any]) -> None:
    assert unum("pause", *ADDRESS).code == 2
    assert unum("pause", "--reason", "r", "--show", *ADDRESS).code == 2
    assert unum("pause", "--reason", "r", "--table", "t", "--workflow", "w").code == 2
    assert unum("resume", "e", *ADDRESS).code == 2


def test_without_an_alias_it_asks_for_one(unum: Callable[..., Any]) -> None:
    ran = unum("nudge", "e", "--table", "t", "--workflow", "w")
    assert (ran.code, "--control-alias" in ran.err) == (2, True)


EVENT = {"$unum": 1, "workflow": "w", "ir": "x", "execution": ["e", 1], "frames": [], "step": 2, "state": "B"}
EVENT |= {"not_after": 1, "input": 1, "entered": 1}


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("is_scheduled", [False, True])
def test_events_that_waited_may_be_dead_letters(*, wrapped: bool, is_scheduled: bool) -> None:
    body = Delayed("arn:f", json.dumps(EVENT).encode(), 1).to_body()
    reply = {"ERROR_CODE": "AccessDenied", "ERROR_MESSAGE": "not allowed"} if is_scheduled else {}
    attributes = {name: {"DataType": "String", "StringValue": text} for name, text in reply.items()}
    with mock_aws():
        session = boto3.Session(region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test")
        queues = session.client("sqs")
        url = queues.create_queue(QueueName="letters")["QueueUrl"]
        letter = json.dumps({"MessageBody": body, "QueueUrl": "timer"}) if wrapped else body
        queues.send_message(QueueUrl=url, MessageBody=letter, MessageAttributes=attributes)  # type: ignore[arg-type]
        error = last_errors(Session(None, "us-east-1"), url)["e:1#2"]
    assert error == "AccessDenied: not allowed" if is_scheduled else "not delivered to arn:f" in error


def test_dead_letters_tell_the_last_error_and_stay() -> None:
    event = EVENT
    report = {"errorType": "StoreError", "errorMessage": "throttled"}
    letter = {"requestPayload": {"requestPayload": event}, "responsePayload": report}
    with mock_aws():
        session = boto3.Session(region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test")
        queues = session.client("sqs")
        url = queues.create_queue(QueueName="letters")["QueueUrl"]
        newer = letter | {"requestPayload": {"requestPayload": event | {"$unum": 99}}}
        broken = letter | {"requestPayload": {"requestPayload": {"$unum": 1, "workflow": "w", "frames": 5}}}
        for other in ("no JSON", "[" * 99_999, json.dumps(newer), json.dumps(broken)):
            queues.send_message(QueueUrl=url, MessageBody=other)
        queues.send_message(QueueUrl=url, MessageBody=json.dumps(letter))
        assert last_errors(Session(None, "us-east-1"), url) == {"e:1#2": "StoreError: throttled"}
        attributes = queues.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
        assert attributes["ApproximateNumberOfMessagesNotVisible"] == "5"
        assert last_errors(Session(None, "us-east-1"), f"{url}-other") == {}
    assert last_errors(Session(None, "us-east-1"), None) == {}
