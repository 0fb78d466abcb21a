"""The timer against SQS as moto plays it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unum_runtime.errors import InvokeError
from unum_runtime.features.timers.sqs_timer import MAX_BATCH_BYTES, Delayed, SqsTimer

ARN = "arn:aws:lambda:us-east-1:123456789012:function:f:7"
JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3))


def payload(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def test_a_message_has_address_time_and_event(timer: SqsTimer, queue: Any, clock: Any) -> None:
    timer.schedule([(ARN, payload({"n": 1}), clock.ms)])
    assert queue.bodies() == [{"address": ARN, "due_ms": clock.ms, "event": {"n": 1}}]


@pytest.mark.parametrize(
    ("left_ms", "delay_s"),
    [(-5_000, 0), (0, 0), (1, 1), (1_000, 1), (1_001, 2), (899_001, 900), (900_001, 900), (31_536_000_000, 900)],
)
def test_delays_are_rounded_up_and_bounded(timer: SqsTimer, queue: Any, clock: Any, left_ms: int, delay_s: int) -> None:
    timer.schedule([(ARN, b"{}", clock.ms + left_ms)])
    assert queue.delays_s == [delay_s]


def test_a_message_does_not_arrive_before_its_time(timer: SqsTimer, queue: Any, clock: Any) -> None:
    timer.schedule([(ARN, b"1", clock.ms), (ARN, b"2", clock.ms + 60_000)])
    assert [body["event"] for body in queue.bodies()] == [1]


def test_many_events_go_in_few_requests(timer: SqsTimer, queue: Any, clock: Any) -> None:
    timer.schedule([(ARN, payload(n), clock.ms) for n in range(25)])
    assert [len(batch) for batch in queue.batches] == [10, 10, 5]
    assert sorted(body["event"] for body in queue.bodies()) == list(range(25))


def test_large_events_go_in_more_requests(timer: SqsTimer, queue: Any, clock: Any) -> None:
    timer.schedule([(ARN, payload("x" * 400_000), clock.ms) for _ in range(3)])
    assert [len(batch) for batch in queue.batches] == [2, 1]


def test_the_largest_event_fits_into_a_message() -> None:
    event = Delayed(ARN, payload('"' * 499_990), 1)  # escaped, a million bytes
    assert len(event.payload) > 999_900
    assert len(event.to_body().encode()) < MAX_BATCH_BYTES


@given(JSON)
def test_the_event_comes_out_as_it_went_in(value: Any) -> None:
    delayed = Delayed(ARN, json.dumps(value).encode(), 1)
    body = delayed.to_body()
    back = Delayed.from_body(body)
    assert (json.loads(back.payload), back.address, back.due_ms) == (value, ARN, 1)


def test_characters_that_sqs_refuses_are_escaped() -> None:
    delayed = Delayed(ARN, payload("a\ufffe\uffffb"), 1)
    body = delayed.to_body()
    assert "\ufffe" not in body
    assert "\uffff" not in body
    assert json.loads(Delayed.from_body(body).payload) == "a\ufffe\uffffb"


def test_what_the_queue_does_not_take_is_an_error(timer: SqsTimer, clock: Any) -> None:
    with pytest.raises(InvokeError, match="/timer: "):
        timer.schedule([(ARN, payload("x" * (MAX_BATCH_BYTES + 1)), clock.ms)])


def test_a_queue_that_is_gone_is_an_error(queue: Any, clock: Any) -> None:
    gone = SqsTimer(queue, f"{queue.url}-gone", clock)
    with pytest.raises(InvokeError, match="NonExistentQueue"):
        gone.schedule([(ARN, b"{}", clock.ms)])


def test_a_part_that_the_queue_does_not_take_is_an_error(clock: Any) -> None:
    class Full:
        def send_message_batch(self, **parameters: Any) -> Any:
            return {"Failed": [{"Id": "1", "Code": "InternalError", "Message": "later"}], "Successful": [parameters]}

    with pytest.raises(InvokeError, match=f"timer url: InternalError for {ARN}2: later"):
        SqsTimer(Full(), "url", clock).schedule([(f"{ARN}{n}", b"{}", 0) for n in (1, 2)])
