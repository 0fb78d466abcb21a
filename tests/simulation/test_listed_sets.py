"""Several deliveries may see one set complete, as in S3, and every execution still has one result."""

from dataclasses import fields
from typing import Any

import pytest

from tests.simulation.listed_sets import ListedBefore, ListedScenario
from tests.simulation.scenarios import scenario
from unum_simulator import Faults, Violation, explore, search

GRAPHS = ["diamond", "map", "nested maps", "map in a loop", "limited map", "failing branches"]


def listed(graph: str, faults: Faults, **more: Any) -> ListedScenario:
    plain = scenario(graph, faults=faults)
    return ListedScenario(**{each.name: getattr(plain, each.name) for each in fields(plain)}, **more)


@pytest.mark.parametrize("graph", GRAPHS)
def test_sets_that_are_listed_complete_every_fan_out_once(graph: str) -> None:
    found = search(listed(graph, Faults(crashes=1, duplicates=1, throttles=1, repeats=1)), range(15))
    assert found.ends == 15


def test_every_interleaving_of_two_branches() -> None:
    assert explore(listed("diamond", Faults(crashes=1, duplicates=0))).is_complete


def test_a_list_before_the_write_is_found() -> None:
    with pytest.raises(Violation):
        explore(listed("diamond", Faults(crashes=0, duplicates=0), sets=ListedBefore))
