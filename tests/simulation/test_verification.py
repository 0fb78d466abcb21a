"""A verification believes every history that the protocol makes, whatever dies, comes twice or comes late."""

import os
from collections.abc import Iterator
from typing import Any

import pytest

from tests.simulation import signal_scenarios
from tests.simulation.control_scenarios import FAILING
from tests.simulation.definitions import Graph
from tests.simulation.graphs import GRAPHS
from tests.simulation.neighbour_scenarios import MEETINGS, QUORUMS
from tests.simulation.pack_scenarios import PACKED
from tests.simulation.recovery_scenarios import RECOVERING
from tests.simulation.region_scenarios import REGIONS
from tests.simulation.scenarios import RANDOM, scenario
from tests.simulation.verified_worlds import Made, run_by_chance
from tests.simulation.wave_scenarios import WAVES
from tests.simulation.wide_worlds import WORLDS
from unum_client.past_reader import StoredDescriptions
from unum_runtime.model.checkpoint import Status
from unum_runtime.model.ir import Collection
from unum_simulator import Faults, Scenario

RUNS = int(os.environ.get("UNUM_SIMULATION_RUNS", "1"))

FAULTS = Faults(
    crashes=2, duplicates=2, throttles=2, nudges=2, redrives=2, splits=1, freezes=1, skews=2, repeats=1, give_ups=2,
    stops=1, jumps=2, concurrency=3,
)  # fmt: skip

FEATURES: dict[str, Graph] = {**REGIONS, **WAVES, **QUORUMS, **MEETINGS, **PACKED, **RECOVERING, **FAILING}


def feature(graph: str, **fields: Any) -> Scenario:
    """A graph of one feature, with redrives among what operators do."""
    found = FEATURES[graph]
    return Scenario(
        workflow=found.workflow(), functions=found.functions, input=found.input, faults=FAULTS, tick_ms=1, **fields
    )


def faults_of(made: Made) -> Iterator[str]:
    """Return all faults of a run's executions."""
    return (str(each) for found in made.verified() for each in found.findings)


@pytest.mark.parametrize("world", WORLDS)
def test_histories_with_forks_and_redrives_are_believed(world: str) -> None:
    for seed in range(10 * RUNS):
        assert [*faults_of(run_by_chance(WORLDS[world](), seed))] == []


@pytest.mark.parametrize("way", RANDOM)
def test_histories_of_all_graphs_are_believed(way: str) -> None:
    # Each graph in one of the ways; a longer search takes all of them.
    step = 1 if RUNS > 1 else len(RANDOM)
    for graph in [*GRAPHS][[*RANDOM].index(way) % step :: step]:
        for seed in range(RUNS):
            assert [*faults_of(run_by_chance(scenario(graph, **RANDOM[way]), seed))] == []


@pytest.mark.parametrize("graph", FEATURES)
def test_histories_of_regions_waves_and_packs_are_believed(graph: str) -> None:
    for seed in range(2 * RUNS):
        least_bytes = 8 if seed % 2 and graph not in FAILING else None
        assert [*faults_of(run_by_chance(feature(graph, least_bytes=least_bytes), seed))] == []


@pytest.mark.parametrize("seed", [10, 14])
def test_waits_that_a_redrive_kept_are_believed(seed: int) -> None:
    assert [*faults_of(run_by_chance(feature("wait in a branch"), seed))] == []


def test_throttles_near_the_timeout_are_believed() -> None:
    assert [*faults_of(run_by_chance(feature("timeout during a retry", least_bytes=8), 5))] == []


@pytest.mark.parametrize("graph", signal_scenarios.GRAPHS)
def test_histories_with_signals_are_believed(graph: str) -> None:
    for seed in range(3 * RUNS):
        assert [*faults_of(run_by_chance(signal_scenarios.of(graph, signal_scenarios.WIDE), seed))] == []


@pytest.mark.parametrize("graph", FEATURES)
def test_collected_histories_are_believed(graph: str) -> None:
    faults = Faults(crashes=2, duplicates=2, stops=1, nudges=1, skews=2, concurrency=3)
    found = FEATURES[graph]
    given = Scenario(
        workflow=found.workflow(),
        functions=found.functions,
        input=found.input,
        faults=faults,
        collection=Collection.EAGER,
        tick_ms=1,
    )
    for seed in range(RUNS):
        assert [*faults_of(run_by_chance(given, seed))] == []


@pytest.mark.parametrize("days", [0.5, 6.9, 7.1, 20, 100])
def test_histories_that_expire_are_believed(days: float) -> None:
    for world, seed in (("map", 1), ("failing", 2), ("chain", 3), ("tokens", 0)):
        made = run_by_chance(WORLDS[world](), seed)
        ended = [each for each in made.names if _has_ended(made, each)]
        assert ended
        later = made.later(round(days * 86_400))
        found = [str(each) for each in faults_of(later) if each.partition(":")[0] in ended]
        assert found == []


def _has_ended(made: Made, name: str) -> bool:
    store = made.scenario.protocol_store(made.store, made.store)
    return StoredDescriptions(store=store, workflow=made.scenario.workflow.name).status(name) is not Status.RUNNING
