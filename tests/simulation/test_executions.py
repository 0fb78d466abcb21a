"""Several executions in one world: under different names, under one name, and one after the other."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.simulation.executions import CHAIN, FIRST, MAP, of
from unum_runtime.protocol.delivery import start as starting
from unum_simulator import Faults, Invariant, Violation, explore, search

DAYS_S = 8 * 24 * 3600
QUIET = Faults(crashes=0, duplicates=0)
BOTH = Faults(crashes=1, duplicates=1)
LATER = Faults(crashes=1, duplicates=1, jumps=1, jump_s=(1,))
AGAIN = Faults(crashes=0, duplicates=1, restarts=1, jumps=1, jump_s=(DAYS_S,))
MAX_STATES = 1_500


def test_two_executions_of_different_names() -> None:
    assert explore(of(CHAIN, QUIET, starts=(("other", 2),))).is_complete
    assert explore(of(MAP, QUIET, starts=(("other", 2),)), max_states=MAX_STATES).states


@pytest.mark.parametrize("value", [1, 2], ids=["same input", "other input"])
def test_two_clients_start_one_name(value: int) -> None:
    assert explore(of(CHAIN, QUIET, starts=((FIRST, value),))).is_complete
    assert explore(of(CHAIN, BOTH, starts=((FIRST, value),)), max_states=MAX_STATES).states


def test_a_name_is_started_again_after_its_items_have_expired() -> None:
    assert explore(of(CHAIN, AGAIN)).is_complete
    assert search(of(MAP, AGAIN), range(10)).ends == 10


def forgets_when_it_was_started(patch: pytest.MonkeyPatch) -> None:
    """Each start takes its own time for that of the execution."""

    def begin_own(rt: Any, record: Any, *, fresh: bool) -> None:
        own = given.pop() if not fresh and given else record
        begin(rt, own, fresh=fresh)

    def keep(rt: Any, record: Any) -> Any:
        given[:] = [record]
        return create(rt, record)

    given: list[Any] = []
    begin, create = starting._begin, starting.create
    patch.setattr(starting, "_begin", begin_own)
    patch.setattr(starting, "create", keep)


@pytest.mark.parametrize(
    ("mistake", "breaks"),
    [
        (
            forgets_when_it_was_started,
            {Invariant.SAME_VIEW, Invariant.ONE_RESULT, Invariant.CONSISTENT, Invariant.NO_RERUN},
        )
    ],
)
def test_a_mistake_is_found(
    mistake: Callable[[pytest.MonkeyPatch], Any], breaks: set[Invariant], monkeypatch: pytest.MonkeyPatch
) -> None:
    mistake(monkeypatch)
    with pytest.raises(Violation) as found:
        explore(of(CHAIN, LATER, starts=((FIRST, 1),)))
    assert found.value.invariant in breaks
