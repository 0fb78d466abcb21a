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
from unum_runtime.model.ir import Collection
from unum_simulator import Faults, Violation, explore, search

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
