"""Calls by several programs that die and call again: equal ones share a run and its result; mistakes are found."""

from typing import Any

import pytest

from tests.simulation.call_mutations import CALL_MUTATIONS, CallMutation
from tests.simulation.call_scenarios import (
    CRASH,
    DUPLICATE,
    EXPIRED,
    FORGOTTEN,
    FUNCTIONS,
    GIVEN_UP,
    HOUR_S,
    LOST,
    STOPPED,
    THROTTLED,
    TWO,
    WIDE,
    of,
)
from unum_simulator import Faults, Violation, explore, search

MAX_STATES = 2_000
ONE_FAULT = {"crash": CRASH, "duplicate": DUPLICATE, "throttled": THROTTLED, "lost": LOST, "given up": GIVEN_UP}
IN_A_ROW = {"stopped": STOPPED, "forgotten": FORGOTTEN, "expired": EXPIRED}


def test_every_way_of_two_equal_calls() -> None:
    assert explore(of(TWO)).is_complete


@pytest.mark.parametrize("kind", FUNCTIONS)
@pytest.mark.parametrize("faults", [pytest.param(each, id=name) for name, each in ONE_FAULT.items()])
def test_every_way_of_a_call_and_a_fault(kind: str, faults: Faults) -> None:
    assert explore(of(faults, kind, calls=({"n": 1},))).is_complete


@pytest.mark.parametrize("faults", [pytest.param(each, id=name) for name, each in IN_A_ROW.items()])
def test_ways_of_calls_after_the_end(faults: Faults) -> None:
    assert explore(of(faults, lifetime_s=HOUR_S), max_states=MAX_STATES).states


@pytest.mark.parametrize("kind", FUNCTIONS)
@pytest.mark.parametrize("others", [{}, {"starts": (("e", {"n": 1, "x": 3}),)}], ids=["alone", "beside an execution"])
def test_by_chance(kind: str, others: dict[str, Any]) -> None:
    calls = ({"n": 1, "x": 1}, {"n": 1, "x": 2}, {"n": 2})
    assert search(of(WIDE, kind, calls, lifetime_s=HOUR_S, tick_ms=1, **others), range(15)).ends == 15


@pytest.mark.parametrize("mutation", [pytest.param(mutation, id=name) for name, mutation in CALL_MUTATIONS.items()])
def test_a_mistake_is_found(mutation: CallMutation, monkeypatch: pytest.MonkeyPatch) -> None:
    mutation.patch(monkeypatch)
    with pytest.raises(Violation) as found:
        explore(of(mutation.faults, lifetime_s=mutation.lifetime_s), max_states=MAX_STATES)
    assert found.value.invariant in mutation.breaks
