"""Searches run a delivery's code once for all worlds in which it got the same answers, and miss nothing by that."""

from dataclasses import replace
from typing import Any

import pytest

from tests.simulation.definitions import Graph, machine, map_, task
from tests.simulation.scenarios import CRASH, DUPLICATE, STOP, scenario
from unum_runtime.model.checkpoint import Ending
from unum_runtime.model.states import Json
from unum_simulator import Context, Faults, Figures, Scenario, Violation, explore, invariants, simulated_deliveries
from unum_simulator.recorded_calls import Answer, Operation, Progress
from unum_simulator.simulated_deliveries import Ports
from unum_simulator.world import Delivery, World


def counts(figures: Figures) -> tuple[int, int, int]:
    return figures.states, figures.moves, figures.ends


def forget(patch: pytest.MonkeyPatch) -> None:
    """Every delivery is run anew in every world, and so is the failure-free run."""
    failure_free = invariants._failure_free_run

    def anew(world: World) -> Any:
        world.failure_free.clear()
        return failure_free(world)

    patch.setattr(Progress, "after", lambda self, answer: AFTER(replace(self, _after={}), answer))
    patch.setattr(World, "first_progress", lambda *_: Progress())
    patch.setattr(invariants, "_failure_free_run", anew)


AFTER = Progress.after


@pytest.mark.parametrize(
    ("graph", "faults"),
    [
        ("chain", CRASH),
        ("diamond", STOP),
        ("limited map", STOP),
        ("leased chain", Faults(crashes=1, duplicates=0, concurrency=1)),
        ("retry of a task", DUPLICATE),
        ("retry of one branch", STOP),
        ("job", CRASH),
        ("timeout during a wait", CRASH),
    ],
)
def test_what_is_known_changes_nothing(graph: str, faults: Faults, monkeypatch: pytest.MonkeyPatch) -> None:
    found = explore(scenario(graph, faults=faults))
    forget(monkeypatch)
    assert counts(found) == counts(explore(scenario(graph, faults=faults)))


def test_the_code_runs_once_for_many_worlds(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = noted(monkeypatch)
    moves = explore(scenario("chain", faults=CRASH)).moves
    assert len(runs) * 2 < moves


def test_each_delivery_of_a_world_runs_the_code_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = noted(monkeypatch)
    explore(scenario("chain", faults=DUPLICATE))
    assert {delivery.number for delivery in runs} == set(range(1, 7))  # three events, and again from the first on


def noted(patch: pytest.MonkeyPatch) -> list[Delivery]:
    """The deliveries whose code is run, each time that it is run."""
    protocol, runs = simulated_deliveries._run_protocol, []

    def note(world: World, delivery: Delivery, ports: Ports) -> Ending | None:
        runs.append(delivery)
        return protocol(world, delivery, ports)

    patch.setattr(simulated_deliveries, "_run_protocol", note)
    return runs


def collecting(event: Any, _context: Context) -> Json:
    """Changes its event, as user code may."""
    event["seen"] = [*event.get("seen", []), len(event)]
    return event


CHANGING = Graph(
    machine(M=map_(machine(A=task("a", "B"), B=task("a")), ItemsPath="$.items")), {"a": collecting}, {"items": [{}, {}]}
)


def changing() -> Scenario:
    return Scenario(workflow=CHANGING.workflow(), functions=CHANGING.functions, input=CHANGING.input, faults=STOP)


def test_user_code_may_change_its_event() -> None:
    assert explore(changing()).is_complete


def event_as_user_code_left_it(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Operation, "kept", lambda self: self)


def any_answer_is_the_first(patch: pytest.MonkeyPatch) -> None:
    """Answers are told apart by what was called, not by what it came to."""

    def after(progress: Progress, answer: Answer) -> Progress:
        known = next((each for each in progress._after.values()), None)
        return known or AFTER(progress, answer)

    patch.setattr(Progress, "after", after)


def one_failure_free_run_for_all_worlds(patch: pytest.MonkeyPatch) -> None:
    failure_free = invariants._failure_free_run

    def first(world: World) -> Any:
        known = next(iter(world.failure_free.values()), None)
        return known or failure_free(world)

    patch.setattr(invariants, "_failure_free_run", first)


@pytest.mark.parametrize(
    "mistake", [event_as_user_code_left_it, any_answer_is_the_first, one_failure_free_run_for_all_worlds]
)
def test_a_mistake_shows(mistake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    mistake(monkeypatch)
    with pytest.raises((Violation, AssertionError)):
        explore(changing())
