"""Lost requests, lost answers, throttling and conflicts of Cosmos DB, which its server makes on demand."""

from collections.abc import Iterator

import pytest

from tests.contract.conftest import MovableClock
from tests.contract.cosmos_service import CosmosServer
from unum_azure.cosmos import CosmosStore
from unum_runtime.errors import StoreError
from unum_runtime.model.naming import Key

LATER = 1_900_000_000
ITEM, SET, LEASE = Key("w/e:1", "000000001"), Key("w/e:1/done", "done"), Key("w/e:1/lease", "000000001")


@pytest.fixture
def store(cosmos: CosmosServer, clock: MovableClock) -> Iterator[CosmosStore]:
    with cosmos.store(clock) as store:
        yield store


@pytest.mark.parametrize(("loses", "is_stored"), [("request", False), ("answer", True)])
def test_a_lost_create_is_repeated_by_its_caller(
    cosmos: CosmosServer, store: CosmosStore, loses: str, *, is_stored: bool
) -> None:
    cosmos.fail(method="POST", path="/docs", loses=loses)
    with pytest.raises(StoreError, match="write Cosmos DB container"):
        store.create(ITEM, {"at": 1}, expires_at_s=LATER)
    assert store.create(ITEM, {"at": 1}, expires_at_s=LATER) == ({"at": 1} if is_stored else None)


@pytest.mark.parametrize("loses", ["request", "answer"])
@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_a_lost_addition_is_repeated_by_its_caller(
    cosmos: CosmosServer, store: CosmosStore, method: str, loses: str
) -> None:
    if method == "PATCH":
        store.add(SET, 1, expires_at_s=LATER)
    cosmos.fail(method=method, path="/docs", loses=loses)
    with pytest.raises(StoreError):
        store.add(SET, 2, expires_at_s=LATER)
    assert store.add(SET, 2, expires_at_s=LATER) == ({1, 2} if method == "PATCH" else {2})


@pytest.mark.parametrize("loses", ["request", "answer"])
def test_a_lost_renewal_is_repeated_by_its_caller(
    cosmos: CosmosServer, store: CosmosStore, clock: MovableClock, loses: str
) -> None:
    store.acquire(LEASE, "a", expires_at_ms=clock.ms + 1000)
    cosmos.fail(method="PUT", path="/docs/", loses=loses)
    with pytest.raises(StoreError):
        store.renew(LEASE, "a", expires_at_ms=clock.ms + 9000)
    assert store.renew(LEASE, "a", expires_at_ms=clock.ms + 9000)
    assert store.acquire(LEASE, "b", expires_at_ms=clock.ms + 9000) == "a"


def test_an_unreadable_item_is_not_absent(cosmos: CosmosServer, store: CosmosStore) -> None:
    cosmos.fail(method="GET", path="/docs/", status=400)
    with pytest.raises(StoreError, match=r"read Cosmos DB container .* Key\("):
        store.read([ITEM])
    cosmos.fail(method="POST", path="/docs", status=400)
    with pytest.raises(StoreError, match="query Cosmos DB container"):
        store.query(ITEM.partition)


def test_throttled_requests_are_repeated_by_the_client(cosmos: CosmosServer, store: CosmosStore) -> None:
    cosmos.fail(method="POST", path="/docs", status=429, times=3)
    assert store.create(ITEM, {"at": 1}, expires_at_s=LATER) is None
    cosmos.fail(method="GET", path="/docs/", status=429, times=3)
    assert store.read([ITEM]) == {ITEM: {"at": 1}}


def test_what_is_throttled_for_long_is_an_error(cosmos: CosmosServer, store: CosmosStore) -> None:
    cosmos.fail(method="PATCH", path="/docs/", status=429, times=10)
    with pytest.raises(StoreError, match="patch Cosmos DB container"):
        store.add(SET, 1, expires_at_s=LATER)


@pytest.mark.parametrize("status", [412, 449])
def test_a_patch_beside_another_one_is_made_as_a_replacement(
    cosmos: CosmosServer, store: CosmosStore, status: int
) -> None:
    store.add(SET, 1, expires_at_s=LATER)
    cosmos.fail(method="PATCH", path="/docs/", status=status)
    assert store.add(SET, 2, expires_at_s=LATER) == {1, 2}


def test_a_write_beside_another_one_is_tried_again(cosmos: CosmosServer, store: CosmosStore) -> None:
    cosmos.fail(method="POST", path="/docs", status=449)
    assert store.create(ITEM, {"at": 1}, expires_at_s=LATER) is None


def test_more_members_than_a_patch_takes_are_added_together(store: CosmosStore) -> None:
    assert store.add(SET, *range(8), expires_at_s=LATER) == {*range(8)}
    assert store.add(SET, *range(8, 16), expires_at_s=LATER) == {*range(16)}
    assert store.add(SET, *range(16, 40), expires_at_s=LATER) == {*range(40)}


def test_an_item_in_place_of_a_set_does_not_become_one_by_a_patch(store: CosmosStore) -> None:
    store.add(SET, 1, expires_at_s=LATER)
    store.replace(SET, {"at": 7}, expires_at_s=LATER)
    assert store.add(SET, 2, expires_at_s=LATER) == {2}


def test_documents_are_deleted_an_hour_after_they_expire(store: CosmosStore, clock: MovableClock) -> None:
    store.create(ITEM, {"at": 1}, expires_at_s=clock.ms // 1000 + 60)
    store.add(SET, 1, expires_at_s=clock.ms // 1000 + 60)
    store.add(SET, 2, expires_at_s=clock.ms // 1000 + 90)
    store.acquire(LEASE, "a", expires_at_ms=clock.ms + 1500)
    store.release(LEASE, "a")
    found = {each["sort"]: each["ttl"] for each in store.container.read_all_items() if "lease" not in each["partition"]}
    assert found == {ITEM.sort: 3_660, "done": 3_690}
    (lease,) = [each for each in store.container.read_all_items() if "lease" in each["partition"]]
    assert lease["ttl"] == 3_600
