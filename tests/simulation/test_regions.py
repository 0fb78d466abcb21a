"""Regions, whatever happens; beside what `test_random` does with all graphs."""

from dataclasses import replace
from typing import Any

import pytest

from tests.simulation.region_scenarios import REGIONS
from tests.simulation.scenarios import BOTH, CRASH, DUPLICATE, STOP, scenario
from tests.simulation.test_neighbours import LOST, PEOPLE
from unum_runtime.model.ir import Collection
from unum_simulator import Faults, explore, search

ONE_BY_ONE = ("region", "wavefront", "region in a map")
RUNS = 3
MAX_STATES = 300


def long(graph: str) -> Any:
    """Mark a graph for long searches only, because of its many interleavings."""
    return pytest.param(graph, marks=pytest.mark.long)


@pytest.mark.parametrize("faults", [CRASH, DUPLICATE], ids=["crash", "duplicate"])
@pytest.mark.parametrize("graph", ["region of two sources", "region of two sinks", long("region")])
def test_every_way_with_a_fault(graph: str, faults: Faults) -> None:
    assert explore(scenario(graph, faults=faults)).is_complete


@pytest.mark.parametrize("faults", [CRASH, DUPLICATE], ids=["crash", "duplicate"])
@pytest.mark.parametrize("graph", ONE_BY_ONE)
def test_every_order_of_whole_deliveries_with_a_fault(graph: str, faults: Faults) -> None:
    assert explore(scenario(graph, faults=replace(faults, concurrency=1))).is_complete


@pytest.mark.parametrize("graph", [*ONE_BY_ONE, "region whose failure is caught", "region that is retried"])
@pytest.mark.parametrize("collection", Collection)
def test_every_order_without_faults(graph: str, collection: Collection) -> None:
    faults = Faults(crashes=0, duplicates=0, concurrency=2)
    assert explore(scenario(graph, faults=faults, collection=collection)).is_complete


@pytest.mark.parametrize("graph", ["region", "wavefront", "region in a map", "map in a region"])
@pytest.mark.parametrize("collection", Collection)
def test_every_order_with_a_stop(graph: str, collection: Collection) -> None:
    assert explore(scenario(graph, faults=STOP, collection=collection)).is_complete


@pytest.mark.parametrize("graph", REGIONS)
@pytest.mark.parametrize("collection", Collection)
def test_ways_with_a_crash_and_a_duplicate(graph: str, collection: Collection) -> None:
    assert explore(scenario(graph, faults=BOTH, collection=collection), max_states=MAX_STATES).states


@pytest.mark.parametrize("graph", REGIONS)
@pytest.mark.parametrize("faults", [PEOPLE, LOST], ids=["nudged and redriven", "lost"])
def test_what_was_lost_is_found(graph: str, faults: Faults) -> None:
    assert search(scenario(graph, faults=faults), range(RUNS)).ends == RUNS
