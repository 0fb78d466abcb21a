"""Packs of every size hold whatever happens; with one branch in each, a fan-out has as many packs as branches."""

from dataclasses import replace

import pytest

from tests.simulation.control_scenarios import FAILING
from tests.simulation.definitions import Graph
from tests.simulation.pack_scenarios import PACKED
from tests.simulation.scenarios import BOTH, CRASH, RANDOM, scenario
from unum_runtime.model import naming
from unum_runtime.model.checkpoint import Status
from unum_runtime.model.ir import Collection
from unum_runtime.protocol.fanout.packing import packed_tasks
from unum_simulator import Faults, Scenario, explore, search
from unum_simulator.exploration import random_run

PEOPLE = Faults(crashes=2, duplicates=2, throttles=2, nudges=2, redrives=2, concurrency=3)
ALONE, PAIRS = 1, 2
RUNS = 4
MAX_STATES = 3_000


@pytest.fixture(params=[ALONE, PAIRS], ids=["alone", "pairs"])
def small_packs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(naming, "PACK_SIZE", request.param)


@pytest.mark.parametrize("graph", PACKED.values(), ids=PACKED)
def test_the_graphs_have_packs(graph: Graph) -> None:
    assert packed_tasks(graph.workflow())


@pytest.mark.parametrize("graph", ["results in packs", "results that are large at first"])
def test_every_way_with_one_crash(graph: str) -> None:
    assert explore(scenario(graph, faults=CRASH)).is_complete


@pytest.mark.parametrize("graph", ["results in packs", "results that are large at first"])
def test_eager_collection_with_one_crash(graph: str) -> None:
    assert explore(scenario(graph, faults=CRASH, collection=Collection.EAGER), max_states=MAX_STATES).states


@pytest.mark.usefixtures("small_packs")
@pytest.mark.parametrize("graph", ["results in packs", "results of two sizes"])
def test_small_packs_with_a_crash_and_a_duplicate(graph: str) -> None:
    assert explore(scenario(graph, faults=BOTH), max_states=MAX_STATES).states


@pytest.mark.usefixtures("small_packs")
@pytest.mark.parametrize("graph", PACKED)
@pytest.mark.parametrize("way", ["everything", "eager"])
def test_small_packs_by_chance(graph: str, way: str) -> None:
    assert search(scenario(graph, **RANDOM[way]), range(RUNS)).ends == RUNS


@pytest.mark.parametrize("graph", PACKED)
def test_people_nudge_and_redrive(graph: str) -> None:
    assert search(scenario(graph, faults=PEOPLE), range(RUNS)).ends == RUNS


def test_a_redrive_keeps_results_in_packs() -> None:
    graph = replace(FAILING["branch"], small_results=True)
    redriven = Scenario(
        workflow=graph.workflow(),
        functions=graph.functions,
        input=graph.input,
        faults=Faults(crashes=0, duplicates=0, redrives=1),
    )
    endings = [random_run(redriven, seed).ending.status for seed in range(8)]
    assert Status.SUCCEEDED in endings
