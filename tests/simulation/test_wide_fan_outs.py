"""Wide fan-outs begin in parts, whatever happens; with so few branches in each that parts have parts."""

from dataclasses import replace
from typing import Any

import pytest

from tests.simulation.scenarios import BOTH, CRASH, RANDOM, scenario
from tests.simulation.wide_fan_outs import LANES, MOST_BEGUN, PARTED
from unum_runtime.model.ir import Collection
from unum_simulator import Faults, explore, search

PEOPLE = Faults(crashes=2, duplicates=2, throttles=2, nudges=2, redrives=2, concurrency=3)
LOST = Faults(crashes=1, duplicates=0, throttles=1, losses=1, concurrency=2)
RUNS = 4
MAX_STATES = 1_500


@pytest.mark.parametrize("graph", ["map in parts", "part that fails"])
@pytest.mark.parametrize("collection", Collection)
def test_ways_with_one_crash(graph: str, collection: Collection) -> None:
    given = scenario(graph, faults=CRASH, collection=collection, most_begun=MOST_BEGUN)
    assert explore(given, max_states=MAX_STATES).states


@pytest.mark.long
@pytest.mark.parametrize("graph", ["map in parts", "part that fails"])
def test_every_way_with_one_crash(graph: str) -> None:
    assert explore(scenario(graph, faults=CRASH, most_begun=MOST_BEGUN)).is_complete


@pytest.mark.long
@pytest.mark.parametrize(
    "faults", [replace(CRASH, concurrency=1), Faults(crashes=0, duplicates=0, concurrency=3)], ids=["crash", "three"]
)
@pytest.mark.parametrize("graph", ["many narrow maps", "wide window"])
def test_every_order_within_narrower_bounds(graph: str, faults: Faults) -> None:
    """With a crash and two deliveries at a time there are too many states: those are for the random search."""
    assert explore(scenario(graph, faults=faults, most_begun=MOST_BEGUN)).is_complete


@pytest.mark.long
def test_every_way_with_a_crash_and_a_duplicate_in_sequence() -> None:
    """With two at a time the search does not end within minutes."""
    assert explore(scenario("map in parts", faults=replace(BOTH, concurrency=1), most_begun=MOST_BEGUN)).is_complete


@pytest.mark.parametrize("graph", [pytest.param("lane", marks=pytest.mark.long), "lane that fails"])
@pytest.mark.parametrize("in_one_function", [True, False])
def test_every_way_of_a_lane(graph: str, *, in_one_function: bool) -> None:
    assert explore(scenario(graph, faults=CRASH, in_one_function=in_one_function)).is_complete


@pytest.mark.parametrize("graph", LANES)
@pytest.mark.parametrize("fields", [{"in_one_function": True}, {"collection": Collection.EAGER}, {}], ids=str)
def test_ways_of_lanes(graph: str, fields: dict[str, Any]) -> None:
    assert explore(scenario(graph, faults=BOTH, **fields), max_states=MAX_STATES // 3).states


@pytest.mark.long
@pytest.mark.parametrize("graph", ["limited map without join", "lane that tolerates failures", "limited map in packs"])
@pytest.mark.parametrize("in_one_function", [True, False])
def test_every_way_of_lanes(graph: str, *, in_one_function: bool) -> None:
    assert explore(scenario(graph, faults=CRASH, in_one_function=in_one_function)).is_complete


@pytest.mark.parametrize("graph", LANES)
@pytest.mark.parametrize("faults", [PEOPLE, LOST], ids=["nudged and redriven", "lost"])
def test_lanes_by_chance(graph: str, faults: Faults) -> None:
    assert search(scenario(graph, faults=faults, in_one_function=True), range(RUNS)).ends == RUNS


@pytest.mark.parametrize("graph", PARTED)
@pytest.mark.parametrize("way", ["everything", "eager", "stopped", "in one function"])
def test_parts_by_chance(graph: str, way: str) -> None:
    assert search(scenario(graph, most_begun=MOST_BEGUN, **RANDOM[way]), range(RUNS)).ends == RUNS


@pytest.mark.parametrize("graph", PARTED)
@pytest.mark.parametrize("faults", [PEOPLE, LOST], ids=["nudged and redriven", "lost"])
def test_parts_are_found_that_were_lost(graph: str, faults: Faults) -> None:
    assert search(scenario(graph, faults=faults, most_begun=MOST_BEGUN), range(RUNS)).ends == RUNS
