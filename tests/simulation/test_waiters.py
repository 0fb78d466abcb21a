"""Crowds of waiters, on a virtual clock: how often they look, when they continue, and what is computed.

One execution computes a memoized result, and renews its lease as its thread would; 1,000 others need the same result.
Planted mistakes change a waiter, and each is found here.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.unit.protocol.platform import MovableClock, Platform, chain
from unum_compiler.options import FunctionOptions
from unum_runtime.errors import LeaseHeldError, StoreError
from unum_runtime.features.timers import waiter
from unum_runtime.features.timers.waiter import LEAST_MS, MOST_MS, SHARE
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.naming import Key
from unum_runtime.protocol.delivery import lease
from unum_runtime.protocol.delivery.lease import LEASE_MS, RENEWALS
from unum_runtime.protocol.runtime import MAX_DELIVERY_MS
from unum_simulator.memory_store import MemoryStore

MANY = 1_000
ITEM_LIMIT = 1_000
"""Writes of one item that DynamoDB allows in a second.

Source: Amazon DynamoDB Developer Guide, "Designing partition keys to distribute your workload".
"""

LATE_MS = 1_000
MEMOIZE = FunctionOptions(memoize=True)


class CountingStore(MemoryStore):
    """Counts lease requests by second, and throttles above a limit."""

    def __init__(self, clock: MovableClock) -> None:
        super().__init__(clock)
        self.limit = ITEM_LIMIT
        self.asked = Counter[int]()

    def acquire(self, key: Key, owner: str, *, expires_at_ms: int) -> str:
        second = self.clock.now_ms() // 1000
        self.asked[second] += 1
        if self.asked[second] > self.limit:
            raise StoreError("throttled")
        return super().acquire(key, owner, expires_at_ms=expires_at_ms)


@dataclass
class Crowd:
    """One owner of a lease and its waiters.

    Attributes:
        seconds: duration of the owner's user code.
        dies_after_s: time at which the owner's sandbox dies; None if it does not.
        renews: False if no thread renews leases.
        limit: lease requests in a second that the store accepts, after the first of each waiter.
    """

    seconds: int
    dies_after_s: int | None = None
    waiters: int = MANY
    renews: bool = True
    limit: int = ITEM_LIMIT
    ready_ms: int = 0
    looks: int = 0
    deliveries: int = 0
    errors: list[Exception] = field(default_factory=list)
    continued_ms: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.platform = Platform.of(chain("F"), {"F": MEMOIZE}, F=self._compute)
        self.clock = self.platform.clock
        self.platform.store = self.platform.memory = self.store = CountingStore(self.clock)
        self.platform.options = {"remaining_ms": lambda: LEASE_MS if self.renews else MAX_DELIVERY_MS}
        self.begun_ms = self.clock.ms

    def run(self) -> "Crowd":
        """Run all executions to their end."""
        self.platform.start("owner", 1)
        self._deliver_until(self.begun_ms + 86_400_000)
        return self

    @property
    def busiest(self) -> int:
        """Most lease requests in a second, after the common first one."""
        first = self.begun_ms // 1000 + 1
        return max((count for second, count in self.store.asked.items() if second > first), default=0)

    @property
    def latest_ms(self) -> int:
        """Time between the result and the last waiter that continued."""
        return max(self.continued_ms.values()) - self.ready_ms

    def _compute(self, event: Any) -> Any:
        if self.platform.calls["F"] > 1:
            self.ready_ms = self.clock.ms
            return event
        self.clock.pass_seconds(1)
        for number in range(self.waiters):
            self._try(self.platform.start, f"waiter-{number}", 1)
        self.store.limit = self.limit
        lives_s = self.seconds if self.dies_after_s is None else self.dies_after_s
        while self.clock.ms < self.begun_ms + lives_s * 1000:
            if self.renews:
                self._renew()
            self._deliver_until(min(self.clock.ms + LEASE_MS // RENEWALS, self.begun_ms + lives_s * 1000))
        if self.dies_after_s is not None:
            self._deliver_until(self.begun_ms + 86_400_000)  # this call never returns to its sandbox
        self.ready_ms = self.ready_ms or self.clock.ms
        return event

    def _renew(self) -> None:
        for key, (owner, _) in [*self.store._leases.items()]:
            self.store.renew(key, owner, expires_at_ms=self.clock.ms + LEASE_MS)

    def _deliver_until(self, end_ms: int) -> None:
        waiting = self.platform.waiting
        while waiting and min(due_ms for due_ms, _ in waiting) <= end_ms:
            event = self.platform.pass_to_next()
            self.looks += 1
            self._try(self._look, event)
        self.clock.ms = max(self.clock.ms, end_ms) if waiting or end_ms < self.begun_ms + 86_400_000 else self.clock.ms

    def _look(self, event: Envelope) -> None:
        self.platform.deliver(event)
        name = event.name.execution.name
        if self.platform.ending(name) is not None:
            self.continued_ms[name] = self.clock.ms

    def _try(self, work: Callable[..., None], *given: Any) -> None:
        # Named in place of at random: the names decide when the waiters look again.
        self.deliveries += 1
        self.platform.options["delivery"] = f"delivery {self.deliveries}"
        try:
            work(*given)
        except LeaseHeldError as error:
            self.errors.append(error)


def check(crowd: Crowd, *, runs: int = 1) -> None:
    """Check all promises to waiters."""
    crowd.run()
    assert not crowd.errors, "waiting is no error"
    assert crowd.platform.calls["F"] == runs, "the result is computed once for each owner that dies, and once more"
    assert len(crowd.continued_ms) == crowd.waiters, "every waiter continues"
    waited_ms = crowd.ready_ms - crowd.begun_ms
    assert crowd.latest_ms <= max(LEAST_MS, min(waited_ms / SHARE * (1 + 1 / SHARE), MOST_MS)) + LATE_MS
    assert crowd.busiest <= crowd.waiters / 2 + 5, "a crowd does not look at the same time"


@pytest.mark.parametrize(("seconds", "waiters"), [(2, MANY), (15, MANY), (60, 100), (240, 20)])
def test_waiters_share_a_result(seconds: int, waiters: int) -> None:
    check(Crowd(seconds, waiters=waiters))


def test_waiters_wait_for_an_owner_of_15_minutes() -> None:
    crowd = Crowd(900, waiters=20)
    check(crowd)
    assert crowd.looks / crowd.waiters <= 45


def test_one_of_many_waiters_works_when_the_owner_is_dead() -> None:
    crowd = Crowd(60, dies_after_s=30, waiters=200)
    check(crowd, runs=2)
    assert crowd.ready_ms - crowd.begun_ms >= 30_000 + LEASE_MS - LEASE_MS // RENEWALS, "not before its lease expired"


def test_waiters_of_a_lease_without_renewal_wait_the_owners_whole_time() -> None:
    check(Crowd(240, waiters=20, renews=False))
    crowd = Crowd(240, dies_after_s=30, waiters=20, renews=False)
    check(crowd, runs=2)
    assert crowd.ready_ms - crowd.begun_ms >= MAX_DELIVERY_MS


def test_throttled_waiters_wait_on() -> None:
    check(Crowd(60, waiters=400, limit=20))


def never_looks(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(waiter, "wait_for_result", lambda *_: None)


def is_impatient(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(lease, "PATIENCE_MS", 120_000)


def raises(patch: pytest.MonkeyPatch) -> None:
    def wait_for_result(_rt: Any, _envelope: Any, held: LeaseHeldError) -> None:
        raise held

    patch.setattr(waiter, "wait_for_result", wait_for_result)


def all_at_once(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(waiter, "crc32", lambda _: 2**32)


def looks_rarely(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(waiter, "LEAST_MS", 900_000)
    patch.setattr(waiter, "MOST_MS", 900_000)


def without_a_claim(patch: pytest.MonkeyPatch) -> None:
    """A waiter that finds no result computes it."""
    claim = lease._claim
    patch.setattr(lease, "_claim", lambda *given, **named: claim(*given, **{**named, "patient_until_ms": 0}))


def works_when_throttled(patch: pytest.MonkeyPatch) -> None:
    claim = lease._claim
    patch.setattr(lease, "_claim", lambda *given, **named: claim(*given, **{**named, "if_unknown": True}))


MISTAKES = [never_looks, is_impatient, raises, all_at_once, looks_rarely, without_a_claim, works_when_throttled]


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_found(mistake: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    mistake(monkeypatch)
    with pytest.raises(AssertionError, match=r"waiting is|computed once|every waiter|same time|latest"):
        check(Crowd(150, waiters=50, limit=5))
