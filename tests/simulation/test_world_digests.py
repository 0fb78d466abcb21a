"""Digests of worlds: a search visits worlds of one digest once, so what allows other moves must change it."""

from dataclasses import replace

import pytest

from tests.simulation.scenarios import scenario
from tests.simulation.stage import PLENTY, Stage
from unum_runtime.model.checkpoint import Ending, Status, Success
from unum_simulator.world import World


@pytest.fixture
def world() -> World:
    """A chain that has ended."""
    play = Stage(scenario("chain", faults=PLENTY))
    play.run()
    return play.world


def test_a_copy_has_the_digest_of_its_original(world: World) -> None:
    assert world.copy().digest() == world.digest()


def test_what_was_observed_of_an_execution_changes_the_digest(world: World) -> None:
    ending = Ending(Status.ABORTED, Success("other"))
    digests = {world.digest()}
    for seen in ({"ending": ending}, {"is_dead": True}, {"value": "other"}):
        other = world.copy()
        other.note(**seen)
        digests.add(other.digest())
    assert len(digests) == 4


def test_equal_observations_have_one_digest(world: World) -> None:
    assert replace(world.own).digest == world.own.digest
