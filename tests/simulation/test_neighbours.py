"""Quorums and meetings, whatever happens; beside what `test_random` does with all graphs."""

import pytest

from tests.simulation.neighbour_scenarios import MEETINGS, QUORUMS
from tests.simulation.scenarios import BOTH, CRASH, scenario
from tests.simulation.stage import PLENTY, Stage
from unum_runtime.model.ir import Collection
from unum_runtime.protocol.delivery import join
from unum_simulator import Faults, explore, search
from unum_simulator.recorded_calls import Primitive

PEOPLE = Faults(crashes=2, duplicates=2, throttles=2, nudges=2, redrives=2, concurrency=3)
LOST = Faults(crashes=1, duplicates=0, throttles=1, losses=1, concurrency=2)
STOPPED = Faults(crashes=0, duplicates=0, stops=1, redrives=1, concurrency=1)
EVERYTHING = Faults(
    crashes=2, duplicates=2, throttles=2, nudges=2, redrives=2, splits=1, freezes=1, skews=2, repeats=1, give_ups=2,
    stops=1, jumps=2, concurrency=3,
)  # fmt: skip
RUNS = 3
MAX_STATES = 400
ALL = [*QUORUMS, *MEETINGS]


@pytest.mark.parametrize("graph", ["first of two", pytest.param("meeting", marks=pytest.mark.long)])
def test_every_way_with_one_crash(graph: str) -> None:
    assert explore(scenario(graph, faults=CRASH)).is_complete


@pytest.mark.parametrize("graph", ALL)
@pytest.mark.parametrize("collection", Collection)
def test_ways_with_a_crash_and_a_duplicate(graph: str, collection: Collection) -> None:
    assert explore(scenario(graph, faults=BOTH, collection=collection), max_states=MAX_STATES).states


@pytest.mark.parametrize("graph", ALL)
@pytest.mark.parametrize("faults", [PEOPLE, LOST], ids=["nudged and redriven", "lost"])
def test_what_was_lost_is_found(graph: str, faults: Faults) -> None:
    assert search(scenario(graph, faults=faults), range(RUNS)).ends == RUNS


@pytest.mark.parametrize("graph", ["meeting", pytest.param("meetings", marks=pytest.mark.long)])
def test_redrive_after_a_stop_at_every_point_runs_to_the_end(graph: str) -> None:
    assert explore(scenario(graph, faults=STOPPED)).is_complete


@pytest.mark.parametrize(("graph", "seeds"), [("meetings", [88, 95, 133, 334]), ("meetings in lanes", [0, 9, 16])])
def test_branches_meet_whatever_operators_and_lambda_do(graph: str, seeds: list[int]) -> None:
    given = scenario(graph, faults=EVERYTHING, tick_ms=1)
    assert search(given, [*seeds, *range(1_000, 1_000 + RUNS)]).ends == len(seeds) + RUNS


def counted_branches() -> list[str]:
    """Let the first branch of three commit last, and return those that a quorum of two counts."""
    play = Stage(scenario("quorum of three", faults=PLENTY, tick_ms=1))
    play.deliver("start")
    play.finish()
    for state in "bca":
        play.deliver(state)
        play.proceed_to(Primitive.ADD)  # has committed, and does not count yet
    play.run()
    (joined,) = [line for line in play.log if "user code of d with" in line]
    return [state for state in "abc" if f"'by': '{state}'" in joined]


def test_a_quorum_counts_the_branches_that_committed_first() -> None:
    assert counted_branches() == ["b", "c"]


def test_a_quorum_by_index_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(join, "sorted", lambda ends, key: ends, raising=False)  # noqa: ARG005 - the mistake
    assert counted_branches() == ["a", "b"]
