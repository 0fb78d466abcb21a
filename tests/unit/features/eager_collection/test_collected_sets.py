"""Eager collection empties every set of a fan-out that is over: of shards, quorums, packs, regions and neighbours."""

from typing import Any

import pytest

from tests.unit.protocol.collected_keys import CollectedKeys
from tests.unit.protocol.control.test_nudge import drawn
from tests.unit.protocol.map_platform import around, deployed, mapped
from tests.unit.protocol.platform import Platform, chain
from unum_compiler import graph as g
from unum_runtime.cold_start.records import replace
from unum_runtime.errors import OutcomeCollected
from unum_runtime.features.eager_collection import collect
from unum_runtime.model.checkpoint import TOMBSTONE, Status, Success
from unum_runtime.model.ir import Collection
from unum_runtime.model.naming import Scope, checkpoint_key, meeting_key

NEIGHBOURS = g.map(g.task("A") >> g.task("B").meets_previous(), items=g.out)
WAVE = g.map(g.task("A") >> g.task("B").after_previous("A"), items=g.out)
REGION = g.dag({"A": g.task("A"), "B": g.task("B"), "C": g.task("C").after("A", "B"), "D": g.task("D").after("A", "B")})


def same(event: Any) -> Any:
    return event


def odd(event: Any) -> Any:
    if event % 2:
        raise ValueError(event)
    return event


def packed(width: int, result: Any = None, **fields: Any) -> tuple[Platform, Any]:
    platform = deployed(mapped("A", after="C", **fields), A=lambda event: event if result is None else result)
    platform.workflow = replace(platform.workflow, small_results=True)
    return platform, [*range(width)]


FAN_OUTS: dict[str, tuple[Platform, Any]] = {
    "one branch": (deployed(mapped("A", after="C")), [1]),
    "one part": (deployed(mapped("A", after="C")), [*range(20)]),
    "two parts": (deployed(mapped("A", after="C")), [*range(300)]),
    "one pack": packed(3),
    "packs": packed(20),
    "packs in two parts": packed(300),
    "large results in packs": packed(20, "x" * 1_000),
    "one large result in a pack": packed(1, "x" * 1_000),
    "lanes in packs": packed(20, MaxConcurrency=3),
    "lanes in packs, large results": packed(20, "x" * 1_000, MaxConcurrency=3),
    "lanes": (deployed(mapped("A", "B", after="C", MaxConcurrency=2)), [*range(6)]),
    "quorum": (drawn(g.map(g.task("A"), items=g.out).quorum(2), A=odd), [1, 2, 4, 3]),
    "neighbours": (drawn(NEIGHBOURS >> g.task("C"), A=same, B=same, C=same), [*range(5)]),
    "two neighbours": (drawn(NEIGHBOURS >> g.task("C"), A=same, B=same, C=same), [1, 2]),
    "wave": (drawn(WAVE >> g.task("C"), A=same, B=lambda both: both["own"], C=same), [*range(5)]),
    "region": (drawn(REGION >> g.task("E"), **dict.fromkeys("ABCDE", same)), 1),
}


@pytest.mark.parametrize("fan_out", FAN_OUTS)
def test_no_set_keeps_members_and_no_item_a_value(fan_out: str) -> None:
    platform, value = FAN_OUTS[fan_out]
    platform.collection = Collection.EAGER
    ending = platform.run("e", value)
    assert ending is not None
    assert ending.status is Status.SUCCEEDED
    assert [key for key, (members, _) in platform.memory._sets.items() if members] == []
    inside = {
        key: item
        for key, (item, _) in platform.memory._items.items()
        if key.partition.startswith("w/e:") and "/" in key.partition[4:]
    }
    assert inside
    assert [key for key, item in inside.items() if TOMBSTONE not in item] == []


def test_a_step_of_a_branch_collects_the_step_before_it_and_nothing_else() -> None:
    platform = deployed(mapped("A", "B", after="C"))
    platform.collection = Collection.EAGER
    platform.start("e", [1, 2])
    for _ in range(2):
        platform.deliver(platform.sent.pop())
    assert [key for key, (item, _) in platform.memory._items.items() if TOMBSTONE in item] == [
        checkpoint_key("w", replace(platform.sent[0].name, frames=last_branch(platform), step=0))
    ]


