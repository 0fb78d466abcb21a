"""Checks per branch of a delivery that runs a lane: whether its fan-out still needs results."""

import pytest

from tests.simulation.definitions import Graph, machine, map_, task
from tests.simulation.scenarios import fused
from tests.simulation.stage import PLENTY, Stage
from unum_compiler.options import FunctionOptions
from unum_runtime.model.states import Guard, Json
from unum_runtime.protocol.fanout import lanes
from unum_simulator import Scenario
from unum_simulator.faults import Fault
from unum_simulator.moves import Kind, Move, make
from unum_simulator.scenario import Context

BRANCHES = 20
EACH_S = 0.3
STOPPED_IN = 3
"""The branch that runs when the execution is stopped, counted from 1."""


def taking_time(event: Json, context: Context) -> Json:
    context.clock.sleep(EACH_S)
    return event


def lane(guard: Guard) -> Stage:
    """One delivery that goes through all branches, if nothing stops it."""
    definition = machine(M=map_(machine(B=task("b")), MaxConcurrency=1))
    workflow = Graph(definition, {}, options={"b": FunctionOptions(guard=guard)}).workflow()
    functions = {"b": taking_time}
    given = Scenario(workflow=workflow, functions=functions, input=[*range(BRANCHES)], faults=PLENTY)
    return Stage(fused(given))


def stopped(guard: Guard) -> Stage:
    """An execution that is stopped while a branch runs, and has come to its end."""
    play = lane(guard)
    play.run_until("B")
    play.deliver("B")
    while runs(play) < STOPPED_IN:
        play.fail(Fault.NONE)
    make(play.world, Move(Kind.STOP, 0))
    play.finish()
    play.run()
    return play


def runs(play: Stage) -> int:
    return len(play.runs_of("B"))


def begun(play: Stage) -> int:
    """Return the number of branches that the delivery continued with."""
    return sum(": continues in the same sandbox with " in line for line in play.log)


@pytest.mark.parametrize("guard", Guard)
def test_what_nobody_stops_is_one_delivery(guard: Guard) -> None:
    play = lane(guard)
    play.run_until("B")
    before = play.world.delivered
    assert play.result() == [*range(BRANCHES)]
    assert play.world.delivered == before + 1


@pytest.mark.parametrize("guard", [Guard.READ, Guard.LEASE])
def test_a_guarded_branch_does_not_begin_after_a_stop(guard: Guard) -> None:
    play = stopped(guard)
    assert (runs(play), begun(play)) == (STOPPED_IN, STOPPED_IN - 1)


def test_unguarded_branches_begin_for_a_second_at_most() -> None:
    assert STOPPED_IN < runs(stopped(Guard.COMMIT)) <= STOPPED_IN + 1 / EACH_S


def test_otherwise_they_would_to_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "CHECK_LASTS_MS", 3_600_000)
    assert runs(stopped(Guard.COMMIT)) == BRANCHES
