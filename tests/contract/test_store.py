from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from threading import Barrier

import pytest

from tests.contract.conftest import MovableClock
from unum_google.firestore import FirestoreStore
from unum_runtime.errors import StoreError
from unum_runtime.features.bucket_state.s3 import S3Store
from unum_runtime.model.naming import Key
from unum_runtime.store.base import Store

WRITERS = 32
LATER = 1_900_000_000
KEY = Key("partition", "one")


def test_create_stores_once_and_gives_the_loser_the_winners_item(store: Store) -> None:
    assert store.create(KEY, {"value": "first", "at": 1}, expires_at_s=LATER) is None
    assert store.create(KEY, {"value": "second", "at": 2}, expires_at_s=LATER) == {"value": "first", "at": 1}
    assert store.read([KEY]) == {KEY: {"value": "first", "at": 1}}


def test_one_of_concurrent_creates_wins_and_the_others_return_its_item(store: Store) -> None:
    barrier = Barrier(WRITERS)

    def create(writer: int) -> str | int:
        barrier.wait()
        found = store.create(KEY, {"writer": writer}, expires_at_s=LATER)
        return writer if found is None else found["writer"]

    with ThreadPoolExecutor(WRITERS) as pool:
        seen = set(pool.map(create, range(WRITERS)))
    assert len(seen) == 1


def test_a_set_keeps_each_member_and_the_last_addition_returns_all(store: Store) -> None:
    barrier = Barrier(WRITERS)

    def add(member: int) -> frozenset[int]:
        barrier.wait()
        return store.add(KEY, member, expires_at_s=LATER)

    with ThreadPoolExecutor(WRITERS) as pool:
        views = [*pool.map(add, range(WRITERS))]
    assert all(member in view for member, view in enumerate(views))
    views.sort(key=len)
    assert views[-1] == frozenset(range(WRITERS))
    if not isinstance(store, S3Store | FirestoreStore):  # they write, then read: several callers may see the same set
        assert [len(view) for view in views] == list(range(1, WRITERS + 1)), "additions are ordered"
        assert all(smaller < larger for smaller, larger in pairwise(views))


def test_adding_twice_changes_nothing(store: Store) -> None:
    store.add(KEY, 3, expires_at_s=LATER)
    assert store.add(KEY, 3, expires_at_s=LATER) == {3}
    assert store.add(KEY, 0, expires_at_s=LATER) == {0, 3}


