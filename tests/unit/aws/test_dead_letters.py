"""Dead letters: which are tried again and when, which go, and which stay visible; queue and table are in moto."""

import io
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import boto3
import pytest

from tests.unit.aws.control_platform import ACCOUNT, Context, Deployed, at, deployed
from tests.unit.aws.forwarding import MACHINERY, ROLE
from unum_runtime.aws.senders import Senders
from unum_runtime.functions import configuration, runtime_factory
from unum_runtime.functions.definitions import NO_DEFINITION
from unum_runtime.functions.operations import dead_letters, failure_function, remote_intake, runtime_in_place
from unum_runtime.functions.operations.caller import LambdaCaller
from unum_runtime.functions.operations.dead_letters import (
    DAY_MS,
    HOUR_MS,
    DeadLetter,
    FailureQueue,
    Postman,
    is_due,
    try_all,
)
from unum_runtime.model.checkpoint import Status
from unum_runtime.model.take_over_request import TakeOver
from unum_runtime.protocol.control import pausing
from unum_runtime.protocol.control.sweep import ABANDONED, Sweep
from unum_runtime.protocol.runtime import DEADLINE_MARGIN_S, Runtime

__all__ = ["deployed"]  # the fixture

DIED = {"errorType": "Runtime.ExitError", "errorMessage": "died"}
REASON = {"errorType": "StoreError", "errorMessage": "the table did not answer"}
RETENTION_S = 604_800

_receive = FailureQueue.receive


@dataclass
class Clock:
    """The time, some while later."""

    later_ms: int = 0

    def now_ms(self) -> int:
        return int(time.time() * 1000) + self.later_ms


@dataclass
class Letters:
    """A failure queue, and sweeps that look at it."""

    deployed: Deployed
    url: str
    clock: Clock = field(default_factory=Clock)
    called: list[Any] = field(default_factory=list)
    logged: list[tuple[str, Any]] = field(default_factory=list)
    asked: list[tuple[str, TakeOver]] = field(default_factory=list)
    senders: dict[str, str] = field(default_factory=dict)
    is_own: Callable[[str], bool] = bool

    def invoke(self, **parameters: Any) -> Any:
        """As Lambda does for who waits: an error of the function is an answer."""
        address, event = parameters["FunctionName"], json.loads(parameters["Payload"])
        self.called.append(event)
        try:
            failure_function.handle(event, Context(address, address.rpartition(":")[2]))
        except Exception as error:  # noqa: BLE001 - as Lambda
            answer = {"errorType": type(error).__name__, "errorMessage": str(error)}
            return {"FunctionError": "Unhandled", "Payload": io.BytesIO(json.dumps(answer).encode())}
        return {"Payload": io.BytesIO(b"null")}

    def ask(self, address: str, request: TakeOver) -> None:
        self.asked.append((address, request))

    def put(self, letter: Any, *, sender: str = f"{MACHINERY}:on-failure") -> None:
        boto3.client("sqs").send_message(QueueUrl=self.url, MessageBody=json.dumps(letter))
        self.senders[json.dumps(letter)] = sender

    def receive(self) -> Iterator[list[DeadLetter]]:
        """Letters with their senders: moto knows one sender."""
        for batch in _receive(FailureQueue(boto3.client("sqs"), self.url)):
            yield [each._replace(sender=self.senders[each.body]) for each in batch]

    def round(self, *, after_s: float = 0, left_ms: int = 300_000) -> list[str]:
        """One sweep's look at the dead letters, some time after the last; what the log says."""
        self.clock.later_ms += round(after_s * 1000)
        self.logged.clear()
        rt = replace(self.runtime(), remaining_ms=lambda: left_ms)
        index, queue = runtime_factory.index_of("Flow"), FailureQueue(boto3.client("sqs"), self.url)
        vars(queue)["receive"] = self.receive
        senders = Senders(workflow="Flow", trusted=frozenset({MACHINERY}), edges={})
        parts = LambdaCaller(self).call, lambda _: RETENTION_S, senders
        postman = Postman(rt, index, *parts, self.ask, f"{ACCOUNT}:remote", is_own=self.is_own)
        try_all({"Flow": postman}, queue)
        return [message for message, _ in self.logged]

    def runtime(self) -> Runtime:
        context = Context(at("on-failure", 1), "1")
        own = configuration.services()["Flow"]
        rt = runtime_in_place.runtime_of("Flow", own, at("on-failure", 1), context, NO_DEFINITION)
        return replace(rt, clock=self.clock, log=self._log)

    def _log(self, message: str, /, **fields: Any) -> None:
        self.logged.append((message, fields))

    @property
    def visible(self) -> int:
        """Return messages counted by the alarm."""
        asked = boto3.client("sqs").get_queue_attributes(QueueUrl=self.url, AttributeNames=["All"])
        return int(asked["Attributes"]["ApproximateNumberOfMessages"])

    @property
    def hidden(self) -> int:
        asked = boto3.client("sqs").get_queue_attributes(QueueUrl=self.url, AttributeNames=["All"])
        return int(asked["Attributes"]["ApproximateNumberOfMessagesNotVisible"])


