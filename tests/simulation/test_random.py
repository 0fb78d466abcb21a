"""Random ways through every graph, under many faults at once."""

import os

import pytest

from tests.simulation.graphs import GRAPHS
from tests.simulation.scenarios import RANDOM, scenario
from unum_simulator import search

RUNS = int(os.environ.get("UNUM_SIMULATION_RUNS", "1"))


@pytest.mark.parametrize("way", RANDOM)
@pytest.mark.parametrize("graph", GRAPHS)
def test_random_ways(graph: str, way: str) -> None:
    assert search(scenario(graph, **RANDOM[way]), range(RUNS)).ends == RUNS