def test_many_members_are_added_in_one_write(store: Store, clock: MovableClock) -> None:
    store.add(KEY, 300, expires_at_s=LATER)
    assert store.add(KEY, *range(256), expires_at_s=LATER) == {*range(256), 300}
    expired = Key("other", "set")
    store.add(expired, 7, expires_at_s=clock.now_ms() // 1000 + 10)
    clock.pass_seconds(11)
    assert store.add(expired, 1, 2, expires_at_s=LATER) == {1, 2}


def test_a_set_reads_as_how_many_members_it_has(store: Store) -> None:
    for member in (3, 0, 3):
        store.add(KEY, member, expires_at_s=LATER)
    other = Key("other", "item")
    store.create(other, {"value": "x"}, expires_at_s=LATER)
    assert store.read([KEY, other]) == {KEY: {"members": 2}, other: {"value": "x"}}
    assert store.read([KEY]) == {KEY: {"members": 2}}
    store.collect([KEY])
    assert store.read([KEY]) == {KEY: {"collected": 1}}


def test_read_leaves_out_what_is_absent_and_takes_any_number_of_keys(store: Store) -> None:
    keys = [Key(f"p{number % 3}", f"{number:05d}") for number in range(230)]
    for number, key in enumerate(keys[::2]):
        store.create(key, {"number": number}, expires_at_s=LATER)
    assert store.read([*keys, *keys]) == {key: {"number": number} for number, key in enumerate(keys[::2])}
    assert store.read([]) == {}


def test_query_gives_one_partition_in_order_over_all_pages(store: Store) -> None:
    big = "x" * 200_000
    for number in (5, 3, 9, 1, 7, 2, 8):
        store.create(Key("wanted", f"{number:03d}"), {"number": number, "big": big}, expires_at_s=LATER)
    store.create(Key("wanted-not", "001"), {"number": 0}, expires_at_s=LATER)
    assert [item["number"] for item in store.query("wanted").values()] == [1, 2, 3, 5, 7, 8, 9]
    assert [key.sort for key in store.query("wanted", newest=2)] == ["009", "008"]
    assert store.query("nothing") == {}


def test_expired_items_are_absent_and_can_be_created_again(store: Store, clock: MovableClock) -> None:
    expiry = clock.ms // 1000 + 10
    store.create(KEY, {"value": "old"}, expires_at_s=expiry)
    members = Key("partition", "set")
    store.add(members, 1, expires_at_s=expiry)
    clock.pass_seconds(9)
    assert members in store.read([members])
    assert KEY in store.read([KEY])
    clock.pass_seconds(1)
    assert store.read([KEY]) == {}
    assert store.read([members]) == {}
    assert KEY not in store.query("partition")
    assert store.query("partition", newest=1) == {}
    assert store.create(KEY, {"value": "new"}, expires_at_s=LATER) is None
    assert store.read([KEY]) == {KEY: {"value": "new"}}
    assert store.add(members, 2, expires_at_s=LATER) == {2}, "an expired set begins empty"
    assert store.add(members, 3, expires_at_s=LATER) == {2, 3}


@pytest.mark.parametrize("value", ["", "ü€😀", '"quoted"', "line\nbreak", "x" * 380_000])
def test_text_round_trip(store: Store, value: str) -> None:
    store.create(KEY, {"value": value}, expires_at_s=LATER)
    assert store.read([KEY])[KEY]["value"] == value


def test_number_round_trip(store: Store) -> None:
    item = {"zero": 0, "negative": -5, "now_ms": 1_800_000_000_123}
    store.create(KEY, dict(item), expires_at_s=LATER)
    assert store.read([KEY])[KEY] == item


def test_an_item_that_is_too_large_is_an_error_and_not_stored(store: Store) -> None:
    with pytest.raises(StoreError, match="partition"):
        store.create(KEY, {"value": "x" * 420_000}, expires_at_s=LATER)
    assert store.read([KEY]) == {}


def test_collect_deletes_the_value_and_leaves_a_tombstone(store: Store) -> None:
    members = Key("sets", "set")
    store.create(KEY, {"value": "large", "state": "S", "at": 1}, expires_at_s=LATER)
    store.add(members, 1, expires_at_s=LATER)
    for _ in range(2):
        store.collect([KEY, members, Key("partition", "absent")])
    assert store.read([KEY]) == {KEY: {"state": "S", "at": 1, "collected": 1}}
    assert store.create(KEY, {"value": "again"}, expires_at_s=LATER) == {"state": "S", "at": 1, "collected": 1}
    assert store.add(members, 2, expires_at_s=LATER) == {2}
    assert store.read([Key("partition", "absent")]) == {}


def test_each_part_extends_an_item_once_and_the_loser_gets_the_whole_item(store: Store) -> None:
    assert store.extend(KEY, {"a": "first", "at": 1}, unless="a", expires_at_s=LATER) == (True, {"a": "first", "at": 1})
    assert store.extend(KEY, {"b": "x"}, unless="b", expires_at_s=LATER) == (True, {"a": "first", "at": 1, "b": "x"})
    lost = store.extend(KEY, {"a": "second", "at": 2}, unless="a", expires_at_s=LATER)
    assert lost == (False, {"a": "first", "at": 1, "b": "x"})
    assert store.read([KEY]) == {KEY: {"a": "first", "at": 1, "b": "x"}}


def test_concurrent_extensions_have_one_winner_per_part_and_return_all(store: Store) -> None:
    barrier = Barrier(WRITERS)

    def extend(writer: int) -> tuple[bool, dict[str, str | int]]:
        barrier.wait()
        part = f"part{writer % 4}"
        return store.extend(KEY, {part: writer}, unless=part, expires_at_s=LATER)

    with ThreadPoolExecutor(WRITERS) as pool:
        found = list(pool.map(extend, range(WRITERS)))
    views = sorted((view for is_set, view in found if is_set), key=len)
    assert [len(view) for view in views] == [1, 2, 3, 4], "each part is set once, and the calls are ordered"
    assert all(smaller.items() < larger.items() for smaller, larger in pairwise(views))
    assert all(view.items() <= views[-1].items() for _, view in found), "losers see what was set, and nothing else"


def test_an_expired_item_begins_empty_when_it_is_extended(store: Store, clock: MovableClock) -> None:
    store.extend(KEY, {"a": 1, "b": 1}, unless="a", expires_at_s=clock.ms // 1000 + 10)
    clock.pass_seconds(9)
    store.extend(KEY, {"c": 1}, unless="c", expires_at_s=clock.ms // 1000 + 10)
    clock.pass_seconds(9)
    assert store.read([KEY]) == {KEY: {"a": 1, "b": 1, "c": 1}}, "each part lets all of it live on"
    clock.pass_seconds(1)
    assert store.extend(KEY, {"a": 2}, unless="a", expires_at_s=LATER) == (True, {"a": 2})
    assert store.read([KEY]) == {KEY: {"a": 2}}


def test_an_item_is_not_extended_beyond_its_size(store: Store) -> None:
    store.extend(KEY, {"a": "x" * 300_000}, unless="a", expires_at_s=LATER)
    with pytest.raises(StoreError, match="partition"):
        store.extend(KEY, {"b": "x" * 120_000}, unless="b", expires_at_s=LATER)
    assert store.read([KEY])[KEY].keys() == {"a"}


def test_collect_leaves_a_packs_ended_branches_and_deletes_the_values(store: Store) -> None:
    store.extend(KEY, {"e0": "0 5 0 0", "v0": "17", "state": "S"}, unless="e0", expires_at_s=LATER)
    store.collect([KEY])
    left = {"e0": "0 5 0 0", "state": "S", "collected": 1}
    assert store.read([KEY]) == {KEY: left}
    assert store.extend(KEY, {"e0": "0 6 0 0", "v0": "18"}, unless="e0", expires_at_s=LATER) == (False, left)
