"""Writes and events of nudges: none while deliveries are active, and all that earlier ones lost."""

import pytest

from tests.unit.protocol.control.test_nudge import Forgetful, drawn
from tests.unit.protocol.counting_store import CountingStore
from tests.unit.protocol.map_platform import around, deployed, mapped, result
from tests.unit.protocol.platform import Platform, chain
from unum_compiler import graph as g
from unum_runtime.model.checkpoint import Status
from unum_runtime.model.ir import Collection
from unum_runtime.model.naming import SHARD_SIZE, checkpoint_key
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
def test_arrival_of_a_previous_branch_that_continued_is_repeated(index: int) -> None:
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


def test_overdue_arrival_causes_a_repeat_of_the_previous_branchs_arrival() -> None:
    platform = neighbours()
    deliver(platform, "encode", 1)
    platform.clock.pass_seconds(100)
    deliver(platform, "encode", 0)
    platform.memory._sets.clear()  # as if both had died before they arrived
    platform.sent.clear()
    nudge(platform.runtime(), "e", silent_ms=60_000)
    assert [(each.state, each.name.frames[-1].index) for each in platform.sent] == [("meet", 1), ("encode", 2)]


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


def test_a_question_without_time_tells_that_it_has_not_seen_all() -> None:
    platform = deployed(mapped("A"))
    platform.start("e", [*range(SHARD_SIZE + 1)])
    platform.options["remaining_ms"] = lambda: 1
    found = missing(platform.runtime(), "e")
    assert (found.total, found.is_done) == (SHARD_SIZE, False)


def test_a_nudge_for_other_commits_does_not_resume_one_that_was_cut_off() -> None:
    platform = deployed(mapped("A"))
    platform.start("e", [*range(SHARD_SIZE + 1)])
    platform.clock.pass_seconds(1)
    platform.options["remaining_ms"] = lambda: 1
    assert not nudge(platform.runtime(), "e").is_done
    del platform.options["remaining_ms"]
    platform.sent.clear()
    assert nudge(platform.runtime(), "e", silent_ms=1_000).total == SHARD_SIZE + 1
    platform.sent.clear()
    assert nudge(platform.runtime(), "e").total == 1, "the same again resumes"
    assert nudge(platform.runtime(), "e").total == SHARD_SIZE + 1, "and the next one begins anew"


def test_failed_branch_of_a_quorum_counts_and_the_next_one_begins_once() -> None:
    branch = g.map(g.task("half"), items=g.out)
    flow = g.map(branch, items=g.out, at_once=1, name="outer").quorum(2)
    platform = drawn(flow, half=lambda n: n / 2)
    platform.start("e", ["no", [2, 4], [6, 8]])
    platform.sent.clear()
    nudge(platform.runtime(), "e")
    assert [each.state for each in platform.sent] == ["half", "half"]
    platform.deliver_all()
    assert result(platform) == [[1, 2], [3, 4]]


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
def test_search_that_finds_collected_results_leaves_the_fan_out_to_its_end(*, kept: bool) -> None:
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


def test_failure_that_was_not_counted_counts_beside_branches_that_run() -> None:
    def fail_odd(event: int) -> int:
        if event % 2:
            raise ValueError(event)
        return event

    platform = drawn(g.map(g.task("A"), items=g.out).quorum(2), A=fail_odd)
    platform.start("e", [1, 3, 2])
    first, second, _ = platform.sent
    platform.sent.clear()
    platform.store = Forgetful(platform.memory)
    platform.deliver(first)
    platform.store = platform.memory
    nudge(platform.runtime(), "e")
    platform.deliver(second)
    ending = platform.ending()
    assert ending is not None
    assert ending.status is Status.FAILED


def test_search_that_was_cut_off_sends_nothing_again() -> None:
    branch = chain("A", "N")
    branch["States"]["N"] = {"Type": "Map", "ItemProcessor": chain("B"), "End": True}
    platform = deployed(around(branch))
    platform.start("e", [[1, 2], [3]])
    platform.deliver(platform.sent[0])
    platform.sent.clear()
    platform.options["remaining_ms"] = lambda: 1
    found = [nudge(platform.runtime(), "e") for _ in range(2)]
    assert [each.is_done for each in found] == [False, True]
    assert [(event.state, event.name.frames[-1].index) for event in platform.sent] == [("A", 1), ("B", 0), ("B", 1)]
    assert [each.total for each in found] == [1, 2]


def test_failure_that_decides_a_part_is_continued_from_once() -> None:
    caught = {"Catch": [{"ErrorEquals": ["States.ALL"], "Next": "C"}]}
    platform = deployed(mapped("A", after="C", **caught), A=_fail)
    platform.start("e", [1, 2])
    platform.store = Forgetful(platform.memory)
    first, _ = platform.sent
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("unum_runtime.protocol.delivery.perform.fail", lambda *_: [])
        platform.deliver(first)
    platform.store = platform.memory
    platform.sent.clear()
    nudge(platform.runtime(), "e")
    assert [event.state for event in platform.sent] == ["C"]


def _fail(event: int) -> int:
    raise ValueError(event)
