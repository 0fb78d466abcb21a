"""Redrives are counted and dated: what user code is told of them, and what travels for it."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from tests.unit.protocol.broken_platform import BROKEN, broken, failed, fragile, go_on  # noqa: F401 - a fixture for all tests here
from tests.unit.protocol.cut_store import CutStore, Died
from tests.unit.protocol.map_platform import around, deliver, deliver_all, deployed, result
from tests.unit.protocol.platform import chain
from unum_runtime.model.checkpoint import Ending, Failure, Status, Success
from unum_runtime.protocol.control.forks.fork import ForkRequest, fork
from unum_runtime.protocol.control.redrives import redrive as redrive_module
from unum_runtime.protocol.control.redrives.redrive import redrive
from unum_runtime.protocol.planning import advance
from unum_runtime.protocol.planning.evaluation import REDRIVEN_AT, REDRIVES, timestamp
from unum_runtime.protocol.runtime import Runtime


def counting(**fields: Any) -> dict[str, Any]:
    """A Task's fields, so that it is told how often the execution was redriven."""
    return {"Parameters": {"value.$": "$", "count.$": "$$.Execution.RedriveCount"}, **fields}


def reply(event: Any) -> Any:
    """Fails if its value is broken, or else returns how often the execution was redriven."""
    fragile(event["value"])
    return event["count"]


def test_every_redrive_counts_and_what_follows_sees_it() -> None:
    definition = chain("A", "B", "C", "D", B=counting(), D=counting())
    platform = failed(definition, 1, 1, B=reply, D=reply)
    BROKEN.add(1)
    go_on(platform)
    BROKEN.clear()
    go_on(platform)
    assert result(platform) == 2
    assert next(step.outcome for step in platform.steps() if step.state == "C") == Success(2)


def test_every_delivery_is_told_the_same_count() -> None:
    platform = failed(chain("A", "B", "C", C=counting(), B=counting(ResultPath="$.b")), {"x": 1}, B=_always, C=reply)
    at_ms = redrive(platform.runtime(), "e")
    seen = [event for event in platform.sent if event.state == "B"]
    for event in seen * 3:
        deliver(platform, event)
    assert [event.input.variables for event in seen] == [{REDRIVES: 1, REDRIVEN_AT: at_ms}]


def _always(event: Any) -> Any:
    if event["count"] == 0:
        raise ValueError
    return event["count"]


