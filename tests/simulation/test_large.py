"""Every value is an object, and every event refers to its input: nothing else may change."""

import os

import pytest

from tests.simulation.large_mutations import EVERYTHING, TruncatingObjects
from tests.simulation.scenarios import CRASH, DUPLICATE, RANDOM, scenario
from unum_simulator import Violation, explore, search

RUNS = int(os.environ.get("UNUM_SIMULATION_RUNS", "10"))
GRAPHS = (
    "chain",
    "map",
    "map without join",
    "nested maps",
    "map in a loop",
    "limited map",
    "variables through a map",
    "retry of a map",
    "catch that goes on in a branch",
    "shared results",
    "polled task",
)


@pytest.mark.parametrize(
    "way", [way if way == "everything" else pytest.param(way, marks=pytest.mark.long) for way in RANDOM]
)
@pytest.mark.parametrize("graph", GRAPHS)
def test_random_ways_with_objects(graph: str, way: str) -> None:
    assert search(scenario(graph, **EVERYTHING, **RANDOM[way]), range(RUNS)).ends == RUNS


@pytest.mark.parametrize("faults", [CRASH, DUPLICATE], ids=["crash", "duplicate"])
def test_every_way_with_objects(faults: object) -> None:
    assert explore(scenario("chain", faults=faults, **EVERYTHING)).is_complete


def test_changed_content_is_noticed_before_its_use() -> None:
    with pytest.raises(Violation, match="expected content with the SHA-256 in its name"):
        search(scenario("chain", store=TruncatingObjects, **EVERYTHING), range(1))
