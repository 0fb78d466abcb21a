"""Deliveries and attempts of steps, through the real protocol."""

from typing import Any

import pytest

from tests.unit.protocol.callback_platform import asking
from tests.unit.protocol.platform import Platform, chain
from unum_client import Client, Step
from unum_client.deliveries import to_datetime
from unum_client.descriptions import StepStatus
from unum_client.terminal.live import notes_of, pending_row, row, waiting_text
from unum_runtime.model.checkpoint import Failure
from unum_runtime.model.delivery_record import Arrival
from unum_runtime.model.envelope import Envelope
from unum_runtime.protocol.control.platform_failure import fail_invocation

RETRY = [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 3, "MaxAttempts": 2, "BackoffRate": 1.0}]
CATCH = [{"ErrorEquals": ["States.ALL"], "Next": "B", "ResultPath": "$.error"}]


def reply(platform: Platform, **facts: Any) -> None:
    """Let deliveries from now on say what Lambda knows of them."""
    platform.options["arrival"] = Arrival(platform.clock.ms, **facts)


def deliver(platform: Platform, event: Envelope, queued_s: float, **facts: Any) -> None:
    platform.clock.pass_seconds(queued_s)
    reply(platform, **facts)
    platform.deliver(event)


def steps(platform: Platform) -> list[Step]:
    return [*map(Step.of, platform.steps())]


@pytest.fixture
def flaky() -> Platform:
    """A fails with Flaky and with KeyError, and takes 2 s each time; then it succeeds."""
    errors: list[Exception] = [type("Flaky", (Exception,), {})("one"), KeyError("two")]

    def code(_: Any) -> Any:
        platform.clock.pass_seconds(2)
        if errors:
            raise errors.pop(0)
        return {}

    platform = Platform.of(chain("A", "B", A={"Retry": RETRY, "Catch": CATCH}), A=code, B=lambda event: event)
    return platform


def test_a_retried_step_names_the_errors_and_times_of_its_earlier_attempts(flaky: Platform) -> None:
    begun_ms = flaky.clock.ms
    reply(flaky, request_id="first")
    flaky.start()
    flaky.deliver_all()
    for queued_s in (1, 7):
        deliver(flaky, flaky.pass_to_next(), queued_s, request_id=f"after {queued_s}")
    (step,) = steps(flaky)
    found = step.delivery
    assert found is not None
    assert (step.status, step.attempt, found.request_id) == (StepStatus.SUCCEEDED, 2, "after 7")
    assert [(each.error, each.began_at.timestamp() * 1000 - begun_ms) for each in found.failed] == [
        ("Flaky", 0),
        ("KeyError", 6_000),
    ]
    assert [(each.failed_at - each.began_at).total_seconds() for each in found.failed] == [2, 2]
    assert (found.queued_ms, found.waited_ms, step.lasted_ms) == (7_000, 0, 2_000)
    assert (found.ended_at - found.code_began_at).total_seconds() == 2
    assert notes_of(step) == "retried 2 times after Flaky, KeyError"


def test_a_failed_attempt_that_is_caught_is_no_success(flaky: Platform) -> None:
    def fail(_: Any) -> Any:
        raise ValueError("three")

    flaky.functions["A"] = fail
    reply(flaky)
    flaky.start(value={})
    for _ in range(2):
        flaky.deliver_all()
        deliver(flaky, flaky.pass_to_next(), 0)
    flaky.deliver_all()
    failed, last = steps(flaky)
    assert (failed.status, failed.error, failed.attempt) == (StepStatus.CAUGHT, "ValueError", 2)
    assert row(failed)[-1] == "CAUGHT ValueError (retried 2 times after ValueError, ValueError)"
    assert (last.status, last.error) == (StepStatus.SUCCEEDED, None)


def test_a_cold_sandbox_says_how_long_it_took() -> None:
    platform = Platform.of(chain("A", "B"), A=lambda event: event, B=lambda event: event)
    reply(platform)
    platform.start()
    stream = "2026/11/23/[12]0123456789abcdef0123456789abcdef"
    deliver(platform, platform.sent.pop(), 0.9, init_ms=431, log_stream=stream)
    _, step = steps(platform)
    assert step.delivery is not None
    assert (step.delivery.is_cold, step.delivery.queued_ms, step.delivery.log_stream) == (True, 900, stream)
    assert row(step)[3:5] == ("900 ms", "0 ms")
    assert notes_of(step) == "cold, init 431 ms"