DISTRIBUTED: dict[str, Any] = {"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}}


@pytest.mark.parametrize("distributed", [{}, DISTRIBUTED], ids=["inline", "distributed"])
def test_branches_see_it_those_that_were_kept_and_those_after_them(distributed: dict[str, Any]) -> None:
    branch = chain("A", "B", B=counting()) | distributed
    definition = around(branch, after="C")
    definition["States"]["C"] |= {"Parameters": {"all.$": "$", "count.$": "$$.Execution.RedriveCount"}}
    platform = failed(definition, [1, 2, 3], 2, B=reply)
    go_on(platform)
    # What had succeeded is kept; the last branch had not begun when another failed.
    assert result(platform) == {"all": [0, 1, 1], "count": 1}


def test_a_branch_that_goes_on_in_the_middle_sees_it() -> None:
    branch = chain("A", "B", "C", C=counting())
    platform = failed(around(branch), [1, 2], 1, B=fragile, C=reply)
    go_on(platform)
    assert result(platform)[0] == 1


def test_a_fork_was_never_redriven() -> None:
    platform = failed(chain("A", "B", "C", B=counting(), C=counting()), 1, 1, B=reply, C=reply)
    go_on(platform)
    assert result(platform) == 1
    fork(platform.runtime(), ForkRequest(execution="e", name="f", node="C", visit=1, value=None), None)
    deliver_all(platform)
    assert platform.ending("f") == Ending(Status.SUCCEEDED, Success(0))


def dated(seen: list[Any], pick: Callable[[Any], Any] = lambda value: value) -> Callable[[Any], Any]:
    """Notes the time of the last redrive, or None; fails if its value is broken, or else returns it."""

    def run(event: Any) -> Any:
        seen.append(event["execution"].get("RedriveTime"))
        return fragile(pick(event["value"]))

    return run


DATED: dict[str, Any] = {"Parameters": {"value.$": "$", "execution.$": "$$.Execution"}}
HOUR_MS = 3_600_000


def test_the_time_of_the_last_redrive_exists_after_the_first_one() -> None:
    seen: list[Any] = []
    platform = failed(chain("A", "B", "C", B=DATED, C=DATED), 1, 1, B=dated(seen), C=dated(seen))
    times = []
    for values in ({1}, set[Any]()):
        BROKEN.clear()
        BROKEN.update(values)
        platform.clock.ms += HOUR_MS
        times.append(timestamp(platform.clock.ms))
        assert redrive(platform.runtime(), "e") == platform.clock.ms
        platform.clock.ms += HOUR_MS
        deliver_all(platform)
    assert seen == [None, times[0], times[1], times[1]]
    BROKEN.clear()
    fork(platform.runtime(), ForkRequest(execution="e", name="f", node="C", visit=1, value=None), None)
    deliver_all(platform)
    assert seen[4:] == [None], "a fork was never redriven"


def test_a_reference_to_the_time_fails_before_a_redrive() -> None:
    platform = deployed(chain("A", "B", B={"Parameters": {"at.$": "$$.Execution.RedriveTime"}}))
    platform.start("e", 1)
    deliver_all(platform)
    ending = platform.ending()
    assert ending is not None
    assert isinstance(ending.outcome, Failure)
    assert ending.outcome.error == "States.Runtime"


@pytest.mark.parametrize("distributed", [{}, DISTRIBUTED], ids=["inline", "distributed"])
def test_requests_of_one_redrive_have_one_time_wherever_they_die(distributed: dict[str, Any]) -> None:
    branch = chain("A", "B", "C", B=DATED, C=DATED) | distributed
    for number in range(99):
        seen: list[Any] = []
        definition = around(branch, after="D")
        definition["States"]["D"] |= DATED
        one = dated(seen)
        platform = failed(definition, [1, 2, 3], 2, B=one, C=one, D=dated(seen, pick=tuple))
        seen.clear()
        platform.clock.ms += HOUR_MS
        platform.store = cut = CutStore(platform.memory, number, is_made=bool(number % 2))
        with suppress(Died):
            redrive(platform.runtime(), "e")
        platform.store = platform.memory
        platform.clock.ms += HOUR_MS
        go_on(platform)
        assert len(seen) > 2
        assert (len(set(seen)), None in seen) == (1, False)
        if cut.calls.total() < number:
            break
    assert number > 9


@pytest.mark.parametrize("distributed", [{}, DISTRIBUTED], ids=["inline", "distributed"])
def test_step_of_a_redrive_is_as_old_as_its_time(distributed: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    branch = chain("A", "B", B=DATED) | distributed
    platform = failed(around(branch, after="D"), [1, 2, 3], 2, B=dated(seen))
    query = platform.memory.query

    def slow(*positional: Any, **named: Any) -> Any:
        platform.clock.ms += 1_000
        return query(*positional, **named)

    monkeypatch.setattr(platform.memory, "query", slow)
    seen.clear()
    at_ms = redrive(platform.runtime(), "e")
    monkeypatch.undo()
    deliver_all(platform)
    assert set(seen) == {timestamp(at_ms)}


def test_times_of_several_requests_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def latest(rt: Runtime, *what: Any) -> int:
        pin(rt, *what)
        return rt.clock.now_ms()

    pin = redrive_module.pin
    monkeypatch.setattr(redrive_module, "pin", latest)
    with pytest.raises(AssertionError):
        test_requests_of_one_redrive_have_one_time_wherever_they_die({})


def test_nothing_travels_where_nobody_asks() -> None:
    platform = failed(chain("A", "B"), 1, 1, B=fragile)
    go_on(platform)
    assert all(not step.continuation.variables for step in platform.steps())


def test_a_count_that_does_not_reach_what_was_kept_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redrive_module, "of_execution", lambda _: {})
    with pytest.raises(AssertionError):
        test_a_branch_that_goes_on_in_the_middle_sees_it()


def test_a_count_that_does_not_reach_distributed_branches_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(advance, "of_execution", lambda _: {})
    monkeypatch.setattr(redrive_module, "of_execution", lambda _: {})
    with pytest.raises(AssertionError):
        test_branches_see_it_those_that_were_kept_and_those_after_them(DISTRIBUTED)
