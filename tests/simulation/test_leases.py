"""Invariant 6: whatever leases do, only efficiency changes; what the other invariants say holds all the same."""

import os
from collections.abc import Callable

import pytest

from tests.simulation.scenarios import scenario
from unum_runtime.clock import Clock
from unum_runtime.errors import StoreError
from unum_runtime.features.timers import waiter
from unum_runtime.model.naming import Key
from unum_runtime.protocol.delivery import lease
from unum_simulator import Faults, explore, search
from unum_simulator.simulated_store import SimulatedStore

RUNS = int(os.environ.get("UNUM_SIMULATION_RUNS", "10"))
RESTLESS = Faults(crashes=2, duplicates=3, throttles=2, jumps=3, jump_s=(50, 130), concurrency=3)
"""Leases expire while user code runs, and events are sent back until they are old enough to go on without one."""


class GenerousStore(SimulatedStore):
    """Gives everybody every lease."""

    def acquire(self, key: Key, owner: str, *, expires_at_ms: int) -> str:  # noqa: ARG002 - that is the mistake
        return owner


class StolenStore(SimulatedStore):
    """Store that gives each lease for ever to an inactive delivery."""

    def acquire(self, key: Key, owner: str, *, expires_at_ms: int) -> str:  # noqa: ARG002 - that is the mistake
        return "a thief"


class CarelessStore(SimulatedStore):
    """Releases leases without looking whose they are."""

    def release(self, key: Key, owner: str) -> None:  # noqa: ARG002 - that is the mistake
        self._leases.pop(key, None)


class DeafStore(SimulatedStore):
    """Answers to nothing about leases."""

    def acquire(self, key: Key, owner: str, *, expires_at_ms: int) -> str:
        raise StoreError(f"acquire {key} {owner} {expires_at_ms}: no answer")

    def release(self, key: Key, owner: str) -> None:
        raise StoreError(f"release {key} {owner}: no answer")


@pytest.fixture(autouse=True)
def _short_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thief is waited for two or three looks long, not for all the looks of an hour."""
    monkeypatch.setattr(lease, "PATIENCE_MS", 30_000)
    monkeypatch.setattr(waiter, "LEAST_MS", 30_000)


STORES = pytest.mark.parametrize("store", [SimulatedStore, GenerousStore, StolenStore, CarelessStore, DeafStore])


@STORES
@pytest.mark.parametrize("graph", ["leased chain", "leased map", "shared results"])
@pytest.mark.parametrize("in_one_function", [False, True])
def test_leases_never_matter(graph: str, store: Callable[[Clock], SimulatedStore], *, in_one_function: bool) -> None:
    given = scenario(graph, faults=RESTLESS, store=store, tick_ms=1, in_one_function=in_one_function)
    assert search(given, range(RUNS)).ends == RUNS


@STORES
def test_leases_never_matter_whatever_happens(store: Callable[[Clock], SimulatedStore]) -> None:
    faults = Faults(crashes=1, duplicates=1, throttles=1)
    assert explore(scenario("leased task", faults=faults, store=store)).is_complete
