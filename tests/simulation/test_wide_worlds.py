"""Everything at once, for a moment; `search.py` does it for as long as it is told."""

import pytest

from tests.simulation.wide_worlds import WORLDS
from unum_simulator import search

RUNS = 4


@pytest.mark.parametrize("world", WORLDS)
def test_by_chance(world: str) -> None:
    assert search(WORLDS[world](), range(RUNS)).ends == RUNS
