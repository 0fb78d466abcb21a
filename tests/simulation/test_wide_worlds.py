"""Short searches with all faults at once; `search.py` runs longer ones."""

import pytest

from tests.simulation.wide_worlds import WORLDS
from unum_simulator import search

RUNS = 4


@pytest.mark.parametrize("world", WORLDS)
def test_by_chance(world: str) -> None:
    assert search(WORLDS[world](), range(RUNS)).ends == RUNS
