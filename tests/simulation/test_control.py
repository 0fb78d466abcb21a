"""People nudge executions at any time and redrive those that have failed."""

from dataclasses import replace
from typing import Any

import pytest

from tests.simulation import control_scenarios
from tests.simulation.control_scenarios import FAILING, IN_PLACE, UNGUARDED
from tests.simulation.definitions import Graph
from tests.simulation.recovery_scenarios import RECOVERING
from tests.simulation.scenarios import scenario
from unum_runtime.model.checkpoint import Status
from unum_simulator import Faults, Invariant, Scenario, Violation, explore, search
from unum_simulator.exploration import random_run
from unum_simulator.moves import Kind

NUDGE = Faults(crashes=0, duplicates=0, nudges=1)
NUDGE_AND_CRASH = Faults(crashes=1, duplicates=0, nudges=1)
REDRIVE = Faults(crashes=0, duplicates=0, redrives=1)
REDRIVE_AND_CRASH = Faults(crashes=1, duplicates=0, redrives=1)
REDRIVES = Faults(crashes=0, duplicates=0, redrives=2)
STOP_AND_REDRIVE = Faults(crashes=0, duplicates=0, stops=1, redrives=1)
STOP_REDRIVE_AND_THROTTLE = Faults(crashes=0, duplicates=0, throttles=1, stops=1, redrives=1)
STOP_REDRIVE_AND_FAULTS = Faults(crashes=1, duplicates=0, throttles=2, stops=1, redrives=1)
STOPS_AND_REDRIVES = Faults(crashes=1, duplicates=1, stops=2, redrives=3, concurrency=3)
HARSH = Faults(crashes=2, duplicates=2, throttles=2, nudges=2, redrives=2, concurrency=3)
MAX_STATES = 1_000


def of(graph: Graph, faults: Faults) -> Scenario:
    return Scenario(workflow=graph.workflow(), functions=graph.functions, input=graph.input, faults=faults)


@pytest.mark.parametrize("graph", ["chain", "diamond", "limited map", "retry of a task"])
def test_a_nudge_at_any_time(graph: str) -> None:
    assert explore(scenario(graph, faults=NUDGE)).is_complete


@pytest.mark.parametrize("graph", ["chain", "retry of a task"])
def test_a_nudge_and_a_crash(graph: str) -> None:
    assert explore(scenario(graph, faults=NUDGE_AND_CRASH)).is_complete


@pytest.mark.parametrize("graph", FAILING)
@pytest.mark.parametrize("faults", [REDRIVE, REDRIVES], ids=["one", "two"])
def test_a_redrive_in_every_way(graph: str, faults: Faults) -> None:
    assert explore(of(FAILING[graph], faults), max_states=MAX_STATES).states


@pytest.mark.parametrize("graph", ["chain", "diamond", "limited map", "wait in a branch", "retry of a parallel"])
def test_a_redrive_of_what_was_stopped(graph: str) -> None:
    assert explore(scenario(graph, faults=STOP_AND_REDRIVE), max_states=MAX_STATES).states


@pytest.mark.parametrize("graph", ["wait before a task", "wait at the end", "wait first", "long wait", "two waits"])
def test_what_was_stopped_in_a_wait_goes_on_at_its_time(graph: str) -> None:
    assert explore(scenario(graph, faults=STOP_AND_REDRIVE)).is_complete


@pytest.mark.parametrize(
    "graph", ["task", "branch", "second step of a branch", "branch that is told the count", "join"]
)
def test_redrives_of_what_failed_or_was_stopped_by_chance(graph: str) -> None:
    assert search(of(FAILING[graph], STOPS_AND_REDRIVES), range(12)).ends == 12


def test_redrive_times_are_consistent_on_clocks_that_run_and_differ() -> None:
    faults = replace(STOPS_AND_REDRIVES, skews=2)
    assert search(replace(of(FAILING["branch that is told the count"], faults), tick_ms=1), range(12)).ends == 12


def test_what_was_stopped_and_redriven_succeeds() -> None:
    runs = [random_run(scenario("chain", faults=STOP_AND_REDRIVE), seed) for seed in range(24)]
    again = [run for run in runs if any(move.kind is Kind.REQUEST for move in run.trace.moves)]
    assert again
    assert {run.ending.status for run in again} == {Status.SUCCEEDED}


@pytest.mark.parametrize("graph", ["task", "branch", "join"])
def test_a_redrive_and_a_crash(graph: str) -> None:
    assert explore(of(FAILING[graph], REDRIVE_AND_CRASH), max_states=MAX_STATES).states


def test_a_redrive_that_went_on_by_itself_and_failed() -> None:
    assert explore(of(IN_PLACE, STOP_REDRIVE_AND_THROTTLE), max_states=MAX_STATES).states


@pytest.mark.parametrize("graph", FAILING)
def test_by_chance(graph: str) -> None:
    assert search(of(FAILING[graph], HARSH), range(12)).ends == 12


@pytest.mark.parametrize("graph", FAILING)
def test_what_was_redriven_succeeds(graph: str) -> None:
    endings = [random_run(of(FAILING[graph], REDRIVE), seed).ending.status for seed in range(8)]
    assert Status.SUCCEEDED in endings


@pytest.mark.parametrize(
    ("mistake", "graph", "faults", "breaks"),
    [
        (control_scenarios.carries_after_the_commit, FAILING["branch"], REDRIVE_AND_CRASH, Invariant.NO_RERUN),
        (control_scenarios.carries_nothing, FAILING["branch"], REDRIVE, Invariant.NO_RERUN),
        (control_scenarios.nudges_what_has_committed, UNGUARDED, NUDGE, Invariant.NO_RERUN),
        (control_scenarios.redrives_once, IN_PLACE, STOP_REDRIVE_AND_FAULTS, Invariant.NO_LOST_WORK),
        (control_scenarios.redrives_at_once, RECOVERING["wait before a task"], STOP_AND_REDRIVE, Invariant.CONSISTENT),
        (control_scenarios.redrives_at_once, RECOVERING["wait at the end"], STOP_AND_REDRIVE, Invariant.CONSISTENT),
    ],
)
def test_a_mistake_is_found(
    mistake: Any, graph: Graph, faults: Faults, breaks: Invariant, monkeypatch: pytest.MonkeyPatch
) -> None:
    mistake(monkeypatch)
    with pytest.raises(Violation) as found:
        search(of(graph, faults), range(1_000))
    assert found.value.invariant is breaks
