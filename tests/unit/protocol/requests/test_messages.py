"""Batches of messages: one execution for each message, in whatever batch it comes."""

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.unit.model.test_identity import S3
from tests.unit.protocol.platform import Platform, chain
from unum_runtime.errors import ExecutionAlreadyExists, ExecutionDeleted, InvokeError, StartsPaused, StoreError
from unum_runtime.model.identity import event_name
from unum_runtime.protocol.control.deletions.delete import delete
from unum_runtime.protocol.delivery.pause import Pause
from unum_runtime.protocol.requests import entry_aliases, messages
from unum_runtime.store.large_items import MAX_EVENT_BYTES, LargeItems
from unum_simulator.memory_store import MemoryObjects

QUEUE = "arn:aws:sqs:eu-west-1:123456789012:orders"
ADDRESS = "arn:aws:lambda:eu-west-1:123456789012:function:a:7"
NOTHING = "nothing"
BY_ORDER = {QUEUE: "$.order.id"}
NO_RECORDS: list[Any] = [5, True, None, "text", {}, [], [5, 5]]


def message(number: int, body: Any = None, receives: int = 1) -> dict[str, Any]:
    attributes = {"ApproximateReceiveCount": str(receives)}
    text = body if isinstance(body, str) else json.dumps(body or {"order": {"id": number}})
    source = {"eventSource": "aws:sqs", "eventSourceARN": QUEUE}
    return {**source, "messageId": f"m{number}", "body": text, "attributes": attributes}


def batch(*records: Any) -> dict[str, Any]:
    return {"Records": [*records]}


class Accepting:
    """Lambda, which takes events, and refuses the start of one execution."""

    def __init__(self) -> None:
        self.events: list[tuple[str, Any]] = []
        self.refuses = NOTHING

    def invoke(self, events: Any) -> None:
        assert events, "nothing is sent where there is nothing to send"
        self.events += [
            (address, json.loads(payload)) for address, payload in events if self.refuses not in str(payload)
        ]
        if any(self.refuses in str(payload) for _, payload in events):
            raise InvokeError("throttled")


ACCEPTING = "accepting"


@pytest.fixture
def platform() -> Platform:
    return Platform.of(chain("A"), A=lambda event: len(event["Records"]))


@pytest.fixture(autouse=True)
def accepting(platform: Platform) -> Accepting:
    vars(platform)[ACCEPTING] = Accepting()
    return vars(platform)[ACCEPTING]


def arrive(platform: Platform, event: Any, **options: Any) -> Any:
    rt = replace(platform.runtime(), invoker=vars(platform)[ACCEPTING], own_address=ADDRESS)
    return entry_aliases.start_by_event(rt, event, "request", **options)


def deliver_all(platform: Platform) -> list[str]:
    """Deliver what was sent to the run alias; the names of the executions."""
    accepting = vars(platform)[ACCEPTING]
    events, accepting.events = accepting.events, []
    assert {address for address, _ in events} <= {ADDRESS.replace(":7", ":run-w")}
    return [entry_aliases.run(platform.runtime(), event, "request")["execution"] for _, event in events]


def test_each_message_starts_an_execution(platform: Platform) -> None:
    seen = arrive(platform, batch(*map(message, range(10))))
    names = deliver_all(platform)
    assert names == seen["executions"] == [event_name(batch(message(number))) for number in range(10)]
    assert (seen["workflow"], seen["batchItemFailures"]) == ("w", [])
    assert platform.calls["A"] == 10
    assert {platform.ending(name).outcome.value for name in names} == {1}


def test_one_message_in_two_batches_starts_one_execution(platform: Platform) -> None:
    arrive(platform, batch(message(1), message(2)))
    deliver_all(platform)
    arrive(platform, batch(message(2, receives=2), message(3)))
    deliver_all(platform)
    arrive(platform, batch(message(2, receives=3)))
    arrive(platform, batch(message(3, receives=2), message(1, receives=2)))
    deliver_all(platform)
    assert platform.calls["A"] == 3