def last_branch(platform: Platform) -> Any:
    """Return the frames of the last branch."""
    (event,) = platform.sent
    return tuple(replace(frame, index=1) for frame in event.name.frames)


def test_a_result_that_opens_a_fan_out_stays_for_the_next_branch() -> None:
    inner = g.map(g.task("C"), items=g.out, name="inner")
    flow = g.map(g.task("A") >> inner >> g.task("D") >> g.task("B").after_previous("A"), items=g.out)
    platform = drawn(flow, A=lambda n: [n, n], C=same, D=same, B=lambda both: both["previous"])
    platform.collection = Collection.EAGER
    platform.start("e", [1, 2])
    first, second = platform.sent
    platform.sent = [first]
    platform.deliver_all()
    platform.sent = [second]
    platform.deliver_all()
    ending = platform.ending()
    assert ending is not None
    assert ending.outcome == Success([None, [1, 1]])


@pytest.mark.parametrize(("index", "expected"), [(0, [0, 1]), (2, [2, 3]), (4, [4])])
def test_a_branch_collects_the_meetings_with_its_two_neighbours_alone(index: int, expected: list[int]) -> None:
    platform = drawn(NEIGHBOURS >> g.task("C"), A=same, B=same, C=same)
    platform.start("e", [*range(5)])
    event = platform.sent[index]
    platform.deliver(event)
    (arrived,) = [step for step in platform.steps() if step.state == "A"]
    scope = Scope.around(event.name.execution, event.name.frames)
    found = collect._meeting_keys(platform.runtime(), arrived)
    assert found == [meeting_key("w", scope, at, 1) for at in expected]


@pytest.mark.parametrize(("fan_out", "sets"), [("one pack", 0), ("packs", 1), ("packs in two parts", 1)])
def test_a_fan_out_in_packs_has_a_set_of_packs_if_there_are_several(fan_out: str, sets: int) -> None:
    platform, value = packed({"one pack": 3, "packs": 20, "packs in two parts": 300}[fan_out])
    platform.start("e", value)
    (name,) = {replace(event.name, frames=()) for event in platform.sent}
    frames = platform.sent[0].name.frames
    scope = Scope.around(name.execution, frames)
    assert len(collect._set_keys(platform.runtime(), scope, range(scope.size))) == sets


def test_duplicate_continues_the_outermost_settled_fan_out() -> None:
    """The inner one is collected: its outcome leads nowhere, and that of the outer one to the next fan-out."""
    inner = {"StartAt": "N", "States": {"N": {"Type": "Map", "ItemProcessor": chain("A"), "End": True}}}
    definition = around(inner)
    del definition["States"]["M"]["End"]
    definition["States"]["M"]["Next"] = "O"
    definition["States"]["O"] = {"Type": "Map", "ItemProcessor": chain("C"), "End": True}
    platform = deployed(definition)
    platform.collection = Collection.EAGER
    platform.start("e", [[1]])
    (event,) = platform.sent
    platform.deliver(event)
    following = platform.sent[-1]
    assert following.state == "C"
    platform.sent.clear()
    with pytest.raises(OutcomeCollected):
        platform.deliver(event)
    assert [(each.name, each.state) for each in platform.sent] == [(following.name, "C")]


def left_members(platform: Platform) -> list[Any]:
    return [key for key, (members, _) in platform.memory._sets.items() if members]


def test_late_addition_to_the_set_of_a_failed_fan_out_is_taken_back() -> None:
    platform = deployed(mapped("A", after="C"), A=odd)
    platform.collection = Collection.EAGER
    platform.start("e", [2, 1])
    first, second = platform.sent
    platform.sent.clear()
    add = platform.memory.add

    def fail_before(*given: Any, **named: Any) -> Any:
        platform.memory.add = add
        platform.deliver(second)
        return add(*given, **named)

    platform.memory.add = fail_before
    platform.deliver(first)
    assert platform.memory._sets
    assert left_members(platform) == []


def test_late_failure_after_a_quorum_is_taken_back() -> None:
    platform = drawn(g.map(g.task("A"), items=g.out).quorum(1), A=odd)
    platform.collection = Collection.EAGER
    platform.start("e", [1, 2])
    first, second = platform.sent
    platform.sent.clear()
    add = platform.memory.add

    def succeed_before(*given: Any, **named: Any) -> Any:
        platform.memory.add = add
        platform.deliver(second)
        return add(*given, **named)

    platform.memory.add = succeed_before
    platform.deliver(first)
    assert len(platform.memory._sets) == 2
    assert left_members(platform) == []


