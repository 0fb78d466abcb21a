"""Clocks of sandboxes differ, reads of several keys see several moments, and the AWS client repeats what was done."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Self

import pytest

from tests.simulation.mutations import loser_stops
from tests.simulation.scenarios import scenario
from unum_runtime.clock import Clock
from unum_runtime.errors import RefusedDelivery
from unum_runtime.model.checkpoint import Item
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.ir import Collection
from unum_runtime.model.naming import Key
from unum_runtime.model.states import State
from unum_runtime.protocol.delivery import deliver
from unum_runtime.protocol.runtime import Runtime
from unum_simulator import Faults, Invariant, Violation, explore, search
from unum_simulator.simulated_store import SimulatedStore

SKEW = Faults(crashes=0, duplicates=0, skews=2)
REPEAT = Faults(crashes=0, duplicates=0, repeats=1)
SPLIT = Faults(crashes=0, duplicates=0, splits=1)
ALL = Faults(crashes=1, duplicates=1, throttles=1, skews=2, repeats=2, splits=2, jumps=1, concurrency=3)


@pytest.mark.parametrize(
    "graph",
    ["chain", "leased chain", "wait before a task", "two waits", "retry of a task", "timeout during a wait", "job"],
)
def test_every_way_with_two_wrong_clocks(graph: str) -> None:
    assert explore(scenario(graph, faults=SKEW)).is_complete


@pytest.mark.parametrize(
    "graph", ["chain", "map", "diamond", "limited map", "retry of one branch", "job", "wait in a branch"]
)
@pytest.mark.parametrize("collection", Collection)
def test_every_way_with_a_repeated_call(graph: str, collection: Collection) -> None:
    assert explore(scenario(graph, faults=REPEAT, collection=collection)).is_complete


@pytest.mark.parametrize("graph", ["map", "diamond", "limited map", "loop in a map", "retry of one branch"])
@pytest.mark.parametrize("collection", Collection)
def test_every_way_with_a_split_read(graph: str, collection: Collection) -> None:
    assert explore(scenario(graph, faults=SPLIT, collection=collection)).is_complete


@pytest.mark.parametrize("graph", ["map", "nested maps", "leased map", "retry of a parallel", "jobs of branches"])
def test_by_chance(graph: str) -> None:
    assert search(scenario(graph, faults=ALL, tick_ms=1), range(8)).ends == 8


@dataclass
class StaleStore(SimulatedStore):
    """Reads miss the newest write, as eventually consistent ones may."""

    newest: list[Key] = field(default_factory=list)

    def create(self, key: Key, item: Item, *, expires_at_s: int) -> Item | None:
        self.newest = [key]
        return super().create(key, item, expires_at_s=expires_at_s)

    def read(self, keys: Iterable[Key]) -> dict[Key, Item]:
        return super().read(key for key in keys if key not in self.newest)

    def query(self, partition: str, *, newest: int | None = None) -> dict[Key, Item]:
        found = super().query(partition, newest=newest)
        return {key: item for key, item in found.items() if key not in self.newest}

    def copy(self, clock: Clock) -> Self:
        other = super().copy(clock)
        other.newest = [*self.newest]
        return other


@pytest.mark.parametrize("graph", ["chain", "map"])
def test_reads_that_are_not_strongly_consistent_are_found(graph: str) -> None:
    with pytest.raises(Violation) as found:
        search(scenario(graph, faults=Faults(crashes=0, duplicates=1), store=StaleStore), range(100))
    assert found.value.invariant in (Invariant.NO_RERUN, Invariant.NO_LOST_WORK)


def refuses_the_future(patch: pytest.MonkeyPatch) -> None:
    """An event is refused that was sent later than its function's clock shows."""

    def admit(rt: Runtime, envelope: Envelope) -> State:
        if envelope.sent_s * 1000 > rt.clock.now_ms():
            raise RefusedDelivery("sent in the future")
        return admitted(rt, envelope)

    admitted = deliver.admit
    patch.setattr(deliver, "admit", admit)


@pytest.mark.parametrize(
    ("mistake", "graph", "faults"),
    [(refuses_the_future, "chain", SKEW), (loser_stops, "chain", REPEAT), (loser_stops, "map", REPEAT)],
)
def test_a_mistake_is_found(
    mistake: Callable[[pytest.MonkeyPatch], Any], graph: str, faults: Faults, monkeypatch: pytest.MonkeyPatch
) -> None:
    mistake(monkeypatch)
    with pytest.raises(Violation) as found:
        explore(scenario(graph, faults=faults))
    assert found.value.invariant is Invariant.NO_LOST_WORK
