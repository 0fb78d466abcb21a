"""Leases pass through the store of large texts unchanged."""

from tests.unit.protocol.counting_store import CountingStore
from unum_runtime.clock import SystemClock
from unum_runtime.model.naming import Key
from unum_runtime.store.large_items import LargeItems
from unum_simulator.memory_store import MemoryObjects, MemoryStore

KEY = Key("lease", "s")
FAR_MS = 10**14


def test_only_the_owner_renews_and_releases_a_lease() -> None:
    store = LargeItems(MemoryStore(SystemClock()), MemoryObjects(), "w")
    assert store.acquire(KEY, "one", expires_at_ms=FAR_MS) == "one"
    assert store.renew(KEY, "one", expires_at_ms=FAR_MS)
    assert not store.renew(KEY, "other", expires_at_ms=FAR_MS)
    store.release(KEY, "other")
    assert store.acquire(KEY, "other", expires_at_ms=FAR_MS) == "one"
    store.release(KEY, "one")
    assert store.acquire(KEY, "other", expires_at_ms=FAR_MS) == "other"


def test_a_text_becomes_an_object_when_its_bytes_reach_the_bound() -> None:
    objects = MemoryObjects()
    store = LargeItems(MemoryStore(SystemClock()), objects, "w", least_bytes=8)
    for number, text in enumerate(("1234567", "12345678", "ééé", "éééé", "😀", "😀😀")):
        key = Key(f"w/e:1#{number}", "s")
        store.create(key, {"value": text}, expires_at_s=10**11)
        assert store.read([key]) == {key: {"value": text}}
    assert sorted(content.decode() for content in objects._contents.values()) == ["12345678", "éééé", "😀😀"]


def test_a_replaced_item_has_its_text_in_an_object() -> None:
    store, key = LargeItems(MemoryStore(SystemClock()), MemoryObjects(), "w", least_bytes=8), Key("w/e:1#1", "s")
    store.create(key, {"value": "small"}, expires_at_s=10**11)
    store.replace(key, {"value": "x" * 9}, expires_at_s=10**11)
    assert store.in_delivery().read([key]) == {key: {"value": "x" * 9}}


def test_an_item_is_extended_once() -> None:
    store, key = LargeItems(MemoryStore(SystemClock()), MemoryObjects(), "w"), Key("w/e:1#1", "s")
    assert store.extend(key, {"a": 1}, unless="a", expires_at_s=10**11)[0]
    assert store.extend(key, {"a": 2}, unless="a", expires_at_s=10**11) == (False, {"a": 1})


def test_delivery_writes_each_text_once() -> None:
    puts: list[str] = []

    class Noting(MemoryObjects):
        def put(self, name: str, content: bytes) -> None:
            puts.append(name)
            super().put(name, content)

    store = LargeItems(MemoryStore(SystemClock()), Noting(), "w", least_bytes=8)
    for step in ("1", "2"):
        store.create(Key("w/e:1", step), {"value": "x" * 9}, expires_at_s=10**11)
    assert len(puts) == 1
    store.in_delivery().create(Key("w/e:1", "3"), {"value": "x" * 9}, expires_at_s=10**11)
    assert len(puts) == 2


def test_store_that_looks_writes_no_object_for_an_item_that_exists() -> None:
    counting, objects = CountingStore(), MemoryObjects()
    store = LargeItems(counting, objects, "w", least_bytes=8).looking()
    known, small, new = (Key("w/e:1", step) for step in "123")
    counting.inner.create(known, {"error": "gone"}, expires_at_s=10**11)
    assert store.create(known, {"value": "x" * 9}, expires_at_s=10**11) == {"error": "gone"}
    assert (counting.calls["read"], objects._contents) == (1, {})
    assert store.create(small, {"value": "x"}, expires_at_s=10**11) is None
    assert counting.calls["read"] == 1
    assert store.create(new, {"value": "x" * 9}, expires_at_s=10**11) is None
    assert len(objects._contents) == 1
