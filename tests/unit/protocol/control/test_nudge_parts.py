"""What nudges write and send: nothing where nobody is silent, and again whatever an earlier one sent in vain."""

import pytest

from tests.unit.protocol.control.test_nudge import Forgetful, drawn
from tests.unit.protocol.counting_store import CountingStore
from tests.unit.protocol.map_platform import deployed, mapped, result
from tests.unit.protocol.platform import Platform
from unum_compiler import graph as g
from unum_runtime.model.ir import Collection
from unum_runtime.model.naming import checkpoint_key
from unum_runtime.protocol.control.nudge import missing, nudge

NEIGHBOURS = g.map(g.task("encode") >> g.task("meet").meets_previous(), items=g.out)
MET = [[None, 10], [10, 20], [20, 30]]


def neighbours() -> Platform:
    platform = drawn(NEIGHBOURS, encode=lambda n: n * 10, meet=lambda both: both)
    platform.start("e", [1, 2, 3])
    return platform


def deliver(platform: Platform, state: str, index: int) -> None:
    (event,) = (each for each in platform.sent if (each.state, each.name.frames[-1].index) == (state, index))
    platform.sent.remove(event)
    platform.deliver(event)


@pytest.mark.parametrize("index", [1, 2])
def test_the_arrival_of_the_previous_branch_is_repeated_though_that_has_gone_on(index: int) -> None:
    platform = neighbours()
    for each in range(index):
        deliver(platform, "encode", each)
        deliver(platform, "meet", each)
    platform.memory._sets.clear()  # as if each had died before it told the next branch
    deliver(platform, "encode", index)
    assert [each.state for each in platform.sent] == ["encode"] * (2 - index)
    nudge(platform.runtime(), "e")
    platform.deliver_all()
    assert (result(platform), platform.calls) == (MET, {"encode": 3, "meet": 3})


def test_a_branch_does_not_meet_one_that_has_not_arrived() -> None:
    platform = neighbours()
    deliver(platform, "encode", 1)
    platform.sent.clear()
    nudge(platform.runtime(), "e")
    assert [(each.state, each.name.frames[-1].index) for each in platform.sent] == [("encode", 0), ("encode", 2)]
    platform.deliver_all()
    assert (result(platform), platform.calls) == (MET, {"encode": 3, "meet": 3})


def half_ended() -> tuple[Platform, CountingStore]:
    """Return a platform on which two of four branches have ended and the others' events are lost; count all calls."""
    platform = deployed(mapped("A", after="C"))
    platform.start("e", [1, 2, 3, 4])
    for _ in range(2):
        platform.deliver(platform.sent.pop(0))
    platform.sent.clear()
    counting = CountingStore(platform.memory)
    platform.store = counting
    return platform, counting


def test_a_question_writes_nothing() -> None:
    platform, counting = half_ended()
    assert len(missing(platform.runtime(), "e")) == 2
    assert set(counting.calls) == {"read", "query"}
    assert platform.sent == []


@pytest.mark.parametrize(("silence_s", "added", "sent"), [(59, 0, 0), (61, 1, 2)])
def test_ended_branches_are_counted_again_only_if_another_is_silent(silence_s: int, added: int, sent: int) -> None:
    platform, counting = half_ended()
    platform.clock.pass_seconds(silence_s)
    nudge(platform.runtime(), "e", silent_ms=60_000)
    assert (counting.calls["add"], len(platform.sent)) == (added, sent)


def test_a_nudge_sends_again_what_an_earlier_one_sent_in_vain() -> None:
    platform = deployed(mapped("A", after="C"))
    platform.start("e", [*range(600)])
    for _ in range(2):
        platform.sent.clear()
        assert nudge(platform.runtime(), "e").total == 600
        assert len(platform.sent) == 600
    platform.deliver_all()
    assert result(platform) == [*range(600)]


@pytest.mark.parametrize("width", [3, 600])
def test_a_fan_out_that_a_nudge_completes_is_pending_since_its_last_end(width: int) -> None:
    platform = deployed(mapped("A", after="C"))
    platform.start("e", [*range(width)])
    platform.store = Forgetful(platform.memory)
    while platform.sent:
        platform.clock.ms += 1
        platform.deliver(platform.sent.pop(0))
    platform.store = platform.memory
    last_ms = platform.clock.ms
    platform.clock.pass_seconds(1_000)
    (found,) = nudge(platform.runtime(), "e")
    assert (found.state, found.since_ms) == ("M", last_ms)
    platform.deliver_all()
    assert result(platform) == [*range(width)]


@pytest.mark.parametrize("kept", [False, True], ids=["all are collected", "the branches are collected"])
def test_a_search_that_finds_collected_results_leaves_the_fan_out_to_its_end(*, kept: bool) -> None:
    platform = deployed(mapped("A", after="C"))
    platform.collection = Collection.EAGER
    platform.start("e", [1, 2])
    key = checkpoint_key("w", platform.steps()[0].name)
    opened = platform.memory._items[key]
    platform.deliver_all()
    for step in platform.steps():
        if not step.name.frames and step.name.step > 1:  # a reader that was slower than the end
            del platform.memory._items[checkpoint_key("w", step.name)]
    if kept:
        platform.memory._items[key] = opened
    platform.logged.clear()
    assert [*missing(platform.runtime(), "e")] == []
    ((message, fields),) = platform.logged
    assert (message, set(fields)) == ("refused", {"reason"})
    assert "collected" in fields["reason"]