def test_a_single_message_costs_no_further_invocation(platform: Platform) -> None:
    seen = arrive(platform, batch(message(1)))
    assert seen == {"workflow": "w", "execution": event_name(batch(message(1)))}
    assert vars(platform)[ACCEPTING].events == []
    assert platform.ending(seen["execution"]).outcome.value == 1


def test_a_single_message_that_a_pause_refuses_comes_again_alone(platform: Platform) -> None:
    platform.options["read_pause"] = lambda: Pause(platform.clock.ms, "why")
    seen = arrive(platform, batch(message(1)), queues={QUEUE: ""})
    assert seen["batchItemFailures"] == [{"itemIdentifier": "m1"}]
    ((message_, fields),) = platform.logged
    assert (message_, "why" in fields["reason"]) == ("refused", True)
    with pytest.raises(StartsPaused):
        arrive(platform, batch(message(1)), queues={f"{QUEUE}-other": ""})


@pytest.mark.parametrize("count", [1, 3])
def test_messages_come_again_when_the_store_does_not_answer(platform: Platform, count: int) -> None:
    def fail() -> Any:
        raise StoreError("no answer")

    platform.options["read_pause"] = fail
    seen = arrive(platform, batch(*map(message, range(count))), queues={QUEUE: ""})
    assert seen["batchItemFailures"] == [{"itemIdentifier": f"m{number}"} for number in range(count)]
    put_off = [fields for name, fields in platform.logged if name == "put off"]
    assert put_off == [{"execution": name, "error": "StoreError", "reason": "no answer"} for name in seen["executions"]]
    with pytest.raises(StoreError):
        arrive(platform, batch(*map(message, range(count))))


def test_batch_with_a_refused_start_is_redelivered_and_repeats_nothing(platform: Platform) -> None:
    vars(platform)[ACCEPTING].refuses = '"m2"'
    with pytest.raises(InvokeError):
        arrive(platform, batch(*map(message, range(4))))
    deliver_all(platform)
    vars(platform)[ACCEPTING].refuses = NOTHING
    arrive(platform, batch(*map(message, range(4))))
    deliver_all(platform)
    assert platform.calls["A"] == 4


@pytest.mark.parametrize("refused", ['"m2"', '"m0"'])
def test_a_mapping_that_takes_reports_gets_the_failed_message_alone(platform: Platform, refused: str) -> None:
    vars(platform)[ACCEPTING].refuses = refused
    seen = arrive(platform, batch(*map(message, range(4))), queues={QUEUE: ""})
    assert seen["batchItemFailures"] == [{"itemIdentifier": refused.strip('"')}]
    put_off = {"execution": seen["executions"][int(refused[2])], "error": "InvokeError", "reason": "throttled"}
    assert ("put off", put_off) in platform.logged
    deliver_all(platform)
    assert platform.calls["A"] == 3


@pytest.mark.parametrize("count", [1, 3])
def test_path_into_the_body_names_the_execution_of_a_message(platform: Platform, count: int) -> None:
    for first in (0, 100):
        records = [message(first + number, {"order": {"id": f"o-{number}"}}) for number in range(count)]
        arrive(platform, batch(*records), queues=BY_ORDER)
        deliver_all(platform)
    assert platform.calls["A"] == count
    assert platform.ending("o-0").outcome.value == 1


@pytest.mark.parametrize("count", [1, 3])
def test_another_message_of_a_name_is_refused_at_the_run_alias(platform: Platform, count: int) -> None:
    first = [message(number, {"order": {"id": f"o-{number}"}, "n": 1}) for number in range(count)]
    arrive(platform, batch(*first), queues=BY_ORDER)
    deliver_all(platform)
    others = [message(10 + number, {"order": {"id": f"o-{number}"}, "n": 2}) for number in range(count)]
    seen = arrive(platform, batch(*others), queues=BY_ORDER)
    assert seen["batchItemFailures"] == []  # the queue would deliver it again to no end
    assert len(vars(platform)[ACCEPTING].events) == count
    with pytest.raises(ExecutionAlreadyExists, match=r"'o-0' .* was started with another input"):
        deliver_all(platform)
    assert platform.calls["A"] == count


