"""Contract of objects, and of stores with large items: memory, S3 in moto, S3 in the emulator (marked e2e)."""

import uuid
from collections.abc import Iterator

import boto3
import pytest
from moto import mock_aws

from tests.contract.conftest import TEST_KEY, MovableClock
from unum_runtime.aws.object_bucket import S3Objects
from unum_runtime.errors import StoreError
from unum_runtime.model.naming import Key
from unum_runtime.store.base import Objects, Store
from unum_runtime.store.erasable import ErasableObjects
from unum_runtime.store.large_items import LargeItems
from unum_simulator.memory_store import MemoryObjects, MemoryStore

BIG = 1_000_000
LATER = 1_900_000_000
KEY = Key("wf/execution:1", "000000001")


@pytest.fixture(params=["memory", "moto", pytest.param("emulator", marks=[pytest.mark.e2e, pytest.mark.enable_socket])])
def objects(request: pytest.FixtureRequest) -> Iterator[ErasableObjects]:
    match request.param:
        case "memory":
            yield MemoryObjects()
        case "moto":
            with mock_aws():
                yield _s3({})
        case "emulator":
            yield _s3(request.getfixturevalue("emulator_options"))


def _s3(options: dict[str, str]) -> S3Objects:
    named = TEST_KEY | options
    client = boto3.Session(region_name="us-east-1").client("s3", **named)  # type: ignore[call-overload]  # by name
    bucket = f"contract-{uuid.uuid4()}"
    client.create_bucket(Bucket=bucket)
    return S3Objects(lambda: client, bucket)


def test_stored_objects_are_readable(objects: Objects) -> None:
    objects.put("wf/execution:1/a", b"one")
    objects.put("wf/execution:1/b%000025", "zwei ü€😀".encode())
    assert objects.get(["wf/execution:1/b%000025", "wf/execution:1/a"]) == {
        "wf/execution:1/a": b"one",
        "wf/execution:1/b%000025": "zwei ü€😀".encode(),
    }


def test_absent_objects_are_omitted(objects: Objects) -> None:
    objects.put("wf/a", b"one")
    assert objects.get(["wf/b", "wf/a"]) == {"wf/a": b"one"}
    assert objects.get([]) == {}


def test_a_repeated_put_changes_nothing(objects: Objects) -> None:
    objects.put("wf/a", b"one")
    objects.put("wf/a", b"one")
    assert objects.get(["wf/a", "wf/a"]) == {"wf/a": b"one"}


def test_many_objects_are_read_together(objects: Objects) -> None:
    contents = {f"wf/{number}": bytes([number]) * 1000 for number in range(60)}
    for name, content in contents.items():
        objects.put(name, content)
    assert objects.get(contents) == contents


def test_a_folder_is_erased_with_all_versions_and_no_other(objects: ErasableObjects) -> None:
    if isinstance(objects, S3Objects):
        versioning = {"Status": "Enabled"}
        objects.client().put_bucket_versioning(Bucket=objects.bucket, VersioningConfiguration=versioning)
    for name in ("wf/e:1/a", "wf/e:1/b", "wf/e:1/b", "wf/e:12/a", "wf/e/a", "other/e:1/a"):
        objects.put(name, name.encode())
    if isinstance(objects, S3Objects):  # a lifecycle rule has put a marker on an object
        objects.client().delete_object(Bucket=objects.bucket, Key="wf/e:1/a")
    objects.erase_folder("wf/e:1")
    left = ["wf/e:12/a", "wf/e/a", "other/e:1/a"]
    assert [*objects.get(["wf/e:1/a", "wf/e:1/b", *left])] == left
    if isinstance(objects, S3Objects):
        found = objects.client().list_object_versions(Bucket=objects.bucket)
        assert {each["Key"] for each in found["Versions"]} == {*left}
        assert "DeleteMarkers" not in found
    objects.erase_folder("wf/e:1")


def test_more_objects_than_one_request_deletes(objects: ErasableObjects) -> None:
    for number in range(1_100):
        objects.put(f"wf/e:1/{number}", b"")
    objects.erase_folder("wf/e:1")
    assert objects.get(["wf/e:1/0", "wf/e:1/1099"]) == {}


def test_an_item_may_have_a_text_of_any_size(store: Store, clock: MovableClock) -> None:
    large = LargeItems(store, MemoryObjects(), "wf")
    item = {"state": "A", "value": "x" * BIG, "variables": "y" * 20_000, "at": clock.ms}
    assert large.create(KEY, item, expires_at_s=LATER) is None  # type: ignore[arg-type]  # options by name
    assert large.create(KEY, {"value": "z" * BIG}, expires_at_s=LATER) == item
    assert large.read([KEY]) == {KEY: item}
    assert large.query(KEY.partition) == {KEY: item}
    (stored,) = store.read([KEY]).values()
    assert sum(len(str(part)) for part in stored.values()) < 400
    large.collect([KEY])
    assert large.read([KEY]) == {KEY: {"state": "A", "at": clock.ms, "collected": 1}}


def test_large_texts_round_trip(objects: Objects) -> None:
    large = LargeItems(MemoryStore(), objects, "wf")
    large.create(KEY, {"value": "ü" * BIG}, expires_at_s=LATER)
    assert large.read([KEY]) == {KEY: {"value": "ü" * BIG}}


def test_an_object_that_was_deleted_is_an_error(objects: Objects) -> None:
    store = MemoryStore()
    LargeItems(store, MemoryObjects(), "wf").create(KEY, {"value": "x" * BIG}, expires_at_s=LATER)
    with pytest.raises(StoreError, match=r"object wf/execution:1/[0-9a-f]{64}: expected content, got none"):
        LargeItems(store, objects, "wf").read([KEY])


def test_an_object_that_was_changed_is_an_error(objects: Objects) -> None:
    large = LargeItems(MemoryStore(), objects, "wf")
    reference = large.store_text(KEY.partition, "what was meant")
    objects.put(reference, b"something else")
    with pytest.raises(StoreError, match="expected content with the SHA-256 in its name"):
        large.read_texts([reference])


def test_a_refusal_by_the_bucket_is_an_error_not_an_absent_object() -> None:
    with mock_aws():
        session = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name="us-east-1")
        client = session.client("s3")
        objects = S3Objects(lambda: client, "gone")
        with pytest.raises(StoreError, match=r"PutObject s3://gone/wf/a: .*NoSuchBucket"):
            objects.put("wf/a", b"")
        with pytest.raises(StoreError, match=r"GetObject s3://gone/wf/a: .*NoSuchBucket"):
            objects.get(["wf/a"])
        with pytest.raises(StoreError, match=r"DeleteObjects s3://gone/wf/: .*NoSuchBucket"):
            objects.erase_folder("wf")