def test_an_approval_lasts_as_long_as_it_waits() -> None:
    waits = asking(TimeoutSeconds=900)
    reply(waits.platform)
    token = waits.begun()
    waits.platform.clock.pass_seconds(600)
    reply(waits.platform)
    waits.answered(token)
    before, asked, _ = steps(waits.platform)
    assert (before.lasted_ms, asked.duration_ms, asked.lasted_ms) == (0, 0, 600_000)
    assert asked.delivery is not None
    assert asked.delivery.queued_ms == 0
    assert row(asked)[4] == "10 min 00 s"


def test_a_timeout_of_an_answer_lasts_as_long_as_it_waits() -> None:
    waits = asking(TimeoutSeconds=90)
    reply(waits.platform)
    waits.begun()
    waits.pass_time(91)
    _, asked = steps(waits.platform)
    assert (asked.status, asked.error, asked.lasted_ms) == (StepStatus.FAILED, "States.Timeout", 90_000)


def test_a_commit_in_place_of_a_dead_function_says_what_lambda_said() -> None:
    platform = Platform.of(chain("A", "B"), A=lambda event: event, B=lambda event: event)
    reply(platform)
    platform.start()
    (event,) = platform.sent
    reply(platform, request_id="dead", given_up="RetriesExhausted 3")
    fail_invocation(platform.runtime(), event, Failure("Sandbox.Timedout", None))
    _, step = steps(platform)
    assert step.delivery is not None
    assert (step.status, step.delivery.request_id) == (StepStatus.FAILED, "dead")
    assert notes_of(step) == "Lambda gave up: RetriesExhausted 3"


def test_a_retry_by_the_failure_handler_names_the_failure(flaky: Platform) -> None:
    reply(flaky)
    flaky.start(value={})
    fail_invocation(flaky.runtime(), flaky.pass_to_next(), Failure("Sandbox.Timedout", None))
    again = flaky.pass_to_next()
    assert [(each.error, each.failed_ms - each.began_ms) for each in again.tries] == [
        ("Flaky", 2_000),
        ("Sandbox.Timedout", 0),
    ]
    deliver(flaky, again, 0)
    caught = steps(flaky)[0]
    assert caught.delivery is not None
    assert [each.error for each in caught.delivery.failed] == ["Flaky", "Sandbox.Timedout"]
    assert caught.error == "KeyError"


def test_a_retried_fan_out_is_no_success_and_a_caught_one_is_none_either() -> None:
    failing = {"StartAt": "X", "States": {"X": {"Type": "Task", "Resource": "X", "End": True}}}
    fan_out = {"Type": "Parallel", "Branches": [failing], "Next": "B", "Catch": CATCH}
    retry = [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 1, "MaxAttempts": 1}]
    states = {"P": {**fan_out, "Retry": retry}, "B": {"Type": "Task", "Resource": "B", "End": True}}

    def code(_: Any) -> Any:
        raise ValueError

    platform = Platform.of({"StartAt": "P", "States": states}, X=code, B=lambda event: event)
    reply(platform)
    platform.start(value={})
    platform.deliver_all()
    platform.deliver(platform.pass_to_next())
    platform.deliver_all()
    found = {(step.state, step.status) for step in steps(platform)}
    assert found >= {("P", StepStatus.RETRIED), ("P", StepStatus.CAUGHT), ("X", StepStatus.FAILED)}


def test_steps_of_earlier_releases_have_no_delivery(flaky: Platform) -> None:
    flaky.functions["A"] = lambda event: event
    flaky.run()
    assert [(step.delivery, step.lasted_ms, notes_of(step)) for step in steps(flaky)] == [(None, 0, "")] * 2


def pending(platform: Platform) -> list[tuple[str, tuple[int, ...], str]]:
    """Return pending work as seen by a client without the control function."""
    client = Client(store=platform.memory, workflow="w", clock=platform.clock)
    return [(each.state, each.index, waiting_text(each)) for each in client.pending("e", platform.workflow)]


