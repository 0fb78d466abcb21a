"""The contract finds stores with planted mistakes."""

from collections.abc import Callable

import pytest
from moto import mock_aws

from tests.contract import broken_stores as broken
from tests.contract import test_erasure, test_index, test_leases, test_store
from tests.contract.conftest import REGION, MovableClock, OneAtATime, s3_store
from unum_runtime.store.s3 import S3Store

FOUND_BY = [
    (broken.Unconditional, test_store.test_one_of_several_concurrent_creates_wins_and_all_others_return_its_item),
    (broken.Unconditional, test_store.test_concurrent_extensions_have_one_winner_per_part_and_the_last_returns_all),
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
]


@pytest.mark.parametrize(
    ("variant", "test"), [pytest.param(*each, id=f"{each[0].__name__}-{each[1].__name__}") for each in FOUND_BY]
)
def test_a_mistake_is_found(variant: type[S3Store], test: Callable[..., None], clock: MovableClock) -> None:
    with mock_aws():
        given = s3_store(clock, {"region_name": REGION})
        client = OneAtATime(given.client())
        store = variant(lambda: client, given.bucket, clock)
        known = {"store": store, "index": store, "clock": clock}
        with pytest.raises(AssertionError):
            test(**{name: known[name] for name in known.keys() & test.__annotations__.keys()})
