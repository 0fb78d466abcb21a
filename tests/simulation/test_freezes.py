"""A sandbox that freezes after the runtime's last look may run user code after another delivery has committed."""

from dataclasses import replace

import pytest

from tests.simulation.scenarios import scenario
from tests.simulation.stage import PLENTY, Stage
from unum_simulator import Faults, explore
from unum_simulator.faults import Fault
from unum_simulator.recorded_calls import Primitive

FROZEN = Faults(crashes=0, duplicates=1, freezes=1)
PAUSED = Faults(crashes=0, duplicates=1, freezes=1, jumps=1, jump_s=(50, 130))


@pytest.mark.parametrize("graph", ["chain", "leased chain", "retry of a task"])
@pytest.mark.parametrize("faults", [FROZEN, PAUSED], ids=["short", "long"])
def test_every_way_with_a_frozen_sandbox(graph: str, faults: Faults) -> None:
    """No committed state runs again, and each execution has one result."""
    assert explore(scenario(graph, faults=faults), max_states=4_000).states


@pytest.mark.parametrize("graph", ["chain", "leased chain"])
def test_user_code_may_run_after_the_commit(graph: str) -> None:
    play = Stage(scenario(graph, faults=replace(PLENTY, freezes=1)))
    play.run_until("B")
    play.deliver("B")
    play.proceed_to(Primitive.READ)
    play.fail(Fault.FROZEN)
    play.repeat("B")
    if graph == "leased chain":
        play.fail(Fault.THROTTLED)  # who cannot ask for the lease works without it
    play.finish()
    committed = len(play.log)
    play.finish()
    assert any("user code of B" in line for line in play.log[committed:])
    assert play.runs_of("B") == [2]
    play.result()
