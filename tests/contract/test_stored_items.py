"""Items that a verification reads from each store: expired ones too, each with its expiry."""

from tests.contract.conftest import MovableClock
from unum_client.verification.stored_history import stored_items
from unum_runtime.model.naming import Key
from unum_runtime.store.base import Store

FIRST, SECOND = Key("w/e:1", "000000001"), Key("w/e:1", "000000002")


def test_expired_items_are_shown_with_their_expiry(store: Store, clock: MovableClock) -> None:
    now_s = clock.now_ms() // 1000
    store.create(SECOND, {"value": "2", "at": 7}, expires_at_s=now_s + 200)
    store.create(FIRST, {"value": "1", "at": 5}, expires_at_s=now_s + 50)
    store.create(Key("w/e:2", "000000001"), {"value": "3"}, expires_at_s=now_s + 50)
    clock.pass_seconds(100)
    assert [*store.query(FIRST.partition)] == [SECOND]
    found = stored_items(store, FIRST.partition)
    assert [*found] == [FIRST, SECOND]
    assert {key: (dict(item), expires_at_s) for key, (item, expires_at_s) in found.items()} == {
        FIRST: ({"value": "1", "at": 5}, now_s + 50),
        SECOND: ({"value": "2", "at": 7}, now_s + 200),
    }


def test_sets_and_absent_partitions_are_no_items(store: Store, clock: MovableClock) -> None:
    store.add(Key("w/e:1~0/done", "done"), 1, 2, expires_at_s=clock.now_ms() // 1000 + 50)
    assert stored_items(store, "w/absent") == {}
