"""Forced executions never use a result that was remembered before them, whatever dies; mistakes are found."""

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest

from tests.simulation.scenarios import HARSH, scenario
from unum_runtime.features.memo import memo
from unum_runtime.model.checkpoint import Item
from unum_runtime.model.naming import Key
from unum_runtime.model.variants import forced
from unum_simulator import Faults, Scenario, Violation, explore, search
from unum_simulator.simulated_store import SimulatedStore

RUNS = int(os.environ.get("UNUM_SIMULATION_RUNS", "10"))
STALE: Item = {"value": '"stale"', "of": "1", "by": "w/other:1#1", "at": 1, "until": 2**40}


class RememberingStore(SimulatedStore):
    """Remembers a result of another execution for every event, until a result is stored in its place."""

    def read(self, keys: Iterable[Key]) -> dict[Key, Item]:
        wanted = [*keys]
        memos = {key: STALE for key in wanted if key.partition.startswith("memo:")}
        return {**memos, **super().read(wanted)}

    def create(self, key: Key, item: Item, *, expires_at_s: int) -> Item | None:
        if key.partition.startswith("memo:") and key not in self._items:
            return STALE
        return super().create(key, item, expires_at_s=expires_at_s)


def simulate(check: Callable[[Scenario], Any], *, force: bool = True, **fields: Any) -> list[Any]:
    """Search the workflow with shared results; return what the Task after the Map has got."""
    given = scenario("shared results", store=RememberingStore, **fields)
    got: list[Any] = []
    after = given.functions["c"]

    def c(event: Any, context: Any) -> Any:
        got.append(event)
        return after(event, context)

    workflow = forced(given.workflow) if force else given.workflow
    check(replace(given, workflow=workflow, functions={**given.functions, "c": c}))
    return got


def test_an_ordinary_execution_uses_what_is_remembered() -> None:
    assert ["stale", "stale"] in simulate(lambda given: search(given, range(3)), force=False)


def test_a_forced_execution_uses_nothing_that_was_remembered_before() -> None:
    got = simulate(lambda given: search(given, range(RUNS)), faults=HARSH, tick_ms=1)
    assert got
    assert not [event for event in got if "stale" in event]


def test_nor_in_any_order_of_few_faults() -> None:
    faults = Faults(crashes=1, duplicates=0)
    got = simulate(lambda given: explore(given, max_states=3_000), faults=faults)
    assert not [event for event in got if "stale" in event]


def believes_what_is_stored(patch: pytest.MonkeyPatch) -> None:
    find = memo.find_stored
    patch.setattr(memo, "find_stored", lambda rt, key, _by: find(rt, key, None))


def keeps_what_is_stored(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(memo, "_replace", memo._remember)


def believes_after_a_wait(patch: pytest.MonkeyPatch) -> None:
    """Another delivery has begun to compute; its lease is taken for its result."""
    find, calls = memo.find_stored, iter(range(10**9))
    patch.setattr(memo, "find_stored", lambda rt, key, by: find(rt, key, None if next(calls) % 2 else by))


@pytest.mark.parametrize("mistake", [believes_what_is_stored, keeps_what_is_stored, believes_after_a_wait])
def test_mistakes_are_found(mistake: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    mistake(monkeypatch)
    try:
        got = simulate(lambda given: search(given, range(10)), faults=HARSH, tick_ms=1)
    except Violation:
        return
    assert [event for event in got if "stale" in event]
