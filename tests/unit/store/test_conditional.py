"""Writes and pauses of a store of conditionally replaced documents: sets, ends of leases, and times."""

import random
import time
from collections.abc import Iterator
from dataclasses import replace
from threading import Barrier, current_thread
from typing import Any

import pytest

from tests.unit.protocol.platform import MovableClock
from unum_runtime.errors import StoreError
from unum_runtime.features.document_stores import conditional
from unum_runtime.features.document_stores.conditional import ConditionalStore, Document, in_parallel, pause
from unum_runtime.model.naming import Key
from unum_runtime.store.base import MAX_ITEM_BYTES

SET, LEASE = Key("w/e:1/done", "done"), Key("w/e:1/lease", "1")


class Documents(ConditionalStore):
    """Store of documents in a dict, whose versions are numbers."""

    place = "dict"

    def __init__(self, clock: MovableClock, stored: dict[Key, Document] | None = None) -> None:
        self.clock, self.stored = clock, {} if stored is None else stored

    def get(self, key: Key) -> Document | None:
        return self.stored.get(key)

    def put(self, key: Key, document: Document, *, replaces: Document | None) -> bool:
        if (present := self.stored.get(key)) != replaces:
            return False
        self.stored[key] = replace(document, version=present.version + 1 if present else 0)
        return True

    def documents(self, partition: str, newest: int | None, **_before: Any) -> Iterator[tuple[Key, Document]]:
        """Refuse: these tests read by key."""
        raise AssertionError(f"{partition}: {newest} documents are listed")

    def listed(self, partition: str, *_places: str, **_how: Any) -> Iterator[tuple[Key, Document]]:
        """Refuse as well."""
        raise AssertionError(f"{partition}: entries are listed")


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
def store(clock: MovableClock) -> Documents:
    return Documents(clock)


def test_an_addition_returns_the_whole_set_and_sets_its_expiry(store: Documents, clock: MovableClock) -> None:
    soon_s = clock.ms // 1000 + 5
    assert store.add(SET, 1, 2, expires_at_s=soon_s) == {1, 2}
    assert store.add(SET, 2, 3, expires_at_s=soon_s + 1) == {1, 2, 3}
    assert store.stored == {SET: Document(soon_s * 1000 + 1000, {}, frozenset({1, 2, 3}), 1)}


def test_an_expired_set_begins_anew(store: Documents, clock: MovableClock) -> None:
    store.add(SET, 1, expires_at_s=clock.ms // 1000 + 5)
    clock.pass_seconds(5)
    assert store.add(SET, 2, expires_at_s=clock.ms // 1000 + 5) == {2}


def test_an_addition_without_members_makes_an_empty_set(store: Documents, clock: MovableClock) -> None:
    assert store.add(SET, expires_at_s=clock.ms // 1000 + 5) == frozenset()
    assert store.stored[SET].members == frozenset()


def test_an_item_becomes_a_set_by_an_addition(store: Documents, clock: MovableClock) -> None:
    store.create(SET, {"at": 1}, expires_at_s=clock.ms // 1000 + 5)
    assert store.add(SET, 4, expires_at_s=clock.ms // 1000 + 5) == {4}


def test_a_collected_set_keeps_its_expiry_and_the_form_of_documents(store: Documents, clock: MovableClock) -> None:
    store.add(SET, 1, expires_at_s=clock.ms // 1000 + 5)
    store.collect([SET])
    assert store.stored == {SET: Document(clock.ms + 5000, {}, frozenset(), 1)}


def test_a_released_lease_still_has_its_owner_for_clocks_that_are_slow(store: Documents, clock: MovableClock) -> None:
    slow = MovableClock()
    store.acquire(LEASE, "a", expires_at_ms=clock.ms + 9000)
    clock.pass_seconds(1)
    store.release(LEASE, "a")
    assert Documents(slow, store.stored).acquire(LEASE, "b", expires_at_ms=slow.ms + 9000) == "a"


@pytest.mark.parametrize(("expires_at_ms", "deletable_at_s"), [(0, 0), (1, 1), (1000, 1), (1001, 2), (999_001, 1000)])
def test_a_document_is_deletable_after_its_last_second(expires_at_ms: int, deletable_at_s: int) -> None:
    found = Document(expires_at_ms, {}).deletable_at_s
    assert (found, type(found)) == (deletable_at_s, int)


def test_pauses_grow_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[Any] = []
    monkeypatch.setattr(random, "uniform", lambda least, most: (least, most))
    monkeypatch.setattr(time, "sleep", pauses.append)
    for round_ in (1, 10, 100, 200):
        pause(round_)
    assert pauses == [(0, 0.002), (0, 0.02), (0, 0.2), (0, 0.2)]


class Crowded(Documents):
    """Store whose first writes lose to other writers."""

    lost = 3

    def put(self, key: Key, document: Document, *, replaces: Document | None) -> bool:
        self.lost -= 1
        return self.lost < 0 and super().put(key, document, replaces=replaces)


def test_each_lost_attempt_but_the_first_waits_longer(clock: MovableClock, monkeypatch: pytest.MonkeyPatch) -> None:
    paused: list[int] = []
    monkeypatch.setattr(conditional, "pause", paused.append)
    assert Crowded(clock).create(LEASE, {"at": 1}, expires_at_s=10**10) is None
    assert paused == [1, 2]


class Partition(Documents):
    """Store that lists all of its documents, the newest first."""

    def documents(self, partition: str, newest: int | None, **_before: Any) -> Iterator[tuple[Key, Document]]:
        assert (partition, newest) == ("p", 9)
        return iter(sorted(self.stored.items(), reverse=True))


def test_page_has_no_sets(clock: MovableClock) -> None:
    store = Partition(clock)
    store.create(Key("p", "1"), {"at": 1}, expires_at_s=10**10)
    store.add(Key("p", "2"), 7, expires_at_s=10**10)
    assert store.page("p", before="~", limit=9) == {Key("p", "1"): {"at": 1}}


def test_size_of_an_item_counts_its_key_its_names_and_its_values(store: Documents) -> None:
    key, beside = Key("partition", "sort"), len("partition" + "sort" + "value")
    with pytest.raises(StoreError, match=f"got an item of {MAX_ITEM_BYTES + 1}$"):
        store.create(key, {"value": "x" * (MAX_ITEM_BYTES - beside + 1)}, expires_at_s=10**10)
    assert store.create(key, {"value": "x" * (MAX_ITEM_BYTES - beside)}, expires_at_s=10**10) is None


def test_query_has_no_sets(clock: MovableClock) -> None:
    store = Partition(clock)
    store.create(Key("p", "1"), {"at": 1}, expires_at_s=10**10)
    store.add(Key("p", "2"), 7, expires_at_s=10**10)
    assert store.query("p", newest=9) == {Key("p", "1"): {"at": 1}}


def test_several_keys_are_read_at_once() -> None:
    both = Barrier(2, timeout=5)
    assert sorted(in_parallel(lambda _: both.wait(), "ab")) == [0, 1]


def test_one_key_is_read_without_a_thread() -> None:
    assert in_parallel(lambda _: current_thread(), "a") == [current_thread()]