@pytest.fixture
def letters(deployed: Deployed, monkeypatch: pytest.MonkeyPatch) -> Letters:
    monkeypatch.setattr("unum_runtime.functions.operations.dead_letters._WAIT_S", 0)
    deployed.begun()
    return Letters(deployed, boto3.client("sqs").create_queue(QueueName="failures")["QueueUrl"])


def event_for_b(letters: Letters) -> Any:
    letters.deployed.client.nudge("e")
    ((_, event),) = letters.deployed.functions.sent()
    return event


def failed(event: Any, error: Any = DIED, *, address: str | None = None) -> Any:
    """Return Lambda's record of a failed `event`."""
    context = {"requestId": "r", "functionArn": address or at("B", 1), "condition": "RetriesExhausted"}
    return {"requestContext": context, "requestPayload": event, "responsePayload": error, "responseContext": {}}


def letter(event: Any, error: Any = DIED, **more: Any) -> Any:
    """The dead letter of the failure handler that could not process the record of `event`."""
    return failed(failed(event, error), REASON, address=more.get("handler", at("on-failure", 1)))


def status(letters: Letters) -> Status:
    return letters.deployed.client.describe("e").status


def test_a_letter_is_tried_again_and_its_execution_goes_on(letters: Letters) -> None:
    letters.put(letter(event_for_b(letters)))
    assert letters.round() == ["letter retried"]
    assert (letters.visible, letters.hidden) == (0, 0)
    assert letters.deployed.client.describe("e").error == "Runtime.ExitError"


def test_letters_that_are_never_tried_would_be_noticed(letters: Letters, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dead_letters, "is_due", lambda *_: False)
    with pytest.raises(AssertionError):
        test_a_letter_is_tried_again_and_its_execution_goes_on(letters)


