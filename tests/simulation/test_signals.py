"""Signals that come early, late, twice, with their wait at the same time, or never; waits in rows and branches."""

from typing import Any

import pytest

from tests.simulation.signal_mutations import SIGNAL_MUTATIONS, SignalMutation
from tests.simulation.signal_scenarios import (
    CRASH,
    DUPLICATE,
    GIVEN_UP,
    GRAPHS,
    LOST,
    NEVER,
    ONE,
    REPEATED,
    TWO,
    WIDE,
    of,
)
from unum_runtime.features.signals import signal
from unum_runtime.model.ir import Collection
from unum_runtime.model.naming import execution_partition
from unum_simulator import Faults, Invariant, Violation, explore, search

MAX_STATES = 4_000


def long(*given: Any) -> Any:
    """Mark a search for explicit requests only."""
    return pytest.param(*given, marks=pytest.mark.long)


@pytest.mark.parametrize("graph", ["for ever", "timeout", "later"])
@pytest.mark.parametrize("faults", [NEVER, ONE, TWO, REPEATED], ids=["never", "once", "twice", "repeated"])
def test_every_way_of_signals(graph: str, faults: Faults) -> None:
    assert explore(of(graph, faults)).is_complete


@pytest.mark.parametrize(
    ("graph", "faults"),
    [("retry", ONE), ("twice", ONE), long("retry", TWO), long("twice", TWO), long("abandoned", ONE), long("keys", ONE)],
)
def test_every_way_of_several_waits(graph: str, faults: Faults) -> None:
    assert explore(of(graph, faults)).is_complete


@pytest.mark.parametrize("graph", ["for ever", "timeout", "retry"])
@pytest.mark.parametrize("faults", [CRASH, DUPLICATE, LOST, GIVEN_UP], ids=["crash", "duplicate", "lost", "given up"])
@pytest.mark.parametrize("collection", Collection)
def test_ways_of_a_signal_and_a_fault(graph: str, faults: Faults, collection: Collection) -> None:
    assert explore(of(graph, faults, collection=collection), max_states=500).states


@pytest.mark.parametrize("graph", GRAPHS)
def test_by_chance(graph: str) -> None:
    assert search(of(graph, WIDE, tick_ms=1), range(6)).ends == 6


@pytest.mark.parametrize("mutation", [pytest.param(mutation, id=name) for name, mutation in SIGNAL_MUTATIONS.items()])
def test_a_mistake_is_found(mutation: SignalMutation, monkeypatch: pytest.MonkeyPatch) -> None:
    mutation.patch(monkeypatch)
    with pytest.raises(Violation) as found:
        explore(of(mutation.graph, mutation.faults), max_states=MAX_STATES)
    assert found.value.invariant in mutation.breaks


def test_refusal_by_an_end_before_a_redrive_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def any_end(store: Any, workflow: str, execution: Any) -> Any:
        items = store.query(execution_partition(workflow, execution)).values()
        return next(((item["status"], item["at"]) for item in items if "status" in item), None)

    monkeypatch.setattr(signal, "end_of", any_end)
    faults = Faults(crashes=0, duplicates=0, splits=1, redrives=1, signals=3)
    with pytest.raises(Violation) as found:
        search(of("timeout", faults, tick_ms=1), range(60))
    assert found.value.invariant is Invariant.NO_LOST_WORK
    assert "is refused while the execution runs" in str(found.value)
