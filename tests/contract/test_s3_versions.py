"""Requests of the S3 store to a bucket that keeps versions, and objects left there."""

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from tests.contract.conftest import REGION, MovableClock, s3_store
from unum_runtime.errors import StoreDenied
from unum_runtime.features.bucket_state.s3 import S3Store
from unum_runtime.features.bucket_state.s3_names import item_name
from unum_runtime.model.naming import Key

KEY, SET = Key("w/e:1", "000000001"), Key("w/e:1", "done")
LATER = 1_900_000_000


@pytest.fixture
def store(clock: MovableClock) -> Iterator[S3Store]:
    with mock_aws():
        store = s3_store(clock, {"region_name": REGION})
        store.client().put_bucket_versioning(Bucket=store.bucket, VersioningConfiguration={"Status": "Enabled"})
        yield store


def asked(store: S3Store, operation: str) -> list[dict[str, Any]]:
    """Return the parameters of all later requests for `operation`, as they come."""
    found: list[dict[str, Any]] = []
    events = store.client().meta.events
    events.register(f"provide-client-params.s3.{operation}", lambda params, **_: found.append(dict(params)))
    return found


def left(store: S3Store) -> list[str]:
    page = store.client().list_object_versions(Bucket=store.bucket)
    return [each["Key"] for kind in ("Versions", "DeleteMarkers") for each in page.get(kind, ())]


def test_no_version_of_an_erased_partition_is_left_nor_of_its_entries(store: S3Store) -> None:
    for number in range(3):
        item: Any = {"list": "p", "list_at": f"001/{number}", "at": 7}
        store.create(Key("w/e:1", f"{number}"), item, expires_at_s=LATER)
    store.replace(Key("w/e:1", "0"), {"at": 8}, expires_at_s=LATER)
    store.add(SET, 1, expires_at_s=LATER)
    store.collect([SET])  # which deletes the addition, and leaves a marker of that
    deletions = asked(store, "DeleteObjects")
    assert store.erase("w/e:1") == 4
    assert left(store) == []
    assert len(deletions) == 3, "one for each entry, one for all the rest"


def test_a_replaced_item_has_no_entry(store: S3Store) -> None:
    store.create(KEY, {"list": "p", "list_at": "001/a", "at": 7}, expires_at_s=LATER)
    store.replace(KEY, {"at": 8}, expires_at_s=LATER)
    assert {name.partition(":")[0] for name in left(store)} == {"state"}


def test_a_set_is_marked_only_where_there_is_nothing(store: S3Store) -> None:
    writes = asked(store, "PutObject")
    store.add(SET, 1, expires_at_s=LATER)
    assert [each.get("IfNoneMatch") for each in writes] == [None, "*"]


def test_a_query_reads_each_set_once_and_none_of_its_additions(store: S3Store) -> None:
    store.create(KEY, {"at": 1}, expires_at_s=LATER)
    for member in range(3):
        store.add(SET, member, expires_at_s=LATER)
    reads = asked(store, "GetObject")
    assert store.query(KEY.partition) == {KEY: {"at": 1}}
    assert sorted(each["Key"] for each in reads) == [item_name(KEY), item_name(SET)]


def test_a_refused_deletion_is_an_error_that_names_the_bucket(store: S3Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.create(KEY, {"at": 1}, expires_at_s=LATER)

    def refuse(**_parameters: Any) -> Any:
        raise ClientError({"Error": {"Code": "AccessDenied"}}, "DeleteObjects")

    monkeypatch.setattr(store.client(), "delete_objects", refuse)
    with pytest.raises(StoreDenied, match=f"DeleteObjects s3://{store.bucket}.*AccessDenied"):
        store.erase(KEY.partition)
