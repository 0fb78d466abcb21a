"""Events that Lambda gave up for lack of concurrency go on while their executions have time; the table is in moto."""

import json
from typing import Any

import pytest

from tests.unit.aws.failure_platform import DIED, Deployed, at, record
from tests.unit.protocol.platform import Platform, chain
from unum_runtime.cold_start.records import replace
from unum_runtime.errors import InvokeError, LeaseHeldError
from unum_runtime.features.timers import waiter
from unum_runtime.features.timers.waiter import wait_for_result
from unum_runtime.functions.operations import failure_function, throttled_events
from unum_runtime.functions.operations.failure_function import THROTTLED, GivenUp
from unum_runtime.functions.operations.throttled_events import KEPT_MS, LEAST_MS, MOST_MS
from unum_runtime.model.checkpoint import Ending, Failure, Status, Success
from unum_runtime.model.envelope import Envelope
from unum_runtime.protocol.control.nudge import missing, nudge
from unum_runtime.protocol.control.operator_requests import Control, answer, parse, request
from unum_runtime.protocol.control.stop import stop
from unum_runtime.protocol.control.throttles import Throttle, note_throttle
from unum_runtime.protocol.runtime import NoTimer

Json = Any
HOUR_MS = 3_600_000
AGED = {"condition": "EventAgeExceeded", "approximateInvokeCount": 0}
ZERO = {"condition": "ZeroReservedConcurrency", "approximateInvokeCount": 0}
THREE = {"condition": "RetriesExhausted", "approximateInvokeCount": 3}
RAN = {"statusCode": 200, "executedVersion": "7", "functionError": "Unhandled"}
RULES = {
    "Retry": [{"ErrorEquals": ["States.ALL"], "MaxAttempts": 3}],
    "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "C"}],
}


