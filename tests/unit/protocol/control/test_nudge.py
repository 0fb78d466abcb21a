"""Executions that lost an event and continue after a nudge."""

from collections import Counter
from typing import Any

import pytest

from tests.unit.protocol.callback_platform import asking
from tests.unit.protocol.map_platform import Later, Mortal, deployed, lose, mapped, result
from tests.unit.protocol.platform import Platform, chain
from unum_compiler import graph as g
from unum_compiler.options import FunctionOptions
from unum_constructs import Definition
from unum_runtime.errors import ExecutionDoesNotExist, NotOurEvent
from unum_runtime.model.checkpoint import Failure, Success, start_record
from unum_runtime.model.naming import Execution, start_key
from unum_runtime.model.states import Guard
from unum_runtime.protocol.control.nudge import missing, nudge
from unum_runtime.protocol.control.throttles import Throttle, note_throttle
from unum_runtime.protocol.history.pending import WaitsFor

UNGUARDED = FunctionOptions(guard=Guard.COMMIT)


class Forgetful:
    """A store that loses additions to sets, as a delivery does that dies before them."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def add(self, *_: Any, **__: Any) -> frozenset[int]:
        return frozenset()


def go_on(platform: Platform) -> None:
    nudge(platform.runtime(), "e")
    platform.deliver_all()


def test_a_chain_whose_event_was_lost_goes_on() -> None:
    platform = deployed(chain("A", "B", "C"))
    platform.start("e", 1)
    lose(platform, "B")
    (found,) = missing(platform.runtime(), "e")
    assert (found.state, found.name.step, found.waits_for) == ("B", 2, WaitsFor.DELIVERY)
    assert (found.since_ms, platform.sent) == (platform.clock.ms, [])
    go_on(platform)
    assert (result(platform), platform.calls) == (1, {"A": 1, "B": 1, "C": 1})
    assert missing(platform.runtime(), "e") == []


def test_an_execution_begins_of_which_there_is_only_the_start_record() -> None:
    platform = deployed(chain("A", "B"))
    record = start_record(Execution("e", platform.clock.ms), 5)
    platform.memory.create(start_key("w", "e"), record.to_item(), expires_at_s=10**12)
    assert [each.state for each in missing(platform.runtime(), "e")] == ["A"]
    go_on(platform)
    assert result(platform) == 5


@pytest.mark.parametrize("options", [{}, dict.fromkeys("ABC", UNGUARDED)])
@pytest.mark.parametrize("limit", [{}, {"MaxConcurrency": 1}, {"MaxConcurrency": 2}])
@pytest.mark.parametrize("lost", ["A", "B"])
def test_branches_go_on_and_what_has_committed_does_not_run_again(lost: str, limit: Any, options: Any) -> None:
    platform = deployed(mapped("A", "B", after="C", **limit), options)
    platform.start("e", [0, 1, 2, 3, 4])
    lose(platform, lost, 1, 3)
    assert platform.ending() is None
    while platform.ending() is None:
        assert missing(platform.runtime(), "e")
        nudge(platform.runtime(), "e")
        lose(platform, lost)
    assert (result(platform), platform.calls) == ([0, 1, 2, 3, 4], Counter(A=5, B=5, C=1))


def test_a_join_that_was_lost_is_made_up_for() -> None:
    platform = deployed(mapped("A", after="C"))
    platform.start("e", [1, 2, 3])
    lose(platform, "C")
    assert [each.state for each in missing(platform.runtime(), "e")] == ["M"]
    go_on(platform)
    assert (result(platform), platform.calls) == ([1, 2, 3], Counter(A=3, C=1))


def test_branches_are_counted_that_died_before_they_were() -> None:
    platform = deployed(mapped("A", after="C"))
    platform.start("e", [1] * 600)
    platform.store = Forgetful(platform.memory)
    for _ in range(300):
        platform.deliver(platform.sent.pop(0))
    platform.store = platform.memory
    platform.deliver_all()
    assert platform.ending() is None
    go_on(platform)
    assert (result(platform), platform.calls) == ([1] * 600, Counter(A=600, C=1))


def test_wide_fan_out_whose_branches_have_all_ended_waits_for_its_join() -> None:
    platform = deployed(mapped("A", after="C"))
    platform.start("e", [1] * 600)
    lose(platform, "C")
    (found,) = missing(platform.runtime(), "e")
    assert (found.state, found.waits_for, found.since_ms) == ("M", WaitsFor.DELIVERY, platform.clock.ms)


def test_of_many_pending_commits_the_first_are_kept_and_all_are_counted() -> None:
    platform = deployed(mapped("A"))
    platform.start("e", [1] * 150)
    platform.sent.clear()
    found = missing(platform.runtime(), "e")
    assert (len(found), found.total, found.is_done) == (100, 150, True)
    assert [each.name.frames[-1].index for each in found] == [*range(100)]


def test_a_failure_of_a_branch_that_nobody_was_told_of_fails_the_execution() -> None:
    platform = deployed(mapped("A", after="C", Catch=[{"ErrorEquals": ["States.ALL"], "Next": "C"}]), A=_refuse)
    platform.start("e", [1, 2])
    event = platform.sent.pop(0)
    reading, platform.memory.read = platform.memory.read, _die_at("M", platform.memory.read)
    with pytest.raises(ConnectionError):
        platform.deliver(event)
    platform.memory.read = reading
    platform.sent.clear()
    assert [each.state for each in missing(platform.runtime(), "e")] == ["M"]
    go_on(platform)
    assert result(platform)["Error"] == "ValueError"


def test_a_time_that_has_not_come_is_told_and_waited_for() -> None:
    definition = chain("A", "B")
    definition["States"]["A"]["Next"] = "W"
    definition["States"]["W"] = {"Type": "Wait", "Seconds": 60, "Next": "B"}
    platform = deployed(definition)
    platform.start("e", 1)
    (found,) = nudge(platform.runtime(), "e")
    due_ms = platform.clock.ms + 60_000
    assert (found.waits_for, found.until_ms, platform.sent) == (WaitsFor.TIME, due_ms, [])
    assert [due for _, due in platform.options["timer"].kept] == [due_ms, due_ms]


def drawn(flow: g.Piece, **functions: Any) -> Platform:
    """A platform with a workflow that is drawn as a graph."""
    platform = Platform(Definition.from_graph(flow).compile("w", None), functions)
    platform.options["timer"] = Later()
    return platform


@pytest.mark.parametrize("lost", [(0,), (1,), (2,), (0, 1, 2)])
@pytest.mark.parametrize("state", ["encode", "meet"])
def test_neighbours_meet_whose_events_were_lost(state: str, lost: tuple[int, ...]) -> None:
    flow = g.map(g.task("encode") >> g.task("meet").meets_previous(), items=g.out)
    platform = drawn(flow, encode=lambda n: n * 10, meet=lambda both: both)
    platform.start("e", [1, 2, 3])
    lose(platform, state, *lost)
    while platform.ending() is None:
        assert nudge(platform.runtime(), "e")
        platform.deliver_all()
    assert (result(platform), platform.calls) == ([[None, 10], [10, 20], [20, 30]], Counter(encode=3, meet=3))


def test_a_quorum_is_enough() -> None:
    platform = drawn(g.map(g.task("half"), items=g.out).quorum(2), half=lambda n: n / 2)
    platform.start("e", [2, 4, 6])
    lose(platform, "half", 0, 2)
    assert [each.name.frames[-1].index for each in nudge(platform.runtime(), "e")] == [0, 2]
    lose(platform, "half", 2)
    assert result(platform) == [1, 2]
    assert missing(platform.runtime(), "e") == []


def test_whoever_has_the_token_is_waited_for() -> None:
    asked = asking()
    asked.begun()
    asked.later.clear()
    (found,) = nudge(asked.platform.runtime(), "e")
    assert (found.state, found.waits_for) == ("Ask", WaitsFor.ANSWER)
    assert (asked.platform.sent, asked.later) == ([], [])


def test_an_answer_of_which_nobody_was_told_is_gone_on_from() -> None:
    asked = asking()
    asked.answer(asked.begun())
    asked.platform.sent.clear()
    (found,) = nudge(asked.platform.runtime(), "e")
    assert found.waits_for is WaitsFor.DELIVERY
    asked.platform.deliver_all()
    assert asked.outcome == Success("yes")
    assert asked.platform.calls["Ask"] == 1


def test_a_time_limit_that_passed_while_nobody_looked_is_gone_on_from() -> None:
    asked = asking(TimeoutSeconds=60)
    asked.begun()
    ((_, look),) = asked.later
    asked.later.clear()
    asked.platform.clock.pass_seconds(61)
    asked.platform.store = Mortal(asked.platform.memory, 1)
    with pytest.raises(ConnectionError):
        asked.platform.deliver(look)
    asked.platform.store = asked.platform.memory
    nudge(asked.platform.runtime(), "e")
    asked.platform.deliver_all()
    assert asked.outcome == Failure("States.Timeout", None)


def test_an_execution_that_is_none_or_of_another_version_is_refused() -> None:
    platform = deployed(chain("A", "B"))
    platform.start("e", 1)
    with pytest.raises(ExecutionDoesNotExist, match="'x'"):
        nudge(platform.runtime(), "x")
    other = deployed(chain("A", "B", "C"))
    other.memory = other.store = platform.memory
    with pytest.raises(NotOurEvent, match="found IR"):
        nudge(other.runtime(), "e")


def _refuse(event: Any) -> Any:
    raise ValueError(event)


def _die_at(state: str, reading: Any) -> Any:
    """`reading`, that fails where somebody looks for what `state` was entered with, after a branch has failed."""

    def read(keys: Any) -> Any:
        found = reading([*keys])
        if any(item.get("state") == state for item in found.values()):
            raise ConnectionError(state)
        return found

    return read


@pytest.mark.parametrize(("passed_s", "sent"), [(59, []), (60, ["B"])])
def test_event_that_waited_for_concurrency_is_sent_when_it_is_overdue(passed_s: int, sent: list[str]) -> None:
    platform = deployed(chain("A", "B"))
    platform.start("e", 1)
    lose(platform, "B")
    (found,) = missing(platform.runtime(), "e")
    platform.clock.pass_seconds(1_000)
    note_throttle(platform.runtime(), found.name, Throttle(found.since_ms, platform.clock.ms))
    platform.clock.pass_seconds(passed_s)
    nudge(platform.runtime(), "e", silent_ms=60_000)
    assert [event.state for event in platform.sent] == sent
