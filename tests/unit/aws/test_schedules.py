"""Long delays from the queue into a schedule and back: in time, once, unchanged, and never lost."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
from botocore.exceptions import ConnectTimeoutError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from moto import mock_aws

from tests.unit.aws.forwarding import INTAKE, SENDERS, forwarder_of, messages
from tests.unit.aws.forwarding import event as of
from tests.unit.aws.scheduler import Scheduler, replaced
from unum_runtime.features.timers import schedules as tested
from unum_runtime.features.timers import timer_function as module
from unum_runtime.features.timers.schedules import MAX_INPUT_BYTES, Schedules, to_input
from unum_runtime.features.timers.sqs_timer import Delayed, SqsTimer
from unum_runtime.features.timers.timer_function import Forwarder
from unum_runtime.json_text import to_text
from unum_runtime.model.delays import LONG_S, LONGEST_IN_QUEUE_S, MAX_DELAY_S

ARN = "arn:aws:lambda:us-east-1:123456789012:function:f:7"
DAY_MS = 86_400_000
MINUTE_MS = 60_000
WORD = "<aws.scheduler.attempt-number>"

Check = Callable[[], None]


@pytest.fixture
def forwarder(functions: Any, timer: SqsTimer, clock: Any, schedules: Schedules) -> Forwarder:
    return forwarder_of(functions, timer, clock, schedules=schedules)


def delivered(forwarder: Forwarder, body: str) -> Any:
    return forwarder.forward(messages(body))


def body(due_ms: int, event: Any = 1) -> str:
    return Delayed(ARN, to_text(of(event)).encode(), due_ms).to_body()


def test_a_schedule_has_what_it_takes(forwarder: Forwarder, scheduler: Scheduler, clock: Any) -> None:
    clock.ms = 1_799_999_999_001  # 2027-01-15T07:59:59
    assert delivered(forwarder, body(clock.ms + DAY_MS + 999)) == {"batchItemFailures": []}
    (schedule,) = scheduler.schedules()
    assert schedule["ScheduleExpression"] == "at(2027-01-16T07:55:00)"
    assert schedule["ScheduleExpressionTimezone"] == "UTC"
    assert schedule["FlexibleTimeWindow"] == {"Mode": "OFF"}
    assert schedule["ActionAfterCompletion"] == "DELETE"
    assert schedule["Target"] == {
        "Arn": "arn:aws:sqs:us-east-1:123456789012:timer",
        "RoleArn": "arn:aws:iam::123456789012:role/Schedules",
        "Input": Delayed.from_body(body(clock.ms + DAY_MS + 999)).to_body(),
        "RetryPolicy": {"MaximumEventAgeInSeconds": 3_600, "MaximumRetryAttempts": 185},
        "DeadLetterConfig": {"Arn": "arn:aws:sqs:us-east-1:123456789012:failures"},
    }
    assert "KmsKeyArn" not in scheduler.requests[0]


def test_a_key_of_the_users_own_is_that_of_the_schedule(schedules: Schedules, scheduler: Scheduler) -> None:
    key = "arn:aws:kms:us-east-1:123456789012:key/own"
    fields = schedules.group, schedules.queue, schedules.role, schedules.dead_letters
    Schedules(lambda: scheduler, *fields, key).add(Delayed(ARN, b"1", 1_800_000_000_000))
    assert scheduler.schedules()[0]["KmsKeyArn"] == key


@pytest.mark.parametrize(("left_s", "scheduled"), [(LONG_S, False), (LONG_S + 1, True)])
def test_only_what_is_cheaper_in_a_schedule_comes_there(
    forwarder: Forwarder, scheduler: Scheduler, queue: Any, clock: Any, left_s: int, *, scheduled: bool
) -> None:
    delivered(forwarder, body(clock.ms + left_s * 1000))
    assert (len(scheduler.schedules()), queue.delays_s) == ((1, []) if scheduled else (0, [900]))


def test_what_waits_for_less_from_the_beginning_needs_no_schedules(
    forwarder: Forwarder, timer: SqsTimer, queue: Any, scheduler: Scheduler, clock: Any
) -> None:
    """So the constructs need not make a group for it."""
    timer.schedule([(ARN, json.dumps(of(1)).encode(), clock.ms + LONGEST_IN_QUEUE_S * 1000)])
    clock.ms += queue.delays_s[-1] * 1000
    delivered(forwarder, queue.batches[-1][0]["MessageBody"])
    assert scheduler.requests == []


# The way of an event, and what must be true of it; each is caught if it is not.


@pytest.fixture
def in_time(
    forwarder: Forwarder, scheduler: Scheduler, timer: SqsTimer, queue: Any, functions: Any, clock: Any
) -> Check:
    """Events are delivered as they were sent, and when they are due, however late in its minute Scheduler is."""

    def check() -> None:
        for late_ms in (0, 17_000, MINUTE_MS - 1, MINUTE_MS + 200_000):  # the last: Scheduler had to try again
            due_ms = clock.ms + DAY_MS + 1
            event = of({"text": f"a{WORD}\\{WORD}", WORD: [late_ms]})
            timer.schedule([(ARN, json.dumps(event).encode(), due_ms)])
            clock.ms += MAX_DELAY_S * 1000
            delivered(forwarder, queue.batches[-1][0]["MessageBody"])
            ((at_ms, message),) = scheduler.go_off()
            clock.ms = at_ms + late_ms
            before = len(queue.batches)
            delivered(forwarder, message)
            if not functions.events:
                assert len(queue.batches) == before + 1, "it waits nowhere"
                clock.ms += queue.delays_s[-1] * 1000
                delivered(forwarder, queue.batches[-1][0]["MessageBody"])
            assert functions.events == [(ARN, event)]
            assert 0 <= clock.ms - due_ms <= 1_000
            assert len(queue.batches) - before <= 1
            functions.events.clear()

    return check


@pytest.fixture
def once(forwarder: Forwarder, scheduler: Scheduler, queue: Any, clock: Any) -> Check:
    """A message that comes twice is kept once."""

    def check() -> None:
        for _ in range(3):
            assert delivered(forwarder, body(clock.ms + DAY_MS)) == {"batchItemFailures": []}
        assert (len(scheduler.schedules()), queue.batches) == (1, [])
        delivered(forwarder, body(clock.ms + DAY_MS, "another"))
        delivered(forwarder, body(clock.ms + DAY_MS + 1))
        assert len(scheduler.schedules()) == 3

    return check


@pytest.fixture
def never_lost(forwarder: Forwarder, scheduler: Scheduler, queue: Any, clock: Any, capsys: Any) -> Check:
    """Assert that events refused by Scheduler wait in the queue, with one line in the log."""

    def check() -> None:
        codes = "ThrottlingException", "AccessDeniedException", "ServiceQuotaExceededException", "ValidationException"
        for turns, code in enumerate(codes, 1):
            scheduler.refused_with = code
            assert delivered(forwarder, body(clock.ms + DAY_MS)) == {"batchItemFailures": []}
            assert queue.delays_s == [900] * turns
            (line,) = capsys.readouterr().out.splitlines()
            assert line.startswith("m0: waits in the queue, because no schedule keeps it: schedule group Flow-Group: ")
            assert code in line

    return check


CHECKS = ("in_time", "once", "never_lost")


@pytest.mark.parametrize("check", CHECKS)
def test_it_holds(check: str, request: pytest.FixtureRequest) -> None:
    request.getfixturevalue(check)()


def never_waits(patch: pytest.MonkeyPatch) -> None:
    wait = Forwarder._wait

    def early(self: Forwarder, delayed: Delayed, left_ms: int, message_id: str) -> None:
        if left_ms > LONG_S * 1000:
            wait(self, delayed, left_ms, message_id)
        else:
            self.invoker.invoke([(delayed.address, delayed.payload)])

    patch.setattr(Forwarder, "_wait", early)


def sent_when_due(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(tested, "EARLY_S", 0)


def sent_too_early(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(tested, "EARLY_S", MAX_DELAY_S + 60)


def as_it_is(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(tested, "to_input", Delayed.to_body)


def another_name_each_time(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(tested, "sha256", lambda _: uuid4().hex)


def named_by_the_address(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(tested, "sha256", lambda _: "f")


def conflicts_are_failures(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(tested, "error_code", lambda _: None)


def all_errors_are_conflicts(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(tested, "error_code", lambda _: "ConflictException")


def failures_are_silent(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(module, "print", lambda *_: None, raising=False)


@pytest.mark.parametrize(
    ("break_it", "check"),
    [
        (never_waits, "in_time"),
        (sent_when_due, "in_time"),
        (sent_too_early, "in_time"),
        (as_it_is, "in_time"),
        (another_name_each_time, "once"),
        (named_by_the_address, "once"),
        (conflicts_are_failures, "once"),
        (all_errors_are_conflicts, "never_lost"),
        (failures_are_silent, "never_lost"),
    ],
)
def test_what_is_broken_is_caught(
    break_it: Callable[[pytest.MonkeyPatch], None],
    check: str,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held = request.getfixturevalue(check)
    break_it(monkeypatch)
    with pytest.raises((AssertionError, ValueError)):
        held()


def test_what_is_too_large_waits_in_the_queue(
    forwarder: Forwarder, scheduler: Scheduler, queue: Any, clock: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    room = MAX_INPUT_BYTES - len(body(clock.ms + DAY_MS, ""))
    delivered(forwarder, body(clock.ms + DAY_MS, "x" * room))
    assert (len(scheduler.schedules()), queue.batches) == (1, [])
    delivered(forwarder, body(clock.ms + DAY_MS, "x" * (room + 1)))
    assert (len(scheduler.schedules()), queue.delays_s) == (1, [900])
    assert (
        f"expected at most {MAX_INPUT_BYTES} bytes for a schedule, got {MAX_INPUT_BYTES + 1}" in capsys.readouterr().out
    )


def test_a_vpc_without_a_way_to_scheduler(schedules: Schedules, forwarder: Forwarder, queue: Any, clock: Any) -> None:
    class Unreachable:
        def create_schedule(self, **_parameters: Any) -> Any:
            raise ConnectTimeoutError(endpoint_url="nowhere")

    fields = schedules.group, schedules.queue, schedules.role, schedules.dead_letters
    alone = replace(forwarder, schedules=Schedules(Unreachable, *fields))
    assert delivered(alone, body(clock.ms + DAY_MS)) == {"batchItemFailures": []}
    assert queue.delays_s == [900]


def test_what_comes_from_a_schedule_comes_to_no_other(scheduler: Scheduler, schedules: Schedules) -> None:
    """Otherwise an event shorter than the least useful delay would replace and lose itself."""
    fields = schedules.group, schedules.queue, schedules.role, schedules.dead_letters
    for longer_than_s in (0, 1, 8, 600, LONG_S):
        assert Schedules(lambda: scheduler, *fields, None, longer_than_s).early_s <= longer_than_s


TEXTS = st.lists(st.sampled_from([WORD, "<aws.", "\\", '"', "<"])).map("".join)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([WORD, "a"]), inner),
)


@given(JSON)
def test_every_event_comes_out_as_it_went_in(value: Any) -> None:
    delayed = Delayed(ARN, json.dumps(value, ensure_ascii=False).encode(), 1)
    back = Delayed.from_body(replaced(to_input(delayed)))
    assert (json.loads(back.payload), back.address, back.due_ms) == (value, ARN, 1)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(JSON)
def test_every_event_comes_out_of_a_schedule(scheduler: Scheduler, schedules: Schedules, value: Any) -> None:
    schedules.add(Delayed(ARN, json.dumps(value).encode(), 1_800_000_000_000))
    ((_, message),) = scheduler.go_off()
    assert Delayed.from_body(message).event == value


@pytest.fixture
def deployed(monkeypatch: pytest.MonkeyPatch, queue: Any) -> Iterator[Forwarder]:
    """The forwarder as a function's environment describes it."""
    settings_text = json.dumps(
        {
            "group": "Flow-Group",
            "queue": "arn:aws:sqs:us-east-1:123456789012:timer",
            "role": "arn:aws:iam::123456789012:role/Schedules",
            "dead_letters": "arn:aws:sqs:us-east-1:123456789012:failures",
            "longer_than_s": 60,
        }
    )
    environment = {"UNUM_TIMER": queue.url, "UNUM_MAX_RECEIVES": "10", "UNUM_SCHEDULES": settings_text}
    senders = json.dumps({"workflow": "Flow", "trusted": [*SENDERS.trusted], "edges": {"f": ["g"]}})
    environment |= {"UNUM_SENDERS": senders, "UNUM_INTAKE": INTAKE, "UNUM_LETTERS": "failures"}
    for name, text in {**environment, "AWS_REGION": "us-east-1", "UNUM_CLIENT": "botocore"}.items():
        monkeypatch.setenv(name, text)
    made = module.forwarder, module._new_scheduler
    for each in made:
        each.cache_clear()
    with mock_aws():
        yield module.forwarder()
    for each in made:
        each.cache_clear()


def test_the_environment_says_where_and_from_when(scheduler: Scheduler, deployed: Forwarder) -> None:
    assert module._new_scheduler.cache_info().currsize == 0, "a client that nobody has needed"
    due_ms = deployed.clock.now_ms() + 90_000
    assert module.handle(messages(*[body(due_ms)] * 10), None) == {"batchItemFailures": []}
    assert len(scheduler.schedules()) == 1
    assert module._new_scheduler.cache_info().misses == 1
    limits = module._new_scheduler().meta.config
    assert (limits.connect_timeout, limits.read_timeout, limits.retries["total_max_attempts"]) == (2, 2, 1)
