"""Runs of the formal model, made by the runtime's own code in the simulator."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.formal import spin
from tests.formal.check import MISTAKES, SCENARIOS
from tests.formal.replay import Replay, lines
from tests.simulation import broken_stores, control_scenarios, mutations, stop_mutations, test_forks
from unum_simulator.invariants import Broken, Invariant
from unum_simulator.simulated_store import SimulatedStore

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not spin.is_installed(), reason=spin.MISSING),
]

SEEDS = range(30)


@dataclass(frozen=True)
class Planted:
    """A mistake of the model in the runtime's code, or in its store.

    Attributes:
        breaks: the invariant that it breaks.
        patch: puts it into the code.
        store: a store with the mistake.
    """

    breaks: Invariant
    patch: Callable[[pytest.MonkeyPatch], None] = lambda _: None
    store: Callable[[Any], SimulatedStore] = SimulatedStore


PLANTED = {
    "loser stops": Planted(Invariant.NO_LOST_WORK, mutations.loser_stops),
    "own outcome": Planted(Invariant.SAME_VIEW, mutations.plan_from_own_outcome),
    "counter": Planted(Invariant.NO_LOST_WORK, store=broken_stores.CountingStore),
    "complete first": Planted(Invariant.NO_LOST_WORK, mutations.continue_before_commit),
    "only at transition": Planted(Invariant.NO_LOST_WORK, store=broken_stores.TransitionStore),
    "overwrite": Planted(Invariant.CONSISTENT, store=broken_stores.OverwritingStore),
    "stop beside": Planted(Invariant.ONE_RESULT, stop_mutations.stop_after_the_next_step),
    "opens first": Planted(Invariant.NO_RERUN, control_scenarios.carries_after_the_commit),
    "fork is a start": Planted(Invariant.SAME_VIEW, test_forks.records_a_start),
    "nudge adds nothing": Planted(Invariant.NO_LOST_WORK, control_scenarios.nudges_without_counting),
}


def test_every_mistake_of_the_model_is_planted_in_the_code() -> None:
    assert PLANTED.keys() == MISTAKES.keys()


@pytest.mark.parametrize("name", MISTAKES)
def test_a_counterexample_breaks_the_code_with_the_same_mistake_alone(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mistake, planted = MISTAKES[name], PLANTED[name]
    found = lines(spin.counterexample(mistake.options, is_liveness=mistake.is_silent))
    Replay(found, is_strict=False).run()
    planted.patch(monkeypatch)
    broken = Replay(found, store=planted.store)
    with pytest.raises(Broken) as violation:
        broken.run()
    assert violation.value.invariant is planted.breaks
    # A broken assertion is the run's last line; an execution that never ends is seen after it.
    assert broken.at == len(found) - (not mistake.is_silent)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_code_makes_the_writes_of_random_runs_of_the_model(scenario: str) -> None:
    for seed in SEEDS:
        run = lines(spin.random_run(SCENARIOS[scenario], seed))
        assert run
        Replay(run).run()