def test_a_waiting_state_has_a_row() -> None:
    waits = asking(TimeoutSeconds=900)
    token = waits.begun()
    assert pending(waits.platform) == [("Ask", (), "WAITING for an answer")]
    (found,) = Client(store=waits.platform.memory, workflow="w").pending("e", waits.platform.workflow)
    waits.platform.clock.pass_seconds(600)
    cells = pending_row(found, to_datetime(waits.platform.clock.ms))
    assert cells == ("Ask", "-", "-", "-", "10 min 00 s", "-", "WAITING for an answer")
    waits.answered(token)
    assert pending(waits.platform) == []


def test_each_running_branch_has_a_row_and_then_the_join() -> None:
    inner = {"StartAt": "X", "States": {"X": {"Type": "Task", "Resource": "X", "End": True}}}
    states = {
        "M": {"Type": "Map", "ItemProcessor": inner, "Next": "J"},
        "J": {"Type": "Task", "Resource": "J", "End": True},
    }
    platform = Platform.of({"StartAt": "M", "States": states}, X=lambda event: event, J=lambda event: event)
    platform.start(value=[1, 2, 3])
    assert pending(platform) == [("X", (index,), "RUNNING") for index in range(3)]
    platform.deliver(platform.sent.pop(0))
    assert [index for _, index, _ in pending(platform)] == [(1,), (2,)]
    platform.deliver(platform.sent.pop(0))
    platform.deliver(platform.sent.pop(0))
    assert pending(platform) == [("J", (), "RUNNING")]
    platform.deliver_all()
    assert pending(platform) == []


UNTIL = "WAITING for its time until 2027-01-15 08:01:00 UTC"
AFTER_WAIT = {"W": {"Type": "Wait", "Seconds": 60, "Next": "A"}, "A": {"Type": "Task", "Resource": "A", "End": True}}


@pytest.mark.parametrize("first", ["W", "A"])
def test_the_wait_before_a_task_is_named_until_it_is_over(first: str) -> None:
    task = {"Type": "Task", "Resource": "A"}
    states = AFTER_WAIT if first == "W" else {"A": {**task, "Next": "W"}, "W": {**AFTER_WAIT["W"], "Next": "B"}}
    states |= {} if first == "W" else {"B": {"Type": "Task", "Resource": "A", "End": True}}
    platform = Platform.of({"StartAt": first, "States": states}, A=lambda event: event)
    platform.start()
    platform.deliver_all()
    assert pending(platform) == [("W", (), UNTIL)]
    platform.clock.pass_seconds(61)
    assert [(state, text) for state, _, text in pending(platform)] == [("A" if first == "W" else "B", "RUNNING")]


def test_a_wait_at_the_end_is_named() -> None:
    platform = Platform.of(
        {"StartAt": "W", "States": {"W": {"Type": "Wait", "Seconds": 60, "End": True}}}, A=lambda event: event
    )
    platform.start()
    assert pending(platform) == [("W", (), UNTIL)]


@pytest.mark.parametrize("first", ["W", "X"])
def test_waits_of_branches_are_named_with_one_read_more(first: str) -> None:
    """At the begin of a branch, and after a step of it; of both kinds at once under MaxConcurrency."""
    before = {"X": {"Type": "Task", "Resource": "A", "Next": "W"}, **AFTER_WAIT}
    inner = {"StartAt": first, "States": AFTER_WAIT if first == "W" else before}
    mapped = {"Type": "Map", "ItemProcessor": inner, "End": True}
    platform = Platform.of({"StartAt": "M", "States": {"M": mapped}}, A=lambda event: event)
    platform.start(value=[1, 2, 3])
    platform.deliver_all()
    queried: list[Any] = []
    query = platform.memory.query
    platform.memory.query = lambda *given, **options: queried.append(given) or query(*given, **options)
    assert pending(platform) == [("W", (index,), UNTIL) for index in range(3)]
    assert len(queried) == 3  # the last step of the top level, the shard for what is pending, and again for the Waits
    platform.clock.pass_seconds(61)
    assert pending(platform) == [("A", (index,), "RUNNING") for index in range(3)]


def test_a_retry_that_is_not_due_is_at_its_task(flaky: Platform) -> None:
    reply(flaky)
    flaky.start(value={})
    assert [(state, text) for state, _, text in pending(flaky)] == [
        ("A", "RUNNING")
    ]  # the commit before knows no retry