def test_a_message_that_no_event_holds_starts_in_the_delivery_of_its_batch(platform: Platform) -> None:
    platform.store = LargeItems(platform.memory, MemoryObjects(), "w")
    large = message(1, {"order": {"id": "o"}, "x": "x" * MAX_EVENT_BYTES})
    arrive(platform, batch(large, message(2)), queues=BY_ORDER)
    assert platform.calls == {"A": 1}
    assert len(vars(platform)[ACCEPTING].events) == 1
    other = message(3, {"order": {"id": "o"}, "y": "y" * MAX_EVENT_BYTES})
    with pytest.raises(ExecutionAlreadyExists, match="another input"):
        arrive(platform, batch(other), queues=BY_ORDER)
    assert len(vars(platform)[ACCEPTING].events) == 1


def test_late_copy_of_a_message_of_a_deleted_execution_ends_quietly(platform: Platform) -> None:
    (name,) = arrive(platform, batch(message(1)), queues={QUEUE: ""})["executions"]
    delete(platform.runtime(), name)
    seen = arrive(platform, batch(message(1, receives=2)), queues={QUEUE: ""})
    assert (seen["batchItemFailures"], vars(platform)[ACCEPTING].events) == ([], [])
    assert platform.messages()[-1] == "refused"
    with pytest.raises(ExecutionDeleted):
        arrive(platform, batch(message(1, receives=3)))
    assert platform.calls["A"] == 1


@pytest.mark.parametrize(
    "body",
    [
        "no JSON",
        "[" * 100_000,
        "5",
        '{"order": {"id": true}}',
        '{"order": 5}',
        '{"order": {"id": null}}',
        '{"order": {"id": {}}}',
        '{"a": 1}',
    ],
)
def test_a_message_without_the_name_is_named_by_its_id(platform: Platform, body: str) -> None:
    arrive(platform, batch(message(1, body)), queues=BY_ORDER)
    assert platform.ending(str(event_name(batch(message(1))))) is not None


def test_a_message_whose_body_is_no_text_is_named_by_its_id(platform: Platform) -> None:
    odd = {**message(1), "body": 5}
    assert arrive(platform, batch(odd), queues=BY_ORDER)["executions"] == [event_name(batch(message(1)))]


def test_a_path_belongs_to_its_queue(platform: Platform) -> None:
    arrive(platform, batch(message(1)), queues={f"{QUEUE}-other": "$.order.id"})
    assert platform.ending(str(event_name(batch(message(1))))) is not None


@pytest.mark.parametrize(
    "event",
    [
        batch(message(1), {"eventSource": "aws:sqs"}),
        batch(message(1), {**message(2), "eventSource": "aws:other"}),
        {**batch(message(1), message(2)), "more": 1},
        None,
        "Records",
        [batch(message(1))],
        *({"Records": records} for records in NO_RECORDS),
    ],
)
def test_what_is_no_batch_of_messages_is_one_input(platform: Platform, event: Any) -> None:
    assert not messages.is_batch(event)
    assert arrive(platform, event)["execution"] == "request"


def test_events_of_other_sources_are_no_messages() -> None:
    assert messages.is_batch(batch(message(1), message(2)))
    assert not messages.is_batch(batch(message(1), *S3["Records"]))


def test_executions_named_by_their_batch_would_be_noticed(platform: Platform, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "is_batch", lambda _: False)
    with pytest.raises(AssertionError):
        test_one_message_in_two_batches_starts_one_execution(platform)
