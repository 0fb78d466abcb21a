"""Signals by key: to several executions, early and late, twice, cut off, and at the same time as their waits."""

from typing import Any

import pytest

from tests.simulation.signal_key_mutations import KEY_MUTATIONS, KeyMutation
from tests.simulation.signal_key_scenarios import GRAPHS, of
from tests.simulation.signal_scenarios import CRASH, DUPLICATE, GIVEN_UP, LOST, ONE, REPEATED, TWO, WIDE
from unum_runtime.model.ir import Collection
from unum_simulator import Faults, Violation, explore, search

MAX_STATES = 4_000


def long(*given: Any) -> Any:
    """Mark a search for explicit requests only."""
    return pytest.param(*given, marks=pytest.mark.long)


@pytest.mark.parametrize(
    ("graph", "faults"),
    [
        ("for ever", REPEATED),
        ("later", ONE),
        ("later", TWO),
        long("timeout", ONE),
        ("twice", ONE),
        long("later", REPEATED),
        long("timeout", REPEATED),
        long("twice", TWO),
        long("retry", TWO),
        long("branches", ONE),
    ],
)
def test_every_way_of_a_signal_by_key(graph: str, faults: Faults) -> None:
    assert explore(of(graph, faults)).is_complete


@pytest.mark.parametrize("faults", [ONE, CRASH], ids=["once", "cut off"])
def test_ways_to_two_executions(faults: Faults) -> None:
    assert explore(of("for ever", faults, others=1), max_states=800).states


@pytest.mark.parametrize("graph", ["later", "branches"])
@pytest.mark.parametrize("faults", [CRASH, DUPLICATE, LOST, GIVEN_UP], ids=["crash", "duplicate", "lost", "given up"])
def test_ways_of_a_signal_by_key_and_a_fault(graph: str, faults: Faults) -> None:
    assert explore(of(graph, faults, collection=Collection.EAGER), max_states=250).states


@pytest.mark.parametrize("graph", GRAPHS)
def test_by_chance(graph: str) -> None:
    assert search(of(graph, WIDE, others=1, tick_ms=1), range(2)).ends == 2


@pytest.mark.parametrize("mutation", [pytest.param(mutation, id=name) for name, mutation in KEY_MUTATIONS.items()])
def test_a_mistake_is_found(mutation: KeyMutation, monkeypatch: pytest.MonkeyPatch) -> None:
    mutation.patch(monkeypatch)
    with pytest.raises(Violation) as found:
        explore(of(mutation.graph, mutation.faults, others=mutation.others), max_states=MAX_STATES)
    assert found.value.invariant in mutation.breaks
