"""Redrives of executions that were stopped while an event waited: a Wait keeps its end, and a retry is over."""

from typing import Any

import pytest

from tests.unit.protocol.map_platform import deliver, deliver_all, deployed, mapped, result
from tests.unit.protocol.platform import Platform, chain
from unum_runtime.model.checkpoint import Failure, Phase, Status
from unum_runtime.protocol.control.redrives.redrive import redrive
from unum_runtime.protocol.control.stop import stop


def stopped(definition: dict[str, Any], later_s: int, value: Any = 1, **functions: Any) -> tuple[Platform, int]:
    """An execution that was stopped while an event waited, and the time of that event; some seconds later."""
    platform = deployed(definition, **functions)
    platform.start("e", value)
    while platform.sent:
        deliver(platform, platform.sent.pop(0))
    ((_, due_ms),) = platform.options["timer"].kept
    stop(platform.runtime(), platform.steps()[0].name.execution, Failure("Stopped", None))
    platform.options["timer"].kept.clear()
    platform.clock.pass_seconds(later_s)
    redrive(platform.runtime(), "e")
    return platform, due_ms


def test_a_wait_keeps_its_end() -> None:
    definition = chain("A", "B")
    definition["States"]["A"]["Next"] = "W"
    definition["States"]["W"] = {"Type": "Wait", "Seconds": 60, "Next": "B"}
    platform, due_ms = stopped(definition, 20)
    ((_, again_ms),) = platform.options["timer"].kept
    assert again_ms == due_ms
    deliver_all(platform)
    assert result(platform) == 1


def on_new(old: Platform, definition: dict[str, Any]) -> Platform:
    """Redrive on another definition."""
    new = deployed(definition)
    new.clock, new.memory, new.store = old.clock, old.memory, old.memory
    redrive(new.runtime(), "e", old=old.workflow)
    return new


def test_a_state_that_takes_the_place_of_a_wait_does_not_wait() -> None:
    definition = chain("A", "W")
    definition["States"]["W"] = {"Type": "Wait", "Seconds": 60, "End": True}
    old = deployed(definition)
    old.start("e", 1)
    old.deliver_all()
    stop(old.runtime(), old.steps()[0].name.execution, Failure("Stopped", None))
    new = on_new(old, chain("A", "B"))
    assert [event.state for event in new.sent] == ["B"]
    deliver_all(new)
    assert result(new) == 1


def test_a_wait_that_comes_again_after_it_has_ended_waits_its_whole_time() -> None:
    definition = waiting()
    rule = {"Variable": "$", "NumericGreaterThan": 5, "Next": "B"}
    definition["States"]["W"]["Next"] = "Which"
    definition["States"]["Which"] = {"Type": "Choice", "Choices": [rule]}
    old = deployed(definition)
    old.start("e", 1)
    deliver_all(old)
    ending = old.ending()
    assert ending is not None
    assert ending.status is Status.FAILED
    definition["States"]["Which"] |= {"Default": "W"}
    old.clock.pass_seconds(30)
    new = on_new(old, definition)
    ((_, due_ms),) = new.options["timer"].kept
    assert due_ms == new.clock.ms + 60_000


def stopped_at_b(definition: dict[str, Any], later_s: int) -> Platform:
    """An execution of `definition` that was stopped while B waited; some seconds later."""
    old = deployed(definition)
    old.start("e", 1)
    while old.sent:
        deliver(old, old.sent.pop(0))
    stop(old.runtime(), old.steps()[0].name.execution, Failure("Stopped", None))
    old.clock.pass_seconds(later_s)
    return old


def test_a_wait_that_a_repair_has_removed_is_over() -> None:
    old = stopped_at_b(waiting(), 20)
    new = on_new(old, chain("A", "B"))
    assert new.options["timer"].kept == []
    deliver_all(new)
    assert result(new) == 1


