"""The contract finds stores with planted mistakes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from moto import mock_aws

from tests.contract import broken_stores as broken
from tests.contract import test_cosmos_faults, test_erasure, test_index, test_leases, test_store
from tests.contract.conftest import REGION, MovableClock, OneAtATime, s3_store
from unum_azure.cosmos import CosmosStore
from unum_runtime.features.bucket_state.s3 import S3Store

ATTEMPTS = 40
"""A race that a mistake needs may not happen on a busy machine."""

FOUND_BY: list[tuple[Any, Callable[..., None]]] = [
    (broken.Unconditional, test_store.test_one_of_concurrent_creates_wins_and_the_others_return_its_item),
    (broken.Unconditional, test_store.test_concurrent_extensions_have_one_winner_per_part_and_return_all),
    (broken.Unconditional, test_leases.test_one_of_several_concurrent_owners_gets_the_lease),
    (broken.Overwritten, test_store.test_adding_twice_changes_nothing),
    (broken.Immortal, test_store.test_expired_items_are_absent_and_can_be_created_again),
    (broken.Resurrected, test_store.test_many_members_are_added_in_one_write),
    (broken.Unmarked, test_store.test_a_set_reads_as_how_many_members_it_has),
    (broken.Unlisted, test_index.test_one_partition_is_listed_newest_first),
    (broken.EveryEntry, test_index.test_expired_items_are_neither_listed_nor_counted),
    (broken.FirstPage, test_store.test_query_gives_one_partition_in_order_over_all_pages),
    (broken.FirstPage, test_erasure.test_some_items_are_kept),
    (broken.Nested, test_erasure.test_a_partition_is_erased_with_items_sets_and_leases),
    (broken.LastWins, test_store.test_create_stores_once_and_gives_the_loser_the_winners_item),
    (broken.LastWins, test_store.test_concurrent_extensions_have_one_winner_per_part_and_return_all),
    (broken.LastWins, test_leases.test_one_of_several_concurrent_owners_gets_an_expired_lease),
    (broken.Eternal, test_store.test_expired_items_are_absent_and_can_be_created_again),
    (broken.Eternal, test_leases.test_any_owner_can_acquire_an_expired_lease),
    (broken.Revived, test_store.test_many_members_are_added_in_one_write),
    (broken.Cropped, test_store.test_many_members_are_added_in_one_write),
    (broken.Unsorted, test_store.test_query_gives_one_partition_in_order_over_all_pages),
    (broken.Unsorted, test_index.test_one_partition_is_listed_newest_first),
    (broken.Exclusive, test_index.test_both_ends_of_a_range_are_in_it),
    (broken.Truncated, test_erasure.test_some_items_are_kept),
    (broken.Absent, test_cosmos_faults.test_an_unreadable_item_is_not_absent),
]


@pytest.mark.parametrize(
    ("variant", "test"), [pytest.param(*each, id=f"{each[0].__name__}-{each[1].__name__}") for each in FOUND_BY]
)
def test_a_mistake_is_found(
    variant: type[S3Store] | type[CosmosStore],
    test: Callable[..., None],
    clock: MovableClock,
    request: pytest.FixtureRequest,
) -> None:
    assert any(_fails(variant, test, clock, request) for _ in range(ATTEMPTS))


def _fails(
    variant: type[S3Store] | type[CosmosStore],
    test: Callable[..., None],
    clock: MovableClock,
    request: pytest.FixtureRequest,
) -> bool:
    """Return True if `test` finds the mistake in a new store."""
    with _store(variant, clock, request) as store:
        known = {"store": store, "index": store, "clock": clock, "cosmos": request.getfixturevalue("cosmos")}
        try:
            test(**{name: known[name] for name in known.keys() & test.__annotations__.keys()})
        except (AssertionError, pytest.fail.Exception):
            return True
    return False


@contextmanager
def _store(
    variant: type[S3Store] | type[CosmosStore], clock: MovableClock, request: pytest.FixtureRequest
) -> Iterator[S3Store | CosmosStore]:
    if issubclass(variant, CosmosStore):
        with request.getfixturevalue("cosmos").store(clock) as cosmos:
            yield variant(cosmos.container, clock)
    else:
        with mock_aws():
            given = s3_store(clock, {"region_name": REGION})
            client = OneAtATime(given.client())
            yield variant(lambda: client, given.bucket, clock)
