"""Contract of stores from which executions can be deleted, see `unum_runtime.store.erasable`."""

import time
from typing import Any

import pytest

from tests.contract.conftest import MovableClock
from unum_runtime.errors import StoreError
from unum_runtime.model.list_index import PARTITION, PLACE
from unum_runtime.model.naming import Key
from unum_runtime.store import erasure
from unum_runtime.store.erasable import ErasableStore

LATER = 1_900_000_000
MINE, OTHER = "wf/e:1", "wf/e:12"


def test_a_partition_is_erased_with_items_sets_and_leases(store: ErasableStore, clock: MovableClock) -> None:
    store.create(Key(MINE, "000000001"), {"value": "1"}, expires_at_s=LATER)
    store.create(Key(MINE, "expired"), {"value": "1"}, expires_at_s=clock.ms // 1000 + 1)
    store.add(Key(f"{MINE}/done", "done"), 1, 2, expires_at_s=LATER)
    store.acquire(Key(f"{MINE}/lease", "000000001"), "owner", expires_at_ms=clock.ms + 60_000)
    store.create(Key(OTHER, "000000001"), {"value": "2"}, expires_at_s=LATER)
    clock.pass_seconds(2)
    assert [store.erase(each) for each in (MINE, f"{MINE}/done", f"{MINE}/lease", "absent")] == [2, 1, 1, 0]
    assert store.query(MINE) == {}
    assert store.read([Key(MINE, "000000001"), Key(f"{MINE}/done", "done")]) == {}
    assert store.acquire(Key(f"{MINE}/lease", "000000001"), "other", expires_at_ms=clock.ms + 60_000) == "other"
    assert store.add(Key(f"{MINE}/done", "done"), 3, expires_at_s=LATER) == {3}
    assert store.query(OTHER) == {Key(OTHER, "000000001"): {"value": "2"}}


def test_some_items_are_kept(store: ErasableStore) -> None:
    for number in range(60):
        store.create(Key(MINE, f"{number:03d}"), {"value": "1"}, expires_at_s=LATER)
    assert store.erase(MINE, keep=["007", "059", "060"]) == 58
    assert [key.sort for key in store.query(MINE)] == ["007", "059"]
    assert store.erase(MINE) == 2


def test_pages_of_large_items_are_erased(store: ErasableStore) -> None:
    for number in range(5):
        store.create(Key(MINE, f"{number:03d}"), {"value": "x" * 390_000}, expires_at_s=LATER)
    assert store.erase(MINE) == 5
    assert store.query(MINE) == {}


def test_an_item_is_replaced_whatever_was_there(store: ErasableStore) -> None:
    listed: Any = {"value": "1", PARTITION: "wf/STARTED~0", PLACE: "1/e"}
    store.create(Key(MINE, "1"), listed, expires_at_s=LATER)
    store.add(Key(MINE, "2"), 1, expires_at_s=LATER)
    for sort in ("1", "2", "3"):
        store.replace(Key(MINE, sort), {"at": 7}, expires_at_s=LATER)
    assert store.query(MINE) == {Key(MINE, sort): {"at": 7} for sort in ("1", "2", "3")}
    assert store.read([Key(MINE, "2")]) == {Key(MINE, "2"): {"at": 7}}, "and no set any more"
    assert store.list_items("wf/STARTED~0") == {}  # type: ignore[attr-defined]  # these stores have an index


def test_replaced_item_is_listed_at_its_own_place_alone(store: ErasableStore) -> None:
    key, place = Key(MINE, "000000001"), {PARTITION: "wf/REDRIVEN~0", PLACE: "2/e"}
    listed: Any = [
        {"at": 7, **place},  # an item without an entry gets one
        {"at": 8, **place},  # and keeps it
        {"at": 9, **place, PLACE: "3/e"},
        {"at": 9, **place, PARTITION: "wf/REDRIVEN~1"},
        {"at": 10},
    ]
    store.create(key, {"at": 6}, expires_at_s=LATER)
    for item in listed:
        store.replace(key, item, expires_at_s=LATER)
        for partition in ("wf/REDRIVEN~0", "wf/REDRIVEN~1"):
            found = store.list_items(partition)  # type: ignore[attr-defined]  # these stores have an index
            assert [*found] == [key] * (item.get(PARTITION) == partition), item
        assert store.query(MINE) == {key: item}


def test_no_item_is_replaced_by_one_that_is_too_large(store: ErasableStore) -> None:
    store.create(Key(MINE, "000000001"), {"value": "1"}, expires_at_s=LATER)
    with pytest.raises(StoreError, match=MINE):
        store.replace(Key(MINE, "000000001"), {"value": "x" * 420_000}, expires_at_s=LATER)
    assert store.query(MINE) == {Key(MINE, "000000001"): {"value": "1"}}


def test_an_expiry_is_replaced(store: ErasableStore, clock: MovableClock) -> None:
    store.create(Key(MINE, "1"), {"value": "1"}, expires_at_s=LATER)
    store.replace(Key(MINE, "1"), {"at": 7}, expires_at_s=clock.ms // 1000 + 10)
    clock.pass_seconds(11)
    assert store.read([Key(MINE, "1")]) == {}


def test_writes_that_dynamodb_leaves_are_repeated_and_then_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    made: list[Any] = []

    def call(operation: str, **parameters: Any) -> Any:
        if operation == "query":
            return {"Items": [{"pk": {"S": "p"}, "sk": {"S": str(number)}} for number in range(30)]}
        made.append(parameters["RequestItems"]["t"])
        return {"UnprocessedItems": {"t": made[-1][1:]}} if len(made[-1]) > 20 else {}

    assert erasure.erase(call, "t", "p", ()) == 30
    assert [len(each) for each in made] == [25, 24, 23, 22, 21, 20, 5]
    assert pauses == [0.05, 0.1, 0.2, 0.4, 0.8]

    def refuse(operation: str, **parameters: Any) -> Any:
        return {"UnprocessedItems": parameters["RequestItems"]} if operation != "query" else call(operation)

    with pytest.raises(StoreError, match="batch_write_item t: 25 writes unprocessed after 8 requests"):
        erasure.erase(refuse, "t", "p", ())
