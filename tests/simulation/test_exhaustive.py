"""Everything that may happen to small graphs, within bounds."""

import pytest
from scenarios import BOTH, CRASH, DUPLICATE, scenario

from unum_runtime.model.ir import Collection
from unum_runtime.simulator import Faults, explore

SMALL = [
    "chain",
    "diamond",
    "map",
    "loop in a map",
    "empty map",
    "limited map",
    "branches without tasks",
    "fan-out first",
    "prefixes",
    "own time",
]
"""Graphs with few enough interleavings to see all of them with a duplicate, too."""


@pytest.mark.parametrize(
    "graph",
    [
        *SMALL,
        "map without join",
        "leased chain",
        "unguarded map",
        "uncommitted tasks",
        "one function at both ends",
        "condition after a map",
        "times",
        "growing results",
        "runaway loop",
    ],
)
def test_every_way_with_one_crash(graph: str) -> None:
    assert explore(scenario(graph, faults=CRASH)).is_complete


@pytest.mark.parametrize("graph", SMALL)
def test_every_way_with_one_duplicate(graph: str) -> None:
    assert explore(scenario(graph, faults=DUPLICATE)).is_complete


@pytest.mark.parametrize("graph", ["chain", "empty map", "own time"])
@pytest.mark.parametrize("collection", Collection)
def test_every_way_with_a_crash_and_a_duplicate(graph: str, collection: Collection) -> None:
    assert explore(scenario(graph, faults=BOTH, collection=collection)).is_complete


@pytest.mark.parametrize("graph", ["diamond", "empty map"])
def test_every_way_with_eager_collection(graph: str) -> None:
    assert explore(scenario(graph, faults=CRASH, collection=Collection.EAGER)).is_complete


@pytest.mark.parametrize("graph", ["diamond", "nested maps in place", "failing branches", "two fan-outs in a row"])
def test_every_order_without_faults(graph: str) -> None:
    faults = Faults(crashes=0, duplicates=0, concurrency=3)
    assert explore(scenario(graph, faults=faults, collection=Collection.EAGER)).is_complete


@pytest.mark.parametrize("graph", ["chain", "diamond"])
def test_every_way_with_a_loss_and_a_throttle(graph: str) -> None:
    faults = Faults(crashes=0, duplicates=0, throttles=1, losses=1, concurrency=1)
    assert explore(scenario(graph, faults=faults)).is_complete


def test_every_way_with_a_duplicate_hours_and_days_later() -> None:
    faults = Faults(crashes=0, duplicates=2, jumps=2, concurrency=1)
    assert explore(scenario("chain", faults=faults)).is_complete
