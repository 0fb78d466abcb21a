"""Contract of the index for lists of executions, for each store."""

from collections.abc import Mapping
from typing import Any, cast

import boto3
import pytest
from moto import mock_aws

from tests.contract.conftest import MovableClock
from unum_runtime.errors import NoIndex, StoreError
from unum_runtime.model.checkpoint import start_record
from unum_runtime.model.list_index import Kind, execution_at, partition, place, shard_of, stored_item
from unum_runtime.model.naming import Execution, Key, start_key
from unum_runtime.store.base import Index, Store
from unum_runtime.store.dynamodb import DynamoStore

LATER = 1_900_000_000


@pytest.fixture
def index(store: Store) -> Index:
    return cast("Index", store)  # each store here implements both


def add(store: Store, place: str, *, partition: str = "p", at: int = 7, expires_at_s: int = LATER) -> None:
    item = {"list": partition, "list_at": place, "at": at, "value": "large"}
    store.create(Key(f"{partition}:{place}", "one"), item, expires_at_s=expires_at_s)  # type: ignore[arg-type]


def places(found: Mapping[Key, Any]) -> list[str]:
    return [item["list_at"] for item in found.values()]


def test_one_partition_is_listed_newest_first(store: Store, index: Index) -> None:
    for each in ("003/c", "001/a", "002/b"):
        add(store, each)
    add(store, "009/z", partition="q")
    store.create(Key("p", "unlisted"), {"at": 1}, expires_at_s=LATER)
    assert places(index.list_items("p")) == ["003/c", "002/b", "001/a"]
    assert index.list_items("nothing") == {}
    assert {item["at"] for item in index.list_items("p").values()} == {7}


def test_both_ends_of_a_range_are_in_it(store: Store, index: Index) -> None:
    for number in range(1, 6):
        add(store, f"00{number}")
    assert places(index.list_items("p", oldest="002", newest="004")) == ["004", "003", "002"]
    assert places(index.list_items("p", newest="003", limit=2)) == ["003", "002"]
    assert places(index.list_items("p", oldest="005")) == ["005"]
    assert places(index.list_items("p", oldest="002", limit=2, oldest_first=True)) == ["002", "003"]


def test_all_entries_at_one_place_are_listed(store: Store, index: Index) -> None:
    for at in (1, 2):
        item = {"list": "p", "list_at": "001/a", "at": at}
        store.create(Key("execution", f"{at}"), item, expires_at_s=LATER)
    assert sorted(int(item["at"]) for item in index.list_items("p").values()) == [1, 2]


def test_expired_items_are_neither_listed_nor_counted(store: Store, index: Index, clock: MovableClock) -> None:
    soon = clock.ms // 1000 + 10
    for number in range(1, 8):
        add(store, f"00{number}", expires_at_s=LATER if number in (1, 4) else soon)
    clock.pass_seconds(10)
    assert places(index.list_items("p", limit=2)) == ["004", "001"]


def test_the_loser_of_a_create_is_not_listed(store: Store, index: Index) -> None:
    for at in ("001/a", "003/a"):
        item: Any = {"list": "p", "list_at": at, "at": 7}
        store.create(Key("execution", "a"), item, expires_at_s=LATER)
    add(store, "002/b")
    assert places(index.list_items("p", limit=2)) == ["002/b", "001/a"]


def test_the_loser_of_a_create_is_in_no_other_list_at_its_place(store: Store, index: Index) -> None:
    for partition_ in ("p", "q"):
        item: Any = {"list": partition_, "list_at": "001/a", "at": 7}
        store.create(Key("execution", "a"), item, expires_at_s=LATER)
    assert places(index.list_items("p")) == ["001/a"]
    assert index.list_items("q") == {}


def test_collected_items_are_still_listed(store: Store, index: Index) -> None:
    add(store, "001/a")
    store.collect([Key("p:001/a", "one")])
    assert places(index.list_items("p")) == ["001/a"]


def test_a_start_record_is_found_where_its_execution_is(store: Store, index: Index) -> None:
    execution = Execution("a-b_C", 1_800_000_000_123)
    record = start_record(execution, {"n": 1})
    store.create(start_key("w", execution.name), stored_item("w", record), expires_at_s=LATER)
    (found,) = index.list_items(partition("w", Kind.STARTED, shard_of(execution))).values()
    assert execution_at(str(found["list_at"])) == execution
    assert index.list_items(partition("w", Kind.REDRIVEN, shard_of(execution))) == {}


def test_places_are_ordered_by_time_then_name() -> None:
    executions = [Execution("z", 999), Execution("a", 1_000), Execution("b", 1_000), Execution("a", 10_000)]
    assert sorted(executions, key=place) == executions


def test_a_table_without_index_is_an_error_that_says_how_to_get_it(clock: MovableClock) -> None:
    with mock_aws():
        client = boto3.client(
            "dynamodb", region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test"
        )
        keys: list[Any] = [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}]
        client.create_table(
            TableName="t",
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
            KeySchema=keys,
        )
        with pytest.raises(NoIndex, match=r"index 'executions' with .*'list'.*list_executions=True"):
            DynamoStore(client, "t", clock).list_items("p")  # type: ignore[arg-type]  # same methods
        with pytest.raises(StoreError, match="not found") as missing:
            DynamoStore(client, "absent", clock).list_items("p")  # type: ignore[arg-type]  # same methods
        assert not isinstance(missing.value, NoIndex)


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"at": {"S": "soon"}, "ttl": {"S": "never"}},
        {"at": {"M": {}}, "ttl": {"L": []}},
        {"at": {"BOOL": True}, "ttl": {"N": "1900000000"}},
        {"at": {"NULL": True}, "ttl": {"NULL": True}},
    ],
)
def test_entries_of_other_writers_are_listed_whatever_they_have(store: Store, index: Index, attributes: Any) -> None:
    if not isinstance(store, DynamoStore):
        pytest.skip("the memory has no types")
    listed = {"pk": {"S": "other"}, "sk": {"S": "1"}, "list": {"S": "p"}, "list_at": {"S": "001/x"}}
    store.client.put_item(TableName=store.table, Item={**listed, **attributes})
    add(store, "002/b")
    assert places(index.list_items("p")) == ["002/b", "001/x"]
