"""Sets that are read and then replaced lose no addition, whoever crashes or comes in between."""

from dataclasses import replace

import pytest

from tests.simulation.conditional_sets import ConditionalSets, LosingSets
from tests.simulation.test_listed_sets import listed
from unum_simulator import Faults, Violation, explore, search

GRAPHS = ["diamond", "map", "nested maps", "limited map"]


@pytest.mark.parametrize("graph", GRAPHS)
def test_sets_that_are_replaced_complete_every_fan_out_once(graph: str) -> None:
    faults = Faults(crashes=1, duplicates=1, throttles=1, repeats=1)
    assert search(listed(graph, faults, sets=ConditionalSets), range(8)).ends == 8


@pytest.mark.long
def test_every_interleaving_of_two_branches_and_a_crash() -> None:
    assert explore(listed("diamond", Faults(crashes=1, duplicates=0), sets=ConditionalSets)).is_complete


def test_a_write_without_a_condition_is_found() -> None:
    scenario = listed("diamond", Faults(crashes=0, duplicates=0), sets=ConditionalSets)
    assert explore(scenario).is_complete
    with pytest.raises(Violation):
        explore(replace(scenario, sets=LosingSets))
