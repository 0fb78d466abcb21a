"""Executions whose events are lost without a trace are found by sweeps, and go on as if nothing had been."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.simulation.definitions import Graph
from tests.simulation.recovery_scenarios import RECOVERING
from tests.simulation.scenarios import scenario
from unum_runtime.protocol.control import nudge
from unum_runtime.protocol.history import pending
from unum_runtime.protocol.history.pending import WaitsFor
from unum_simulator import Faults, Invariant, Scenario, Violation, explore, search

LOST = Faults(crashes=0, duplicates=0, vanishes=1)
LOST_AND_CRASH = Faults(crashes=1, duplicates=0, vanishes=1)
HARSH = Faults(crashes=1, duplicates=1, throttles=1, vanishes=3, concurrency=3)


@pytest.mark.parametrize(
    "graph", ["chain", "diamond", "limited map", "retry of a task", "job", "retry of a job", "long wait"]
)
def test_any_event_may_be_lost(graph: str) -> None:
    assert explore(scenario(graph, faults=LOST)).is_complete


@pytest.mark.parametrize("graph", ["chain", "diamond", "job"])
def test_any_event_may_be_lost_and_any_delivery_die(graph: str) -> None:
    assert explore(scenario(graph, faults=LOST_AND_CRASH), max_states=2_000).states


@pytest.mark.parametrize(
    "graph", ["retry of a map", "retry of a limited map", "retry of one branch that waits", "jobs of branches"]
)
def test_by_chance(graph: str) -> None:
    assert search(of(RECOVERING[graph], HARSH), range(12)).ends == 12


def of(graph: Graph, faults: Faults) -> Scenario:
    return Scenario(workflow=graph.workflow(), functions=graph.functions, input=graph.input, faults=faults)


def finds_nothing(patch: pytest.MonkeyPatch) -> None:
    """Nothing is ever silent."""
    patch.setattr(nudge, "is_overdue", lambda *_: False)


def waits_for_ever(patch: pytest.MonkeyPatch) -> None:
    """A Task with retriers may take any time."""
    patch.setattr(pending, "longest_wait_ms", lambda retriers: 10**12 if retriers else 0)


def leaves_jobs_alone(patch: pytest.MonkeyPatch) -> None:
    """A job may take any time, as if nothing told whether anybody looks at it."""
    expected = pending._expected_ms
    patch.setattr(
        pending, "_expected_ms", lambda flow, each: None if each.waits_for is WaitsFor.JOB else expected(flow, each)
    )


def sends_none(patch: pytest.MonkeyPatch) -> None:
    """Never send the first lost event."""
    taking = nudge._Search.take
    patch.setattr(nudge._Search, "take", lambda search, pending: taking(search, pending[1:]))


@pytest.mark.parametrize(
    ("mistake", "graph"),
    [
        (finds_nothing, "chain"),
        (finds_nothing, "limited map"),
        (waits_for_ever, "retry of a task"),
        (sends_none, "chain"),
        (leaves_jobs_alone, "job"),
    ],
)
def test_a_mistake_is_found(
    mistake: Callable[[pytest.MonkeyPatch], Any], graph: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mistake(monkeypatch)
    with pytest.raises(Violation) as found:
        search(scenario(graph, faults=LOST), range(200))
    assert found.value.invariant is Invariant.NO_LOST_WORK
