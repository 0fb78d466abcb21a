"""The contract finds Firestore stores with planted mistakes, and a server that lacks rules of Firestore."""

from collections.abc import Callable
from typing import TypeAlias

import pytest

from tests.contract import broken_firestore_stores as broken
from tests.contract import test_erasure, test_index, test_leases, test_store
from tests.contract.conftest import MovableClock, firestore_store
from tests.google.firestore_server import FirestoreServer, firestore_server
from unum_google.firestore import FirestoreStore

Check: TypeAlias = Callable[..., None]

FOUND_BY: list[tuple[type[FirestoreStore], Check]] = [
    (broken.Overwriting, test_store.test_one_of_concurrent_creates_wins_and_the_others_return_its_item),
    (broken.Overwriting, test_leases.test_one_of_several_concurrent_owners_gets_the_lease),
    (broken.CreatingAlone, test_store.test_concurrent_extensions_have_one_winner_per_part_and_return_all),
    (broken.CreatingAlone, test_leases.test_one_of_several_concurrent_owners_gets_an_expired_lease),
    (broken.LastAddition, test_store.test_adding_twice_changes_nothing),
    (broken.Undead, test_store.test_expired_items_are_absent_and_can_be_created_again),
    (broken.WithoutEntries, test_index.test_one_partition_is_listed_newest_first),
    (broken.LastingEntries, test_erasure.test_an_item_is_replaced_whatever_was_there),
    (broken.OnePage, test_index.test_expired_items_are_neither_listed_nor_counted),
    (broken.Unordered, test_store.test_query_gives_one_partition_in_order_over_all_pages),
]

NEEDED = [
    test_store.test_concurrent_extensions_have_one_winner_per_part_and_return_all,
    test_leases.test_one_of_several_concurrent_owners_gets_an_expired_lease,
]
"""Tests that need the rules of Firestore that its server from npm leaves out."""


@pytest.mark.parametrize(
    ("variant", "test"), [pytest.param(*each, id=f"{each[0].__name__}-{each[1].__name__}") for each in FOUND_BY]
)
def test_a_mistake_is_found(
    variant: type[FirestoreStore], test: Check, clock: MovableClock, google_firestore: FirestoreServer
) -> None:
    assert shows(test, clock, google_firestore, variant)


@pytest.mark.parametrize("test", NEEDED)
def test_the_server_as_published_lets_two_replacements_win(test: Check, clock: MovableClock) -> None:
    with firestore_server("as-published") as server:
        assert shows(test, clock, server, FirestoreStore)


ATTEMPTS = 40
"""A race that a mistake needs may not happen: one in four times on a busy machine."""


def shows(test: Check, clock: MovableClock, server: FirestoreServer, variant: type[FirestoreStore]) -> bool:
    """Return True if `test` fails with a store of `variant`, each attempt with a new one."""
    for _ in range(ATTEMPTS):
        try:
            run(test, firestore_store(clock, server, variant), clock)
        except AssertionError:
            return True
    return False


def run(test: Check, store: FirestoreStore, clock: MovableClock) -> None:
    known = {"store": store, "index": store, "clock": clock}
    test(**{name: known[name] for name in known.keys() & test.__annotations__.keys()})
