"""Memory of sweeps about executions."""

from typing import Any

import pytest

from tests.unit.protocol.control.sweeper import SILENT_S, ended, sweeping, write_start_record
from tests.unit.protocol.platform import chain
from unum_runtime.protocol.control import sweep as control_sweep
from unum_runtime.protocol.control import sweep_memory
from unum_runtime.protocol.control.sweep import RESERVE_MS, Sweep
from unum_runtime.protocol.control.sweep_memory import Memory, remember


@pytest.mark.parametrize("most", [0, 1, 2, 5, 3_000])
def test_what_has_ended_is_read_once_and_what_runs_by_each_sweep(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep_memory, "MOST", max(1, most))
    sweeper = sweeping(chain("A"))
    for number in range(20):
        ended(sweeper.platform, f"ended{number}")
        if number % 5 == 0:
            write_start_record(sweeper.platform, f"e{number}")
    sweeper.platform.clock.pass_seconds(SILENT_S)
    read: list[str] = []
    last_item = control_sweep.last_item
    monkeypatch.setattr(control_sweep, "last_item", lambda *asked: read.append(asked[2].name) or last_item(*asked))
    for _ in range(3):
        sweeper.platform.clock.pass_seconds(1)
        sweeper.sweep(nudges=False)
        assert sorted(set(sweeper.asked)) == ["e0", "e10", "e15", "e5"]
        sweeper.asked.clear()
    is_all_known = most >= 4
    assert read.count("ended7") == (1 if is_all_known else 3)
    assert read.count("e5") == 3
    if is_all_known:
        assert len(read) == 24 + 2 * 4


@pytest.mark.parametrize("remaining", [0, 1, 2, 3, 7])
def test_no_delivery_of_a_sweep_forgets_what_others_have_to_look_at(remaining: int) -> None:
    sweeper = sweeping(chain("A"))
    for number in range(9):
        write_start_record(sweeper.platform, f"e{number}")
        ended(sweeper.platform, f"ended{number}")
    sweeper.platform.clock.pass_seconds(SILENT_S)
    for _ in range(3):
        rest: Sweep | None = None
        sweeper.asked.clear()
        for delivery in range(30):
            if delivery and rest is None:
                break
            sweeper.remaining = [RESERVE_MS] * remaining + [0]
            sweeper.platform.clock.pass_seconds(1)
            rest = sweeper.sweep(nudges=False, rest=rest).rest
        assert sweeper.asked == [f"e{number}" for number in range(9)]


def forgets_the_rest(patch: pytest.MonkeyPatch) -> None:
    """The memory goes beyond what was looked at."""
    patch.setattr(Memory, "after", lambda _self, _from, _to, running: Memory("~", tuple(running)))


def forgets_what_ran(patch: pytest.MonkeyPatch) -> None:
    """Drop findings of earlier deliveries."""
    after = Memory.after
    patch.setattr(Memory, "after", lambda self, *seen: after(self._replace(running=()), *seen))


@pytest.mark.parametrize("mistake", [forgets_the_rest, forgets_what_ran])
def test_a_sweep_that_forgets_would_be_noticed(mistake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    mistake(monkeypatch)
    with pytest.raises(AssertionError):
        test_no_delivery_of_a_sweep_forgets_what_others_have_to_look_at(2)


def test_a_sweep_beside_another_one_loses_nothing() -> None:
    sweeper = sweeping(chain("A"))
    for number in range(6):
        write_start_record(sweeper.platform, f"e{number}")
        sweeper.platform.clock.pass_seconds(1)
    sweeper.platform.clock.pass_seconds(SILENT_S)
    sweeper.remaining = [RESERVE_MS, RESERVE_MS, RESERVE_MS, 0]
    first = sweeper.sweep(nudges=False)
    sweeper.platform.clock.pass_seconds(1)
    remember(sweeper.platform.runtime(), Memory())  # another one, which knew less, was slower
    assert sweeper.sweep(nudges=False, rest=first.rest).looked_at == 2
    sweeper.platform.clock.pass_seconds(1)
    assert sweeper.sweep(nudges=False).looked_at == 6