def test_result_for_a_branch_that_never_arrives_goes_with_its_fan_out() -> None:
    inner = g.map(g.task("D"), items=g.out)
    flow = g.map(g.task("A") >> inner >> g.task("X") >> g.task("B").after_previous("A"), items=g.out)
    platform = drawn(flow, A=lambda items: [odd(each) for each in items], D=same, X=same, B=same)
    platform.collection = Collection.EAGER
    platform.run("e", [[2], [1]])
    assert platform.memory._sets
    assert left_members(platform) == []


def test_outcome_before_an_end_of_its_own_is_collected() -> None:
    platform = deployed(chain("A"), A=lambda _: "x" * 300_000)
    platform.workflow = deployed(
        {
            "StartAt": "A",
            "States": {
                "A": {"Type": "Task", "Resource": "A", "Next": "P"},
                "P": {"Type": "Pass", "Parameters": {"of.$": "$"}, "End": True},
            },
        }
    ).workflow
    platform.collection = Collection.EAGER
    ending = platform.run("e", 1)
    assert ending is not None
    assert ending.status is Status.SUCCEEDED
    first, last = platform.steps()
    assert (first.name.step, last.name.step) == (1, 2)
    assert TOMBSTONE in platform.memory._items[checkpoint_key("w", first.name)][0]


@pytest.mark.parametrize("definition", [chain("A", "B"), mapped("A", "B", after="C")], ids=["chain", "map"])
def test_plain_steps_collect_only_what_exists_and_query_no_jobs(definition: Any) -> None:
    platform = deployed(definition)
    platform.collection = Collection.EAGER
    platform.store = collected = CollectedKeys(platform.memory)
    platform.run("e", [1, 2])
    assert collected.keys
    assert [key for key in collected.keys if key not in platform.memory._items.keys() | platform.memory._sets] == []
    assert [partition for partition in collected.queried if partition.startswith("token:")] == []


def test_collection_of_a_failed_fan_out_reaches_ended_branches_inside() -> None:
    within = {"Type": "Map", "ItemProcessor": chain("A"), "End": True}
    inner = {"StartAt": "X", "States": {"X": {"Type": "Task", "Resource": "X", "Next": "N"}, "N": within}}
    platform = deployed(around(inner), X=lambda event: event or odd(1))
    platform.collection = Collection.EAGER
    platform.start("e", [[1, 2], []])
    first, second = platform.sent
    platform.sent.clear()
    platform.deliver(first)
    platform.deliver(platform.sent[0])  # of two branches inside, so that theirs goes on
    platform.deliver(second)
    ending = platform.ending()
    assert ending is not None
    assert ending.status is Status.FAILED
    inside = {key: item for key, (item, _) in platform.memory._items.items() if "/M" in key.partition}
    assert len(inside) == 3
    assert [key for key, item in inside.items() if TOMBSTONE not in item] == []


@pytest.mark.parametrize("flow", [NEIGHBOURS, WAVE], ids=["neighbours", "wave"])
def test_a_scope_is_collected_again_by_a_later_delivery(flow: g.Piece) -> None:
    platform = drawn(flow >> g.task("C"), A=same, B=lambda both: both[1] if isinstance(both, list) else both["own"])
    platform.collection = Collection.EAGER
    platform.functions["C"] = same
    platform.start("e", [1, 2])
    scope = Scope.around(platform.sent[0].name.execution, platform.sent[0].name.frames)
    platform.deliver_all()
    before = dict(platform.memory._items)
    collect.collect_scope(platform.runtime(), scope)
    assert platform.memory._items == before


def test_a_result_that_no_next_branch_used_leaves_no_arrival() -> None:
    platform = drawn(WAVE, A=lambda n: odd(1) if n == 3 else n, B=same)
    platform.collection = Collection.EAGER
    platform.start("e", [1, 2, 3])
    platform.deliver_all()
    assert platform.memory._sets
    assert [key for key, (members, _) in platform.memory._sets.items() if members] == []
