"""Contract of leases, for each store."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from tests.contract.conftest import MovableClock
from unum_runtime.errors import StoreError
from unum_runtime.model.naming import Key, lease_key
from unum_runtime.store.base import Store
from unum_runtime.store.dynamodb import DynamoStore

CLAIMANTS = 32
KEY = lease_key(Key("partition", "one"))


def later(clock: MovableClock, seconds: int = 10) -> int:
    return clock.ms + seconds * 1000


def test_the_first_owner_gets_the_lease_and_others_learn_its_name(store: Store, clock: MovableClock) -> None:
    assert store.acquire(KEY, "a", expires_at_ms=later(clock)) == "a"
    assert store.acquire(KEY, "b", expires_at_ms=later(clock)) == "a"
    assert store.acquire(KEY, "c", expires_at_ms=later(clock)) == "a"


def test_leases_on_different_keys_are_independent(store: Store, clock: MovableClock) -> None:
    assert store.acquire(KEY, "a", expires_at_ms=later(clock)) == "a"
    assert store.acquire(Key(KEY.partition, "two"), "b", expires_at_ms=later(clock)) == "b"


def test_one_of_several_concurrent_owners_gets_the_lease(store: Store, clock: MovableClock) -> None:
    barrier = Barrier(CLAIMANTS)

    def acquire(claimant: int) -> str:
        barrier.wait()
        return store.acquire(KEY, str(claimant), expires_at_ms=later(clock))

    with ThreadPoolExecutor(CLAIMANTS) as pool:
        seen = list(pool.map(acquire, range(CLAIMANTS)))
    assert len(set(seen)) == 1
    assert seen[int(seen[0])] == seen[0]


def test_one_of_several_concurrent_owners_gets_an_expired_lease(store: Store, clock: MovableClock) -> None:
    store.acquire(KEY, "dead", expires_at_ms=later(clock))
    clock.pass_seconds(10)
    barrier = Barrier(CLAIMANTS)

    def acquire(claimant: int) -> str:
        barrier.wait()
        return store.acquire(KEY, str(claimant), expires_at_ms=later(clock))

    with ThreadPoolExecutor(CLAIMANTS) as pool:
        assert len(set(pool.map(acquire, range(CLAIMANTS)))) == 1


def test_any_owner_can_acquire_an_expired_lease(store: Store, clock: MovableClock) -> None:
    store.acquire(KEY, "a", expires_at_ms=clock.ms + 1500)
    clock.ms += 1499
    assert store.acquire(KEY, "b", expires_at_ms=later(clock)) == "a"
    clock.ms += 1
    assert store.acquire(KEY, "b", expires_at_ms=later(clock)) == "b"
    assert store.acquire(KEY, "a", expires_at_ms=later(clock)) == "b"


def test_an_owner_may_acquire_its_lease_again(store: Store, clock: MovableClock) -> None:
    store.acquire(KEY, "a", expires_at_ms=later(clock, 1))
    assert store.acquire(KEY, "a", expires_at_ms=later(clock, 20)) == "a"
    clock.pass_seconds(19)
    assert store.acquire(KEY, "b", expires_at_ms=later(clock)) == "a"


def test_only_the_owner_renews_a_lease(store: Store, clock: MovableClock) -> None:
    store.acquire(KEY, "a", expires_at_ms=later(clock, 5))
    assert not store.renew(KEY, "b", expires_at_ms=later(clock, 60))
    assert store.renew(KEY, "a", expires_at_ms=later(clock, 20))
    clock.pass_seconds(19)
    assert store.acquire(KEY, "b", expires_at_ms=later(clock)) == "a"
    clock.pass_seconds(1)
    assert store.acquire(KEY, "b", expires_at_ms=later(clock)) == "b"
    assert not store.renew(KEY, "a", expires_at_ms=later(clock)), "it was taken over"


def test_expired_and_absent_leases_cannot_be_renewed(store: Store, clock: MovableClock) -> None:
    assert not store.renew(KEY, "a", expires_at_ms=later(clock))
    store.acquire(KEY, "a", expires_at_ms=later(clock))
    clock.pass_seconds(10)
    assert not store.renew(KEY, "a", expires_at_ms=later(clock))
    assert store.acquire(KEY, "b", expires_at_ms=later(clock)) == "b"


def test_only_the_owner_releases_a_lease(store: Store, clock: MovableClock) -> None:
    store.release(KEY, "a")
    store.acquire(KEY, "a", expires_at_ms=later(clock))
    store.release(KEY, "b")
    assert store.acquire(KEY, "b", expires_at_ms=later(clock)) == "a"
    store.release(KEY, "a")
    store.release(KEY, "a")
    assert not store.renew(KEY, "a", expires_at_ms=later(clock))
    assert store.acquire(KEY, "b", expires_at_ms=later(clock)) == "b"
    store.release(KEY, "a")
    assert store.acquire(KEY, "c", expires_at_ms=later(clock)) == "b"


def test_a_store_that_fails_is_a_store_error(store: Store, clock: MovableClock) -> None:
    if not isinstance(store, DynamoStore):
        pytest.skip("the memory store does not fail")
    elsewhere = DynamoStore(store.client, "no-such-table", clock)
    with pytest.raises(StoreError, match="put_item no-such-table"):
        elsewhere.acquire(KEY, "a", expires_at_ms=later(clock))
    with pytest.raises(StoreError, match="put_item no-such-table"):
        elsewhere.renew(KEY, "a", expires_at_ms=later(clock))
    with pytest.raises(StoreError, match="put_item no-such-table"):
        elsewhere.release(KEY, "a")