@pytest.mark.parametrize(
    ("context", "more", "expected"),
    [
        (AGED, {}, True),
        (ZERO, {}, True),
        (AGED, {"responseContext": {"statusCode": 429, "executedVersion": None, "functionError": None}}, True),
        (AGED, {"responseContext": {"statusCode": 429}, "responsePayload": {"errorMessage": "Rate Exceeded."}}, True),
        ({**AGED, "condition": "RetriesExhausted"}, {}, True),
        ({**ZERO, "approximateInvokeCount": 1}, {"responseContext": RAN, "responsePayload": DIED}, True),
        ({**AGED, "approximateInvokeCount": 1}, {"responseContext": RAN, "responsePayload": DIED}, False),
        ({**AGED, "approximateInvokeCount": 1}, {"responseContext": RAN}, False),
        ({**AGED, "approximateInvokeCount": 1}, {"responseContext": {"statusCode": 502}}, False),
        ({**AGED, "approximateInvokeCount": 1}, {}, False),
        (THREE, {"responseContext": RAN, "responsePayload": DIED}, False),
        (THREE, {}, False),
        # The forwarder reports requests that Lambda refused, in the same form.
        ({**THREE, "approximateInvokeCount": 0}, {"responsePayload": {"errorType": THROTTLED}}, True),
        ({**THREE, "approximateInvokeCount": 0}, {"responsePayload": {"errorType": "Lambda.ServiceException"}}, False),
    ],
)
def test_record_tells_throttles_from_failures(context: Json, more: Json, expected: bool) -> None:  # noqa: FBT001
    reply = {"requestContext": {"requestId": "1", "functionArn": at("A"), **context}, "requestPayload": {}, **more}
    assert GivenUp.from_record(reply).is_throttled is expected


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first pause is at most a second, so that SQS gives the event out during the test."""
    monkeypatch.setattr(throttled_events, "LEAST_MS", 1_000)


@pytest.mark.usefixtures("soon")
def test_throttled_event_is_sent_again_by_the_timer(intake: Deployed) -> None:
    event = intake.event()
    intake.fail(event, condition="ZeroReservedConcurrency")
    (waiting,) = intake.waiting()
    again = waiting["event"]
    assert (waiting["address"], intake.describe().status) == (at("A"), Status.RUNNING)
    assert {**again, "throttled": 0, "not_after": 0, "due": 0} == {**event, "throttled": 0, "not_after": 0, "due": 0}
    (since_ms, sent_ms, _noted_ms) = again["throttled"]
    assert 500 <= sent_ms - since_ms <= 3_000
    assert waiting["due_ms"] == sent_ms == again["due"]


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("odd", [None, 1, [], ["x", 1, 2], [1, 2], {"since": 1}])
def test_malformed_field_begins_the_wait_anew(intake: Deployed, odd: Json) -> None:
    intake.fail({**intake.event(), "throttled": odd}, condition="ZeroReservedConcurrency")
    (waiting,) = intake.waiting()
    assert len(waiting["event"]["throttled"]) == 3


def test_started_event_still_fails_its_task(intake: Deployed) -> None:
    intake.fail(intake.event(), DIED, condition="EventAgeExceeded")
    assert intake.describe().status is Status.FAILED


def test_throttled_start_begins_its_execution(intake: Deployed) -> None:
    intake.fail({"n": 1}, condition="ZeroReservedConcurrency", qualifier="start-Flow")
    ((address, event),) = intake.functions.sent()
    assert (address, event["state"], intake.describe().status) == (at("A"), "A", Status.RUNNING)


class Kept:
    """A timer and an invoker that keep whole events."""

    def __init__(self, platform: Platform, **options: Any) -> None:
        self.platform, self.waiting, self.sent = platform, list[tuple[Json, int]](), list[Json]()
        platform.options |= {"timer": self, "own_address": at("A"), **options}

    def schedule(self, events: Any) -> None:
        self.waiting += [(json.loads(payload), due_ms) for _, payload, due_ms in events]

    def invoke(self, events: Any) -> None:
        self.sent += [json.loads(payload) for _, payload in events]

    def give_up(self, event: Json, **context: Any) -> None:
        rt = self.platform.runtime()
        given_up = GivenUp.from_record(record(event, condition="ZeroReservedConcurrency", **context))
        own: dict[str, Any] = {} if self.platform.options["timer"] is self else {"invoker": self}
        failure_function.recover(replace(rt, hosts=frozenset(), call=failure_function.no_code, **own), given_up)

    def give_up_next(self) -> int:
        """Give up the event that waits as soon as it is due; return the pause."""
        event, due_ms = self.waiting.pop()
        begun_ms, self.platform.clock.ms = self.platform.clock.ms, due_ms
        self.give_up(event)
        return due_ms - begun_ms


def to_b(definition: Json | None = None, value: Json = None) -> tuple[Platform, Json]:
    """Return a platform where A has run, and the event for B."""
    same: dict[str, Any] = dict.fromkeys("ABC", lambda event: event)
    platform = Platform.of(definition or chain("A", "B", "C", B=RULES), **same)
    platform.start("e", {} if value is None else value)
    (event,) = platform.sent
    platform.sent.clear()
    return platform, json.loads(event.to_bytes())


def test_pauses_grow_and_differ_between_events() -> None:
    platform, event = to_b()
    kept = Kept(platform)
    kept.give_up(event)
    pauses = [kept.give_up_next() for _ in range(40)]
    assert LEAST_MS / 2 <= pauses[0] <= LEAST_MS
    assert all(MOST_MS / 2 <= each <= MOST_MS for each in pauses[-10:])
    assert len(set(pauses)) > 30


def test_branches_of_a_fan_out_do_not_return_together() -> None:
    inner = {"StartAt": "B", "States": {"B": {"Type": "Task", "Resource": "B", "End": True}}}
    platform = Platform.of(
        {"StartAt": "M", "States": {"M": {"Type": "Map", "ItemProcessor": inner, "End": True}}}, B=str
    )
    platform.start("e", [*range(100)])
    kept = Kept(platform)
    for event in platform.sent:
        kept.give_up(json.loads(event.to_bytes()))
    due = sorted(due_ms for _, due_ms in kept.waiting)
    assert len({each // 1000 for each in due}) > 20
    assert due[-1] - due[0] > LEAST_MS / 4


def test_waiting_uses_no_attempt_and_no_catcher() -> None:
    platform, event = to_b(value={"n": 1})
    kept = Kept(platform)
    kept.give_up(event)
    for _ in range(50):
        kept.give_up_next()
    ((again, _),) = kept.waiting
    assert again.get("retries", []) == event.get("retries", [])
    platform.deliver(Envelope.from_json(again))
    platform.deliver_all()
    assert platform.ending() == Ending(Status.SUCCEEDED, Success({"n": 1}))
    assert [step.state for step in platform.steps()] == ["A", "B", "C"]


def test_late_record_changes_nothing_after_the_outcome() -> None:
    platform, event = to_b()
    kept = Kept(platform)
    platform.deliver(Envelope.from_json(event))
    platform.sent.clear()
    kept.give_up(event)
    assert ([each.state for each in platform.sent], kept.waiting) == (["C"], [])


def test_stopped_execution_sends_nothing_again() -> None:
    platform, event = to_b()
    kept = Kept(platform)
    stop(platform.runtime(), Envelope.from_json(event).name.execution, Failure("Stop", None))
    kept.give_up(event)
    assert (platform.sent, kept.waiting) == ([], [])


def test_wait_ends_with_the_time_limit_of_the_execution() -> None:
    platform, event = to_b({**chain("A", "B", "C", B=RULES), "TimeoutSeconds": 3_600})
    kept = Kept(platform)
    began_ms = platform.clock.ms
    kept.give_up(event)
    while kept.waiting:
        kept.give_up_next()
    assert platform.clock.ms == began_ms + HOUR_MS
    ending = platform.ending()
    assert ending is not None
    assert ending.status is Status.TIMED_OUT


def test_wait_ends_with_the_retention_and_fails_by_name() -> None:
    platform, event = to_b(chain("A", "B", "C"))
    kept = Kept(platform, retention_s=24 * 3600)
    last_s = platform.runtime().last_s(Envelope.from_json(event).name.execution)
    kept.give_up(event)
    while kept.waiting:
        kept.give_up_next()
    assert last_s * 1000 - MOST_MS <= platform.clock.ms <= last_s * 1000
    ending = platform.ending()
    assert ending is not None
    assert isinstance(ending.outcome, Failure)
    assert (ending.status, ending.outcome.error) == (Status.FAILED, THROTTLED)


def test_waits_for_a_lease_do_not_prolong_the_time_of_an_execution() -> None:
    platform, event = to_b({**chain("A", "B", "C"), "TimeoutSeconds": 3_600})
    kept, began_ms = Kept(platform), platform.clock.ms
    kept.give_up(event)
    while kept.waiting:
        assert platform.clock.ms < began_ms + HOUR_MS
        ((found, platform.clock.ms),) = kept.waiting
        kept.waiting.clear()
        wait_for_result(platform.runtime(), Envelope.from_json(found), LeaseHeldError("held"))
        kept.give_up_next()
    # The last look at the lease may begin at the limit.
    assert began_ms + HOUR_MS <= platform.clock.ms <= began_ms + HOUR_MS + waiter.MOST_MS
    ending = platform.ending()
    assert ending is not None
    assert ending.status is Status.TIMED_OUT


def test_without_a_timer_lambdas_queue_or_a_dead_letter_keeps_the_event() -> None:
    platform, event = to_b()
    kept = Kept(platform, timer=NoTimer())
    with pytest.raises(InvokeError, match="it waits as a dead letter"):
        kept.give_up(event)
    platform.clock.ms += MOST_MS
    kept.give_up(event)  # the sweep tries the dead letter, or Lambda kept the event
    (again,) = kept.sent
    with pytest.raises(InvokeError):
        kept.give_up(again)
    platform.clock.ms += HOUR_MS
    kept.give_up(again)
    assert len(kept.sent) == 2


def test_why_names_the_time_since_which_an_event_waits() -> None:
    platform, event = to_b()
    kept, sent_ms = Kept(platform), platform.clock.ms
    kept.give_up(event)
    kept.give_up_next()
    asked = parse(request(Control.WHY, "e"))
    (line,) = answer(platform.runtime(), asked, None)["missing"]
    assert (line["state"], line["waits_for"], line["throttled_ms"]) == ("B", "delivery", sent_ms // 1000 * 1000)


def test_sweep_sends_no_second_event_while_the_first_waits() -> None:
    platform, event = to_b()
    kept = Kept(platform)
    kept.give_up(event)
    for _ in range(100):
        kept.give_up_next()
        found = nudge(platform.runtime(), "e", silent_ms=HOUR_MS)
        assert (found.total, platform.sent) == (0, [])
    assert missing(platform.runtime(), "e").total == 1
    kept.waiting.clear()  # the event is lost
    platform.clock.ms += KEPT_MS + MOST_MS + 2 * HOUR_MS
    assert nudge(platform.runtime(), "e", silent_ms=HOUR_MS).total == 1
    assert [each.state for each in platform.sent] == ["B"]


def test_note_for_ever_hides_nothing_from_sweeps() -> None:
    platform, event = to_b()
    name = Envelope.from_json(event).name
    note_throttle(platform.runtime(), name, Throttle(platform.clock.ms, platform.clock.ms + 365 * 24 * HOUR_MS))
    platform.clock.ms += 2 * HOUR_MS
    assert nudge(platform.runtime(), "e", silent_ms=HOUR_MS).total == 1


def test_notes_are_few() -> None:
    platform, event = to_b()
    kept = Kept(platform)
    before = len(platform.memory._items)
    kept.give_up(event)
    began_ms = platform.clock.ms
    while platform.clock.ms < began_ms + 24 * HOUR_MS:
        kept.give_up_next()
    assert len(platform.memory._items) - before <= 24 / 3 + 1


def test_execution_that_is_never_throttled_has_no_note() -> None:
    platform, event = to_b()
    platform.deliver(Envelope.from_json(event))
    platform.deliver_all()
    assert not [key for key in platform.memory._items if "throttled" in key.sort]