@pytest.mark.parametrize(("seconds", "left_s"), [(30, 10), (90, 70), (10, 0)])
def test_a_wait_that_a_repair_has_changed_counts_from_its_beginning(seconds: int, left_s: int) -> None:
    old, definition = stopped_at_b(waiting(), 20), waiting()
    definition["States"]["W"]["Seconds"] = seconds
    new = on_new(old, definition)
    assert [due_ms - new.clock.ms for _, due_ms in new.options["timer"].kept] == ([left_s * 1000] if left_s else [])
    deliver_all(new)
    assert result(new) == 1


@pytest.mark.parametrize("later_s", [20, 100])
def test_a_wait_that_a_repair_has_added_counts_from_the_result_before_it(later_s: int) -> None:
    def fail(event: Any) -> Any:
        raise ValueError(event)

    old = deployed(chain("A", "B"), B=fail)
    old.start("e", 1)
    deliver_all(old)
    old.clock.pass_seconds(later_s)
    new = on_new(old, waiting())
    kept = [due_ms - new.clock.ms for _, due_ms in new.options["timer"].kept]
    assert kept == ([40_000] if later_s == 20 else [])
    deliver_all(new)
    assert result(new) == 1


def test_a_wait_after_a_failure_that_was_mended_begins_with_the_redrive() -> None:
    definition = chain("A", "P", "B")
    definition["States"]["P"] = {"Type": "Pass", "InputPath": "$.missing", "Next": "B"}
    old = deployed(definition)
    old.start("e", 1)
    deliver_all(old)
    old.clock.pass_seconds(100)
    mended = waiting()
    mended["States"]["A"]["Next"] = "P"
    mended["States"]["P"] = {"Type": "Pass", "Next": "W"}
    new = on_new(old, mended)
    ((_, due_ms),) = new.options["timer"].kept
    assert due_ms == new.clock.ms + 60_000
    deliver_all(new)
    assert result(new) == 1


def test_a_retry_of_a_fan_out_in_a_branch_keeps_its_count_while_it_waits() -> None:
    """Its rounds begin anew only where the fan-out itself begins anew."""
    rule = [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 600, "MaxAttempts": 1}]
    inner = mapped("A", Retry=rule)
    outer = {"StartAt": "O", "States": {"O": {"Type": "Map", "ItemProcessor": inner, "End": True}}}

    def fail(event: Any) -> Any:
        raise ValueError(event)

    platform, _ = stopped(outer, 20, [[1]], A=fail)
    platform.calls.clear()
    deliver_all(platform)
    assert platform.calls == {"A": 1}
    redrive(platform.runtime(), "e")
    platform.calls.clear()
    deliver_all(platform)
    assert platform.calls == {"A": 2}


def waiting() -> dict[str, Any]:
    """A Task, a Wait of a minute, and a Task."""
    definition = chain("A", "W", "B")
    definition["States"]["W"] = {"Type": "Wait", "Seconds": 60, "Next": "B"}
    return definition


def test_the_interval_of_a_retry_is_over() -> None:
    retry = {"Retry": [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 600}]}
    broken = [True]

    def fragile(event: Any) -> Any:
        if broken:
            raise ValueError(broken.pop())
        return event

    platform, _ = stopped(chain("A", "B", B=retry), 20, B=fragile)
    assert platform.options["timer"].kept == []
    deliver_all(platform)
    assert result(platform) == 1


def test_the_interval_of_a_retry_of_a_fan_out_is_over() -> None:
    broken = [True]

    def fragile(event: Any) -> Any:
        if broken:
            raise ValueError(broken.pop())
        return event

    rule = [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 600, "MaxAttempts": 1}]
    platform, _ = stopped(mapped("A", Retry=rule), 20, [1, 2], A=fragile)
    *_, entered = [step for step in platform.steps() if step.phase is Phase.ENTERED and not step.name.frames]
    assert (entered.continuation.until_ms, platform.options["timer"].kept) == (None, [])
    deliver_all(platform)
    assert result(platform) == [1, 2]
