"""Eager collection empties every set of a fan-out that is over: of shards, quorums, packs, regions and neighbours."""

from typing import Any

import pytest

from tests.unit.protocol.control.test_nudge import drawn
from tests.unit.protocol.map_platform import deployed, mapped
from tests.unit.protocol.platform import Platform
from unum_compiler import graph as g
from unum_runtime.cold_start.records import replace
from unum_runtime.model.checkpoint import TOMBSTONE, Status
from unum_runtime.model.ir import Collection

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