def test_what_the_remote_intake_could_not_hand_on_goes_to_it_again(
    letters: Letters, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lambda's record names it with a qualifier that IAM denies."""
    record = failed(event_for_b(letters))
    letters.put(failed(record, REASON, address=f"{ACCOUNT}:remote:{dead_letters.UNPUBLISHED}"))
    monkeypatch.setenv(remote_intake.INTAKE, at("on-failure", 1))
    monkeypatch.setattr(remote_intake, "lambda_client", lambda: letters.deployed.functions)
    called = []

    def invoke(_: Letters, **parameters: Any) -> Any:
        called.append(parameters["FunctionName"])
        remote_intake.handle(json.loads(parameters["Payload"]), None)
        return {"Payload": io.BytesIO(b"null")}

    monkeypatch.setattr(Letters, "invoke", invoke)
    assert letters.round() == ["letter retried"]
    assert called == [f"{ACCOUNT}:remote"]
    ((address, sent),) = letters.deployed.functions.sent()
    assert (address, sent["responsePayload"]) == (at("on-failure", 1), DIED)
    assert letters.visible == 0


@pytest.mark.parametrize("wrap", [lambda body: body, lambda body: {"MessageBody": json.dumps(body), "QueueUrl": "q"}])
def test_a_delayed_event_that_nobody_took_is_sent_to_its_function(letters: Letters, wrap: Any) -> None:
    event = event_for_b(letters)
    letters.put(wrap({"address": at("B", 1), "due_ms": 1, "event": event}))
    assert letters.round() == ["letter retried"]
    ((address, sent),) = letters.deployed.functions.sent()
    assert (address, {name: sent[name] for name in event}) == (at("B", 1), event)
    assert letters.visible == 0


def test_what_fails_again_stays_visible_with_its_reason(letters: Letters) -> None:
    letters.put(letter({**event_for_b(letters), "workflow": "Unheard"}))
    assert letters.round() == ["dead letter"]
    assert "got 'Unheard'" in letters.logged[0][1]["reason"]
    assert (letters.visible, letters.hidden) == (1, 0)


@pytest.mark.parametrize("error", ["ValidationException", "ExecutionAlreadyExists"])
def test_refused_start_stays_and_is_never_tried_again(letters: Letters, error: str) -> None:
    start = {"requestContext": {"functionArn": at("A", "run-Flow")}, "requestPayload": {"foo": 1}}
    context = {"functionArn": at("on-failure", "start-intake-Flow")}
    answer = {"errorType": error, "errorMessage": "nothing was started"}
    letters.put({"requestContext": context, "requestPayload": start, "responsePayload": answer})
    for hours in (0, 1, 24):
        assert letters.round(after_s=hours * 3600) == ["dead letter"]
    assert (letters.called, letters.visible) == ([], 1)


def test_it_is_tried_each_hour_and_later_each_day(letters: Letters) -> None:
    letters.put(letter({**event_for_b(letters), "workflow": "Unheard"}))
    tried = []
    for hour in range(5 * 24):
        before = len(letters.called)
        assert letters.round(after_s=3_600 if hour else 0) == ["dead letter"]
        tried += [hour] if len(letters.called) > before else []
    assert tried == [*range(12), 24, 48, 72, 96]


def test_after_a_pause_the_next_sweep_tries_every_letter(letters: Letters) -> None:
    letters.put(letter({**event_for_b(letters), "workflow": "Unheard"}))
    for _ in range(30):
        letters.round(after_s=3_600)
    tried = len(letters.called)
    letters.round(after_s=60)
    assert len(letters.called) == tried, "a letter of yesterday waits for its day"
    rt = letters.runtime()
    pausing.answer(rt, pausing.request("pause", reason="why not"))
    letters.round(after_s=60)
    assert len(letters.called) == tried
    pausing.answer(rt, pausing.request("resume"))
    letters.round(after_s=60)
    assert len(letters.called) == tried + 1


def test_letters_that_stay_hidden_would_be_noticed(letters: Letters, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FailureQueue, "show", lambda *_: None)
    with pytest.raises(AssertionError):
        test_what_fails_again_stays_visible_with_its_reason(letters)


@pytest.mark.parametrize(
    ("since_ms", "before_ms", "now_ms", "due"),
    [
        (0, -1, 0, True),
        (0, 0, HOUR_MS - 1, False),
        (0, HOUR_MS - 1, HOUR_MS, True),
        (0, 0, DAY_MS // 2, True),
        (0, DAY_MS // 2, DAY_MS - 1, False),
        (0, DAY_MS - 1, DAY_MS, True),
        (0, DAY_MS, 7 * DAY_MS, True),
        (5 * HOUR_MS, 0, 5 * HOUR_MS, True),
    ],
)
def test_when_a_letter_is_due(since_ms: int, before_ms: int, now_ms: int, due: bool) -> None:  # noqa: FBT001 - of a table
    assert is_due(since_ms, before_ms, now_ms) is due


@pytest.mark.parametrize("make", [letter, lambda event: {"address": at("B", 1), "due_ms": 1, "event": event}])
def test_when_its_execution_has_ended_a_letter_goes_untried(letters: Letters, make: Any) -> None:
    letters.put(make(event_for_b(letters)))
    letters.deployed.client.stop("e")
    letters.round()
    assert (letters.visible, letters.called, letters.deployed.functions.sent()) == (0, [], [])


def test_when_its_execution_is_gone_a_letter_goes_untried(letters: Letters) -> None:
    event = event_for_b(letters)
    letters.put(letter({**event, "execution": ["gone", event["execution"][1]]}))
    letters.put(letter({**event, "execution": ["e", event["execution"][1] - 1]}))
    letters.round()
    assert (letters.visible, letters.called) == (0, [])
    assert status(letters) is Status.RUNNING


def test_execution_is_abandoned_after_its_last_moment_and_the_letter_goes(letters: Letters) -> None:
    letters.put(letter(event_for_b(letters)))
    assert letters.round(after_s=RETENTION_S - DEADLINE_MARGIN_S + 1)[0] == "abandoned"
    assert (letters.visible, letters.called) == (0, [])
    described = letters.deployed.client.describe("e")
    assert (described.status, described.error) == (Status.ABORTED, ABANDONED)


def test_letters_tried_after_the_last_moment_would_be_noticed(
    letters: Letters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dead_letters, "is_over", lambda *_: False)
    with pytest.raises(AssertionError):
        test_execution_is_abandoned_after_its_last_moment_and_the_letter_goes(letters)


def test_a_sweep_that_failed_needs_no_letter_after_the_next(letters: Letters) -> None:
    request = Sweep(silent_ms=1, nudges=True).to_json()
    letters.put(failed(request, REASON, address=at("control", "sweep-Flow")))
    letters.round()
    assert (letters.visible, letters.called) == (0, [])


@pytest.mark.parametrize("body", [{}, [], 1, {"address": 1}, {"requestContext": {}}, {"MessageBody": "no JSON"}])
def test_unreadable_letter_stays_and_keeps_no_other_from_being_tried(letters: Letters, body: Any) -> None:
    letters.put(body)
    letters.put(letter(event_for_b(letters)))
    assert sorted(letters.round()) == ["dead letter", "letter retried"]
    assert (letters.visible, letters.hidden) == (1, 0)


@pytest.mark.parametrize("handler", [at("on-failure", "control-Flow"), at("on-failure", "$LATEST"), ACCOUNT])
def test_nothing_but_a_version_is_called(letters: Letters, handler: str) -> None:
    letters.put(letter(event_for_b(letters), handler=handler))
    assert letters.round() == ["dead letter"]
    assert letters.called == []


def test_redeliveries_count_anew_and_another_letter_is_no_younger(letters: Letters) -> None:
    given = {**event_for_b(letters), "redelivered": 5}
    letters.put(letter(given, {"errorType": "StoreError", "errorMessage": "no answer"}))
    assert letters.round() == ["letter retried"]
    ((address, event),) = letters.deployed.functions.sent()
    assert (address, event["redelivered"]) == (at("B", 1), 1)
    assert event["dead_since"] <= letters.clock.now_ms()
    first_ms = event["dead_since"] - 5 * DAY_MS
    letters.put(letter({**event, "workflow": "Unheard", "dead_since": first_ms}))
    assert [letters.round(after_s=seconds) for seconds in (0, 3_600, 3_600)] == [["dead letter"]] * 3
    assert letters.logged[0][1]["since_ms"] == first_ms
    assert len(letters.called) == 1, "five days old, so the letter is tried by the day"


def test_letters_beyond_one_batch_are_all_looked_at(letters: Letters) -> None:
    event = event_for_b(letters)
    for number in range(25):
        letters.put(letter({**event, "workflow": f"Unheard{number}"}))
    assert letters.round() == ["dead letter"] * 25
    assert letters.visible == 25


def test_letters_for_which_no_time_was_left_are_tried_by_the_next_sweep(letters: Letters) -> None:
    event = event_for_b(letters)
    for number in range(3):
        letters.put(letter({**event, "workflow": f"Unheard{number}"}))
    letters.round(left_ms=0)
    assert len(letters.called) == 1
    assert letters.visible == 3
    letters.round()
    assert {called["requestPayload"]["workflow"] for called in letters.called} == {f"Unheard{n}" for n in range(3)}


def test_a_sweep_of_the_schedule_tries_them(
    letters: Letters, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("unum_runtime.functions.operations.function_versions.dead_letter_client", lambda: letters)
    letters.put(letter(event_for_b(letters)))
    monkeypatch.setattr(FailureQueue, "receive", lambda queue: letters.receive() if queue.url == letters.url else ())
    monkeypatch.setenv("UNUM_SENDERS", json.dumps({"workflow": "Flow", "trusted": [MACHINERY]}))
    request = Sweep(silent_ms=10**9, nudges=True, letters=letters.url).to_json()
    capsys.readouterr()
    LambdaCaller(letters.deployed.functions).call(at("control", "sweep-Flow"), json.dumps(request).encode())
    lines = {line["message"]: line for line in map(json.loads, capsys.readouterr().out.splitlines())}
    assert lines["letter retried"]["LettersRetried"] == 1
    assert letters.visible == 0


def test_a_delayed_event_of_a_function_goes_where_its_role_may_send_it(letters: Letters) -> None:
    event = event_for_b(letters)
    letters.put({"address": at("B", 1), "due_ms": 1, "event": event}, sender=f"{ROLE}:B")
    assert letters.round() == ["letter retried"]
    assert len(letters.deployed.functions.sent()) == 1
    assert letters.asked == []


@pytest.mark.parametrize("origin", ["", f"{MACHINERY}:on-failure", f"{ROLE}:B"])
def test_any_other_event_of_a_function_is_named_to_the_intake(letters: Letters, origin: str) -> None:
    event = event_for_b(letters)
    letters.put({"address": at("B", 1), "due_ms": 1, "event": event, "origin": origin}, sender=f"{ROLE}:A")
    assert letters.round() == ["letter retried"]
    ((address, request),) = letters.asked
    assert (address, request.state, request.address) == (at("B", 1), "B", at("B", 1))
    assert letters.deployed.functions.sent() == []


def test_what_the_machinery_sent_again_is_its_first_senders(letters: Letters) -> None:
    body = {"address": at("B", 1), "due_ms": 1, "event": event_for_b(letters), "origin": f"{ROLE}:A"}
    letters.put(body, sender=f"{MACHINERY}:schedule")
    letters.round()
    assert len(letters.asked) == 1


@pytest.mark.parametrize("wrap", [lambda body: body, lambda body: {"MessageBody": json.dumps(body), "QueueUrl": "q"}])
def test_a_failure_record_of_another_sender_is_never_delivered(letters: Letters, wrap: Any) -> None:
    letters.put(wrap(letter({"$unum": 1, "control": "stop", "execution": "e"})), sender=f"{ROLE}:B")
    assert letters.round() == ["dead letter"]
    assert (letters.called, letters.asked, letters.visible) == ([], [], 1)
    assert "has sent a failure record" in letters.logged[0][1]["reason"]
    assert status(letters) is Status.RUNNING


def test_a_record_of_anybody_that_is_believed_would_be_noticed(
    letters: Letters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Senders, "trusts", lambda *_: True)
    with pytest.raises(AssertionError):
        test_a_failure_record_of_another_sender_is_never_delivered(letters, lambda body: body)


def test_a_refused_message_stays_with_its_reason(letters: Letters) -> None:
    letters.put({"refused": "no JSON", "sender": f"{ROLE}:B", "body": "x"}, sender=f"{MACHINERY}:forwarder")
    assert letters.round() == ["dead letter"]
    assert "no JSON" in letters.logged[0][1]["reason"]
    assert letters.visible == 1


def test_letter_of_another_workflows_function_stays_untried(letters: Letters) -> None:
    """Workflows may share the queue; a function of one sends to its timer queue, and SQS moves what nobody takes."""
    letters.is_own = lambda sender: sender == f"{ROLE}:B"
    event = event_for_b(letters)
    letters.put({"address": at("B", 1), "due_ms": 1, "event": event}, sender=f"{ROLE}:Stranger")
    letters.put({"address": at("A", 1), "due_ms": 1, "event": event}, sender=f"{ROLE}:B")
    letters.round()
    assert [address for address, _ in letters.asked] == [at("A", 1)]
    assert letters.visible == 1
    assert f"{ROLE}:Stranger has sent it" in str(letters.logged)
