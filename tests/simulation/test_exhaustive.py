"""Everything that may happen to small graphs, within bounds; what takes minutes is for `make simulate`."""

from dataclasses import replace
from typing import Any

import pytest

from tests.simulation.scenarios import BOTH, CRASH, DUPLICATE, STOP, scenario
from unum_runtime.model.ir import Collection
from unum_simulator import Faults, explore


def long(graph: str) -> Any:
    """Mark a graph for long searches only, because of its many interleavings."""
    return pytest.param(graph, marks=pytest.mark.long)


SMALL = [
    "chain",
    "diamond",
    "loop in a map",
    "empty map",
    "fan-out first",
    "prefixes",
    "own time",
]
"""Graphs with few enough interleavings to see all of them with a duplicate, too."""

LARGER = ["map", "limited map", "branches without tasks"]

RECOVERING = [
    "retry of a task",
    "two retriers",
    "retry whose attempt is seen",
    "retry of a leased task",
    "retry of an unguarded task",
    "retry exhausted then catch",
    "retry without a rule",
    "catch of a task",
    "retry of one branch",
    "retry of one branch that waits",
    "wait before a task",
    "wait at the end",
    "wait first",
    "wait in a branch",
    "two waits",
    "wait as long as the result says",
    "polled task",
    "job",
    "retry of a job",
    "timeout during a wait",
    "timeout during a retry",
    "timeout between retries of a scope",
]
"""The same of workflows that fail and go on, or wait."""

PAUSE = Faults(crashes=0, duplicates=0, jumps=1, jump_s=(3,))
"""Some events come late, others that have to wait meanwhile, before them."""


@pytest.mark.parametrize(
    "graph",
    [
        *SMALL,
        *LARGER,
        *RECOVERING,
        "nested maps of one column",
        "catch of a scope",
        "map without join",
        "leased chain",
        "unguarded map",
        "uncommitted tasks",
        "one function at both ends",
        "condition after a map",
        "times",
        "growing results",
        "runaway loop",
        "loop over a map beyond its budget",
    ],
)
def test_every_way_with_one_crash(graph: str) -> None:
    assert explore(scenario(graph, faults=CRASH)).is_complete


@pytest.mark.parametrize("graph", [*SMALL, *LARGER, *RECOVERING, long("nested maps of one row")])
def test_every_way_with_one_duplicate(graph: str) -> None:
    assert explore(scenario(graph, faults=DUPLICATE)).is_complete


@pytest.mark.parametrize(
    "graph",
    [
        *RECOVERING,
        "variables over failures",
        "variables through a map",
        "tolerated failures",
        "too many failures",
        "catch of a scope",
        "catch that goes on in a branch",
        "retry of a parallel",
        "retry of a limited map",
        long("retry of a map around a map"),
        "retry of a shared result",
    ],
)
def test_every_way_with_a_pause(graph: str) -> None:
    assert explore(scenario(graph, faults=PAUSE)).is_complete


@pytest.mark.parametrize(
    "graph", ["chain", "own time", "retry of a task", "wait before a task", "timeout during a wait"]
)
@pytest.mark.parametrize("collection", Collection)
def test_every_way_with_a_crash_and_a_duplicate(graph: str, collection: Collection) -> None:
    assert explore(scenario(graph, faults=BOTH, collection=collection)).is_complete


@pytest.mark.parametrize("graph", ["diamond", long("fan-out first"), "empty map", "retry of one branch"])
def test_every_way_with_eager_collection(graph: str) -> None:
    assert explore(scenario(graph, faults=CRASH, collection=Collection.EAGER)).is_complete


@pytest.mark.parametrize(
    ("graph", "concurrency"),
    [
        ("diamond", 3),
        pytest.param("nested maps in place", 2, marks=pytest.mark.long),  # with three, more than 60,000 states
        pytest.param("failing branches", 3, marks=pytest.mark.long),
    ],
)
def test_every_order_without_faults(graph: str, concurrency: int) -> None:
    faults = Faults(crashes=0, duplicates=0, concurrency=concurrency)
    assert explore(scenario(graph, faults=faults, collection=Collection.EAGER)).is_complete


@pytest.mark.parametrize("graph", ["chain", "diamond"])
def test_every_way_with_a_loss_and_a_throttle(graph: str) -> None:
    faults = Faults(crashes=0, duplicates=0, throttles=1, losses=1, concurrency=1)
    assert explore(scenario(graph, faults=faults)).is_complete


@pytest.mark.parametrize("faults", [replace(STOP, crashes=1), replace(STOP, duplicates=1)], ids=["crash", "duplicate"])
@pytest.mark.parametrize(
    "graph",
    [
        "chain",
        "three rounds",
        "uncommitted tasks",
        "leased chain",
        "wait before a task",
        "retry of a task",
        "polled task",
        "timeout during a wait",
    ],
)
def test_every_way_with_a_stop(graph: str, faults: Faults) -> None:
    assert explore(scenario(graph, faults=faults)).is_complete


@pytest.mark.parametrize(
    "graph",
    [
        "diamond",
        "map",
        "limited map",
        "loop in a map",
        long("nested maps of one row"),
        "uncommitted tasks in a map",
        "unguarded map",
        "wait in a branch",
        "catch of a scope",
        long("tolerated failures"),
        "retry of one branch",
        long("retry of a parallel"),
    ],
)
@pytest.mark.parametrize("collection", Collection)
def test_every_order_with_a_stop(graph: str, collection: Collection) -> None:
    faults = replace(STOP, concurrency=2 if collection is Collection.EAGER else 3)  # it has more calls to interleave
    assert explore(scenario(graph, faults=faults, collection=collection)).is_complete


@pytest.mark.parametrize("graph", ["chain", "map", "fan-out first"])
def test_every_order_with_two_stops(graph: str) -> None:
    assert explore(scenario(graph, faults=replace(STOP, stops=2))).is_complete


def test_every_way_with_a_duplicate_hours_and_days_later() -> None:
    faults = Faults(crashes=0, duplicates=2, jumps=2, concurrency=1)
    assert explore(scenario("chain", faults=faults)).is_complete
