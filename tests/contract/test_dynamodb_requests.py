"""Requests to DynamoDB for pages, batches and index entries, and answers that come in parts."""

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from tests.contract.conftest import MovableClock
from unum_runtime.errors import StoreError
from unum_runtime.model.naming import Key
from unum_runtime.store.dynamodb import FAILED_CONDITION, DynamoStore

if TYPE_CHECKING:
    from collections.abc import Callable

LATER = {"N": "1900000000"}


class Pages:
    """Client whose query answers with `pages`, one after the other, and whose batches have all items."""

    def __init__(self, *pages: list[dict[str, Any]]) -> None:
        self.pages = [*pages]
        self.asked: list[dict[str, Any]] = []

    def query(self, **parameters: Any) -> Any:
        self.asked.append(parameters)
        items = self.pages[len(self.asked) - 1]
        return {"Items": items} | ({} if len(self.asked) == len(self.pages) else {"LastEvaluatedKey": items[-1]["sk"]})

    def batch_get_item(self, **parameters: Any) -> Any:
        self.asked.append(parameters["RequestItems"]["t"])
        return {"Responses": {"t": [{**key, "ttl": LATER, "n": key["sk"]} for key in self.asked[-1]["Keys"]]}}

    def __getattr__(self, operation: str) -> Any:
        raise AssertionError(f"{operation}: no read")


def stored(*sorts: str, **attributes: Any) -> list[dict[str, Any]]:
    return [{"pk": {"S": "p"}, "sk": {"S": sort}, "ttl": LATER, **attributes} for sort in sorts]


def store(client: Any) -> DynamoStore:
    return DynamoStore(client, "t", MovableClock())


def sorts(found: dict[Key, Any]) -> list[str]:
    return [key.sort for key in found]


def test_keys_are_read_in_batches_as_large_as_dynamodb_takes() -> None:
    client = Pages()
    keys = [Key("p", str(number)) for number in range(250)]
    assert store(client).read(keys) == {key: {"n": key.sort} for key in keys}
    assert [len(asked["Keys"]) for asked in client.asked] == [100, 100, 50]


def test_all_pages_of_a_partition_are_read_from_where_the_last_one_ended() -> None:
    client = Pages(stored("1", "2"), stored("3"), stored("4"))
    assert sorts(store(client).query("p")) == ["1", "2", "3", "4"]
    assert [asked.get("ExclusiveStartKey") for asked in client.asked] == [None, {"S": "2"}, {"S": "3"}]
    assert [(asked["ScanIndexForward"], "Limit" in asked) for asked in client.asked] == [(True, False)] * 3


@pytest.mark.parametrize(("newest", "requests"), [(1, 1), (2, 1), (3, 2), (9, 2)])
def test_newest_items_are_read_backwards_in_no_more_pages_than_needed(newest: int, requests: int) -> None:
    client = Pages(stored("4", "3"), stored("2", "1"))
    assert sorts(store(client).query("p", newest=newest))[:newest] == ["4", "3", "2", "1"][:newest]
    assert [(asked["ScanIndexForward"], asked["Limit"]) for asked in client.asked] == [(False, newest)] * requests


def test_a_page_of_expired_items_is_not_the_last() -> None:
    client = Pages(stored("4", ttl={"N": "1"}), stored("3"))
    assert sorts(store(client).query("p", newest=1)) == ["3"]


def test_a_list_has_no_more_entries_than_were_asked_for() -> None:
    client = Pages(stored("4", ttl={"N": "1"}), stored("3", "2", "1"))
    assert sorts(store(client).list_items("p", limit=2)) == ["3", "2"]


@pytest.mark.parametrize(
    ("attributes", "item"),
    [
        ({"ttl": {"S": "never"}}, {}),
        ({"ttl": {"NS": ["1"]}}, {}),
        ({"blob": {"B": b"x"}, "flag": {"BOOL": True}, "at": {"N": "7"}, "text": {"S": "a"}}, {"at": 7, "text": "a"}),
        ({"numbers": {"NS": ["1", "2"]}}, {"numbers": 2}),
    ],
)
def test_entries_of_other_writers_are_read_as_far_as_they_are_known(attributes: Any, item: Any) -> None:
    (found,) = store(Pages(stored("1", **attributes))).list_items("p").values()
    assert found == item


def test_an_entry_without_expiry_is_listed_and_one_that_has_expired_is_not() -> None:
    (endless,) = stored("1")
    del endless["ttl"]
    assert sorts(store(Pages([endless, *stored("2", ttl={"N": "1"})])).list_items("p")) == ["1"]


class Refusing:
    """Client that refuses every write."""

    def __getattr__(self, operation: str) -> Any:
        def refuse(**_parameters: Any) -> None:
            raise ClientError({"Error": {"Code": "Throttled", "Message": "why"}}, operation)

        return refuse


def test_a_write_that_fails_names_its_key() -> None:
    refused, key = store(Refusing()), Key("p", "1")
    calls: list[tuple[str, Callable[[], object]]] = [
        ("put_item", partial(refused.create, key, {}, expires_at_s=1)),
        ("put_item", partial(refused.replace, key, {}, expires_at_s=1)),
        ("update_item", partial(refused.extend, key, {"e0": "1"}, unless="e0", expires_at_s=1)),
        ("update_item", partial(refused.add, key, 1, expires_at_s=1)),
        ("update_item", partial(refused.collect, [key])),
    ]
    for operation, call in calls:
        with pytest.raises(StoreError) as found:
            call()
        assert str(found.value).startswith(f"{operation} t {key}: An error occurred (Throttled)")


class ExpiredSet:
    """Client of a table with an expired set, which another writer replaces before this one does."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def update_item(self, **parameters: Any) -> Any:
        self.asked.append(parameters["UpdateExpression"].split()[0])
        if len(self.asked) < 3:
            raise ClientError({"Error": {"Code": FAILED_CONDITION, "Message": ""}}, "update_item")
        return {"Attributes": {"members": {"NS": ["1", "2"]}}}

    def __getattr__(self, operation: str) -> Any:
        raise AssertionError(f"{operation}: no update of a set")


def test_a_set_that_another_writer_replaced_meanwhile_is_added_to() -> None:
    client = ExpiredSet()
    assert store(client).add(Key("p", "1"), 2, expires_at_s=5) == {1, 2}
    assert client.asked == ["ADD", "SET", "ADD"]
