"""Time at which a pending commit is overdue."""

import pytest

from tests.unit.protocol.map_platform import deployed, mapped
from unum_runtime.cold_start.records import replace
from unum_runtime.protocol.control.nudge import missing
from unum_runtime.protocol.history.pending import WaitsFor, is_overdue

RETRY = {"Retry": [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 100, "MaxAttempts": 1}]}


def test_intervals_of_a_task_are_waited_for_and_those_of_a_fan_out_are_not() -> None:
    definition = mapped("A")
    definition["States"]["M"] |= RETRY
    definition["States"]["M"]["ItemProcessor"]["States"]["A"] |= RETRY
    platform = deployed(definition)
    platform.start("e", [1])
    (branch,) = missing(platform.runtime(), "e")
    join = replace(branch, state="M")
    overdue = []
    for _ in range(3):
        overdue.append([is_overdue(platform.runtime(), each, 10_000) for each in (branch, join)])
        platform.clock.pass_seconds(60)
    assert overdue == [[False, False], [False, True], [True, True]]


def test_a_join_is_overdue_from_the_end_of_the_silence_on() -> None:
    platform = deployed(mapped("A"))
    platform.start("e", [1])
    (branch,) = missing(platform.runtime(), "e")
    join = replace(branch, state="M")
    platform.clock.ms = join.due_ms + 9_999
    assert not is_overdue(platform.runtime(), join, 10_000)
    platform.clock.ms += 1
    assert is_overdue(platform.runtime(), join, 10_000)


@pytest.mark.parametrize("waits_for", [WaitsFor.TIME, WaitsFor.ANSWER])
def test_what_has_no_due_time_is_never_overdue(waits_for: WaitsFor) -> None:
    platform = deployed(mapped("A"))
    platform.start("e", [1])
    (branch,) = missing(platform.runtime(), "e")
    platform.clock.pass_seconds(10**6)
    assert not is_overdue(platform.runtime(), replace(branch, waits_for=waits_for), 10_000)


def test_an_answer_is_overdue_after_the_deadline_of_the_execution() -> None:
    platform = deployed({**mapped("A"), "TimeoutSeconds": 100})
    platform.start("e", [1])
    (branch,) = missing(platform.runtime(), "e")
    answer = replace(branch, waits_for=WaitsFor.ANSWER)
    platform.clock.pass_seconds(109.999)
    assert not is_overdue(platform.runtime(), answer, 10_000)
    platform.clock.ms += 1
    assert is_overdue(platform.runtime(), answer, 10_000)
