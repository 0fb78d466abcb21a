"""Contract of pages of a partition, see `unum_runtime.store.erasable`."""

from tests.contract.conftest import MovableClock
from unum_runtime.model.naming import Key
from unum_runtime.store.erasable import ErasableStore

LATER = 1_900_000_000
MINE, OTHER = "wf/e:1", "wf/e:12"
END = "~"


def fill(store: ErasableStore, count: int, *, value: str = "1") -> None:
    for number in range(count):
        store.create(Key(MINE, f"{number:03d}"), {"value": value}, expires_at_s=LATER)


def sorts(store: ErasableStore, before: str, limit: int) -> list[str]:
    return [key.sort for key in store.page(MINE, before=before, limit=limit)]


def test_pages_follow_each_other_to_the_first_item(store: ErasableStore) -> None:
    fill(store, 5)
    store.create(Key(OTHER, "000"), {"value": "2"}, expires_at_s=LATER)
    assert sorts(store, END, 2) == ["004", "003"]
    assert sorts(store, "003", 2) == ["002", "001"]
    assert sorts(store, "001", 2) == ["000"]
    assert sorts(store, "000", 2) == []
    assert sorts(store, "0025", 9) == ["002", "001", "000"]
    assert store.page(MINE, before=END, limit=1) == {Key(MINE, "004"): {"value": "1"}}
    assert store.page("absent", before=END, limit=1) == {}


def test_a_page_has_no_expired_items_and_is_full_without_them(store: ErasableStore, clock: MovableClock) -> None:
    fill(store, 4)
    for number in range(4, 9):
        store.create(Key(MINE, f"{number:03d}"), {"value": "1"}, expires_at_s=clock.ms // 1000 + 1)
    clock.pass_seconds(2)
    assert sorts(store, END, 3) == ["003", "002", "001"]
    assert sorts(store, "008", 3) == ["003", "002", "001"]


def test_a_page_of_large_items_is_complete(store: ErasableStore) -> None:
    fill(store, 5, value="x" * 390_000)
    assert sorts(store, END, 5) == ["004", "003", "002", "001", "000"]
