"""Tasks that wait for a result: their time limits, their heartbeats, and the checks of both."""

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.protocol.callback_platform import AGAIN, Asking, asking, broken
from tests.unit.protocol.map_platform import around
from tests.unit.protocol.platform import Platform
from unum_runtime.errors import InvokeError, TaskTimedOut
from unum_runtime.model.checkpoint import Failure, Status, Success
from unum_runtime.model.states import Guard
from unum_runtime.protocol.runtime import CallbackPending


@pytest.fixture
def plain() -> Asking:
    return asking()


def test_the_time_is_over() -> None:
    waiting = asking(TimeoutSeconds=60)
    token = waiting.begun()
    waiting.pass_time(59)
    assert waiting.outcome is None
    waiting.pass_time(2)
    assert waiting.outcome == Failure("States.Timeout", None)
    with pytest.raises(TaskTimedOut):
        waiting.answer(token)
    assert not waiting.platform.sent


def test_the_first_counts_when_the_deadline_comes_late() -> None:
    """The result came before any delivery noticed the timeout."""
    waiting = asking(TimeoutSeconds=60)
    token = waiting.begun()
    waiting.platform.clock.pass_seconds(100)
    waiting.answer(token, "just in time")
    ((_, look),) = waiting.later
    waiting.deliver(look)
    waiting.platform.deliver_all()
    assert waiting.outcome == Success("just in time")


@pytest.mark.parametrize("guard", [Guard.READ, Guard.COMMIT])
def test_a_look_at_a_task_that_is_done_repeats_nothing(guard: Guard) -> None:
    waiting = asking(guard=guard, TimeoutSeconds=60)
    waiting.answered(waiting.begun())
    calls = dict(waiting.platform.calls)
    waiting.pass_time(100)
    assert waiting.platform.calls == calls


def test_a_look_goes_on_where_the_nudge_was_lost() -> None:
    waiting = asking(TimeoutSeconds=60)
    token = waiting.begun()
    with broken(waiting.platform, "invoke", InvokeError("throttled")):
        waiting.answer(token)
    waiting.pass_time(100)
    assert waiting.outcome == Success("yes")


def test_a_look_that_died_after_its_commit_goes_on() -> None:
    waiting = asking(TimeoutSeconds=60, Catch=[{"ErrorEquals": ["States.Timeout"], "Next": "After"}])
    waiting.begun()
    ((_, look),) = waiting.later
    waiting.platform.clock.pass_seconds(60)
    with broken(waiting.platform, "invoke", InvokeError("throttled")):
        waiting.platform.deliver(look)
    waiting.platform.deliver(look)
    waiting.platform.deliver_all()
    assert isinstance(waiting.outcome, Success)


def test_a_look_at_a_former_try_does_not_disturb_the_next() -> None:
    waiting = asking(TimeoutSeconds=60, Retry=AGAIN)
    first = waiting.begun()
    waiting.answered(first, Failure("Again", None))
    waiting.pass_time(59)
    assert waiting.platform.calls["Ask"] == 2
    waiting.pass_time(1.5)
    assert waiting.platform.calls["Ask"] == 2
    waiting.answered(waiting.tokens[1])
    waiting.pass_time(100)
    assert waiting.outcome == Success("yes")
    assert waiting.platform.calls == {"Before": 1, "Ask": 2, "After": 1}


def test_heartbeats_keep_it_alive() -> None:
    waiting = asking(HeartbeatSeconds=10)
    token = waiting.begun()
    for _ in range(20):
        waiting.pass_time(4)
        waiting.beat(token)
    assert waiting.outcome is None
    waiting.pass_time(20)
    assert waiting.outcome == Failure("States.HeartbeatTimeout", None)
    with pytest.raises(TaskTimedOut):
        waiting.beat(token)


def test_no_heartbeat_at_all() -> None:
    waiting = asking(HeartbeatSeconds=10, TimeoutSeconds=100)
    waiting.begun()
    waiting.pass_time(11)
    assert waiting.outcome == Failure("States.HeartbeatTimeout", None)


def test_time_limits_count_from_the_question() -> None:
    def slow(_event: Any) -> CallbackPending:
        waiting.platform.clock.pass_seconds(40)
        return CallbackPending()

    waiting = asking(slow, TimeoutSeconds=60)
    waiting.begun()
    ((due_ms, _),) = waiting.later
    assert due_ms - waiting.platform.clock.ms == 20_000


def test_heartbeats_without_a_limit_are_welcome(plain: Asking) -> None:
    token = plain.begun()
    plain.beat(token)
    plain.answered(token)
    with pytest.raises(TaskTimedOut):
        plain.beat(token)


def test_the_time_of_user_code_counts() -> None:
    waiting = asking(lambda _: waiting.platform.clock.pass_seconds(10) or CallbackPending(), TimeoutSeconds=60)
    begun_ms = waiting.platform.clock.ms
    waiting.begun()
    ((due_ms, _),) = waiting.later
    assert due_ms == begun_ms + 60_000


def test_a_check_of_the_time_after_the_result_is_refused() -> None:
    waiting = asking(TimeoutSeconds=60)
    waiting.answered(waiting.begun())
    ((_, check),) = waiting.later
    said = f"{check.name}: has a result already, so a check of its time has no effect"
    assert waiting.deliver(check) == said


def test_an_execution_whose_time_is_over_waits_for_nobody() -> None:
    found = asking()
    found.platform.workflow = replace(found.platform.workflow, timeout_s=60)
    token = found.begun()
    found.pass_time(59)
    assert found.outcome is None
    found.pass_time(2)
    ending = found.platform.ending()
    assert ending is not None
    assert (ending.status, ending.outcome.error) == (Status.TIMED_OUT, "States.Timeout")
    with pytest.raises(TaskTimedOut):
        found.answered(token)
    assert found.platform.ending() == ending


def test_check_that_committed_the_end_of_its_execution_may_be_redelivered() -> None:
    found = asking(TimeoutSeconds=90)
    found.platform.workflow = replace(found.platform.workflow, timeout_s=60)
    found.begun()
    ((due_ms, check),) = found.later
    found.platform.clock.ms = due_ms
    assert [found.deliver(check), found.deliver(check)] == [None, None]
    ending = found.platform.ending()
    assert ending is not None
    assert ending.status is Status.TIMED_OUT


def test_only_checks_of_the_time_are_refused_after_the_result() -> None:
    waiting = asking(TimeoutSeconds=60)
    event = waiting.event()
    waiting.platform.deliver(event)
    waiting.answered(waiting.tokens[-1])
    assert waiting.deliver(event) is None
    assert [each.state for each in waiting.platform.sent] == ["After"]


def test_a_wait_that_is_over_in_a_branch_may_come_again() -> None:
    branch = {"StartAt": "W", "States": {"W": {"Type": "Wait", "Seconds": 5, "Next": "P"}, "P": PASS}}
    platform = Platform.of(around(branch))
    platform.start(value=[1, 2])
    event = platform.pass_to_next()
    for _ in range(2):
        platform.deliver(event)
    platform.deliver(platform.pass_to_next())
    ending = platform.ending()
    assert ending is not None
    assert ending.status is Status.SUCCEEDED


PASS = {"Type": "Pass", "End": True}
