"""Histories that the simulator makes at random, and their verification."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from unum_client.verification.verify import Verification, verify
from unum_runtime.clock import Clock
from unum_runtime.errors import ExecutionDoesNotExist
from unum_simulator import Scenario
from unum_simulator.exploration import random_run
from unum_simulator.scenario import VirtualClock
from unum_simulator.simulated_store import SimulatedStore


@dataclass(frozen=True)
class Made:
    """Store of a random run at the run's last moment."""

    scenario: Scenario
    store: SimulatedStore

    @property
    def names(self) -> list[str]:
        """Names of the executions that have a start record."""
        return [key.partition.partition("/")[2] for key in self.store._items if key.sort == "start"]

    def later(self, seconds: int) -> "Made":
        """Return the store with a later clock."""
        clock = VirtualClock(self.store.clock.now_ms() + 1000 * seconds)
        return Made(self.scenario, self.store.copy(clock))

    def verify(self, name: str) -> Verification:
        """Return a verification's findings about execution `name`."""
        given, store = self.scenario, self.store
        return verify(
            given.protocol_store(store, store),
            given.workflow.name,
            name,
            retention_s=given.retention_s,
            clock=store.clock,
            definition=given.workflow,
        )

    def verified(self) -> Iterator[Verification]:
        """Verify all executions that were not deleted."""
        for name in self.names:
            try:
                yield self.verify(name)
            except ExecutionDoesNotExist:
                continue


def run_by_chance(scenario: Scenario, seed: int) -> Made:
    """Execute one random run and return what it leaves."""
    made: list[SimulatedStore] = []

    def factory(clock: Clock) -> SimulatedStore:
        made.append(scenario.store(clock))
        return made[-1]

    random_run(replace(scenario, store=factory), seed)
    return Made(scenario, made[0])
