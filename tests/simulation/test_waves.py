"""Waves, whatever happens; beside what `test_random` does with all graphs."""

from dataclasses import replace
from typing import Any

import pytest

from tests.simulation.scenarios import BOTH, CRASH, DUPLICATE, STOP, scenario
from tests.simulation.test_neighbours import LOST, PEOPLE
from tests.simulation.wave_scenarios import WAVES
from unum_runtime.model.ir import Collection
from unum_simulator import Faults, explore, search

RUNS = 1
MAX_STATES = 40


def long(graph: str) -> Any:
    """Mark a graph for long searches only, because of its many interleavings."""
    return pytest.param(graph, marks=pytest.mark.long)


@pytest.mark.parametrize("faults", [CRASH, DUPLICATE], ids=["crash", "duplicate"])
@pytest.mark.parametrize("graph", [long("wave of another step"), long("wave in a lane")])
def test_every_way_with_a_fault(graph: str, faults: Faults) -> None:
    assert explore(scenario(graph, faults=faults)).is_complete


@pytest.mark.parametrize("faults", [CRASH, DUPLICATE], ids=["crash", "duplicate"])
@pytest.mark.parametrize("graph", ["wave", "wave of three", *map(long, ("wave in lanes", "wave in a distributed map"))])
def test_every_order_of_whole_deliveries_with_a_fault(graph: str, faults: Faults) -> None:
    assert explore(scenario(graph, faults=replace(faults, concurrency=1))).is_complete


@pytest.mark.parametrize("graph", ["wave of three", "wave in lanes", "wave that is retried", long("wave around a map")])
@pytest.mark.parametrize("collection", Collection)
def test_every_order_without_faults(graph: str, collection: Collection) -> None:
    faults = Faults(crashes=0, duplicates=0, concurrency=2)
    assert explore(scenario(graph, faults=faults, collection=collection)).is_complete


@pytest.mark.parametrize("graph", ["wave", "wave in a lane"])
@pytest.mark.parametrize("collection", Collection)
def test_every_order_with_a_stop(graph: str, collection: Collection) -> None:
    assert explore(scenario(graph, faults=STOP, collection=collection)).is_complete


@pytest.mark.parametrize("graph", WAVES)
@pytest.mark.parametrize("collection", Collection)
def test_ways_with_a_crash_and_a_duplicate(graph: str, collection: Collection) -> None:
    assert explore(scenario(graph, faults=BOTH, collection=collection), max_states=MAX_STATES).states


@pytest.mark.parametrize("graph", WAVES)
@pytest.mark.parametrize("faults", [PEOPLE, LOST], ids=["nudged and redriven", "lost"])
def test_what_was_lost_is_found(graph: str, faults: Faults) -> None:
    assert search(scenario(graph, faults=faults), range(RUNS)).ends == RUNS
