"""Partial responses, throttling, refusals and races in DynamoDB, which neither moto nor the emulator produce."""

import random
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from tests.contract.conftest import MovableClock
from unum_runtime.errors import NoIndex, StoreDenied, StoreError
from unum_runtime.model.list_index import PROJECTED
from unum_runtime.model.naming import Key
from unum_runtime.store import dynamodb
from unum_runtime.store.dynamodb import DynamoStore

if TYPE_CHECKING:
    from collections.abc import Callable

KEYS = [Key("p", str(number)) for number in range(10)]


class PartialClient:
    """Client that returns at most `at_once` items of a BatchGetItem and leaves the other keys unprocessed."""

    def __init__(self, at_once: int) -> None:
        self.at_once = at_once
        self.calls = 0

    def batch_get_item(self, **parameters: Any) -> Any:
        self.calls += 1
        keys = parameters["RequestItems"]["t"]["Keys"]
        items = [{**key, "ttl": {"N": "9999999999"}, "n": {"S": key["sk"]["S"]}} for key in keys[: self.at_once]]
        rest = keys[self.at_once :]
        return {"Responses": {"t": items}, "UnprocessedKeys": {"t": {"Keys": rest}} if rest else {}}

    def __getattr__(self, operation: str) -> Any:
        def refuse(**_parameters: Any) -> None:
            raise ClientError({"Error": {"Code": "ProvisionedThroughputExceededException"}}, operation)

        return refuse


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dynamodb, "FIRST_PAUSE_S", 0.0)


def test_unprocessed_keys_are_requested_again() -> None:
    client = PartialClient(at_once=3)
    assert DynamoStore(client, "t").read(KEYS) == {key: {"n": key.sort} for key in KEYS}
    assert client.calls == 4


def test_keys_that_stay_unprocessed_are_an_error_and_not_absent() -> None:
    with pytest.raises(StoreError, match="2 of 10 keys unprocessed"):
        DynamoStore(PartialClient(at_once=1), "t").read(KEYS)


def test_a_throttled_call_is_a_store_error() -> None:
    store = DynamoStore(PartialClient(at_once=0), "t")
    with pytest.raises(StoreError, match=r"put_item t .*ProvisionedThroughputExceeded"):
        store.create(KEYS[0], {}, expires_at_s=1)
    with pytest.raises(StoreError, match="update_item t"):
        store.add(KEYS[0], 1, expires_at_s=1)
    with pytest.raises(StoreError, match=r"update_item t .*ProvisionedThroughputExceeded"):
        store.extend(KEYS[0], {"e0": "1"}, unless="e0", expires_at_s=1)
    with pytest.raises(StoreError, match="update_item t"):
        store.collect(KEYS[:1])
    with pytest.raises(StoreError, match="query t"):
        store.query("p")
    with pytest.raises(StoreError, match="get_item t"):
        store.read(KEYS[:1])


class RefusingClient:
    """Client whose every call fails with `code`."""

    def __init__(self, code: str, message: str = "why") -> None:
        self.error: Any = {"Error": {"Code": code, "Message": message}}

    def __getattr__(self, operation: str) -> Any:
        def refuse(**_parameters: Any) -> None:
            raise ClientError(self.error, operation)

        return refuse


@pytest.mark.parametrize(
    ("code", "kind"), [("AccessDeniedException", StoreDenied), ("ProvisionedThroughputExceededException", StoreError)]
)
def test_a_lost_permission_is_told_from_what_passes(code: str, kind: type[StoreError]) -> None:
    store = DynamoStore(RefusingClient(code), "t")
    calls: dict[str, Callable[[], Any]] = {
        "query": partial(store.query, "p"),
        "get_item": partial(store.read, KEYS[:1]),
        "batch_get_item": partial(store.read, KEYS),
        f"put_item t {KEYS[0]}": partial(store.create, KEYS[0], {}, expires_at_s=1),
    }
    for operation, call in calls.items():
        with pytest.raises(StoreError) as found:
            call()
        assert type(found.value) is kind
        assert str(found.value).startswith(
            operation if " t " in operation else f"{operation} t: An error occurred ({code})"
        )


@pytest.mark.parametrize(("code", "message"), [("ValidationException", "why"), ("Other", "no such index")])
def test_a_missing_index_is_named_with_its_keys(code: str, message: str) -> None:
    with pytest.raises(NoIndex) as found:
        DynamoStore(RefusingClient(code, message), "t").list_items("p")
    assert str(found.value) == (
        "table t: expected a global secondary index 'executions' with partition key 'list' and sort key 'list_at', "
        f"both strings, and the attributes {[*PROJECTED]} projected, for lists of executions; deploy the workflow with "
        "store=Store.dynamodb(list_executions=True), or add the index to your own table "
        f"(An error occurred ({code}) when calling the query operation: {message})"
    )


def test_another_failure_of_a_list_is_no_missing_index() -> None:
    with pytest.raises(StoreError) as found:
        DynamoStore(RefusingClient("Other"), "t").list_items("p")
    assert not isinstance(found.value, NoIndex)


class RacingClient:
    """Client of a table in which an item has expired, and whose place others take `races` times before this call."""

    def __init__(self, races: int) -> None:
        self.races = races
        self.puts: list[dict[str, Any]] = []
        self.item: dict[str, Any] = {"pk": {"S": "p"}, "sk": {"S": "0"}, "ttl": {"N": "1"}}

    def update_item(self, **_parameters: Any) -> Any:
        raise ClientError({"Error": {"Code": dynamodb.FAILED_CONDITION}, "Item": self.item}, "update_item")  # type: ignore[typeddict-unknown-key]

    def put_item(self, **parameters: Any) -> Any:
        self.puts.append(parameters)
        if len(self.puts) <= self.races:
            self.item = {**self.item, "ttl": {"N": "9999999999"}, "e1": {"S": "theirs"}}
            raise ClientError({"Error": {"Code": dynamodb.FAILED_CONDITION}, "Item": self.item}, "put_item")  # type: ignore[typeddict-unknown-key]
        return {}


def test_an_expired_item_is_replaced_unless_another_call_just_did() -> None:
    alone = RacingClient(races=0)
    store = DynamoStore(alone, "t", MovableClock())  # type: ignore[arg-type]  # the methods that it calls
    assert store.extend(KEYS[0], {"e0": "ours"}, unless="e0", expires_at_s=5) == (True, {"e0": "ours"})
    (put,) = alone.puts
    assert put == {
        "TableName": "t",
        "Item": {"pk": {"S": "p"}, "sk": {"S": "0"}, "ttl": {"N": "5"}, "e0": {"S": "ours"}},
        "ConditionExpression": "#ttl <= :now",
        "ExpressionAttributeNames": {"#ttl": "ttl"},
        "ExpressionAttributeValues": {":now": {"N": "1800000000"}},
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    second = DynamoStore(RacingClient(races=1), "t")  # type: ignore[arg-type]  # the same
    assert second.extend(KEYS[0], {"e0": "ours"}, unless="e0", expires_at_s=5) == (False, {"e1": "theirs"})


def test_a_refusal_of_a_call_without_index_names_no_index() -> None:
    with pytest.raises(StoreError, match=r"get_item t: .*ValidationException") as found:
        DynamoStore(RefusingClient("ValidationException"), "t").read(KEYS[:1])
    assert not isinstance(found.value, NoIndex)


def test_pauses_between_requests_for_unprocessed_keys_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[Any] = []
    monkeypatch.setattr(dynamodb, "FIRST_PAUSE_S", 0.5)
    monkeypatch.setattr(random, "uniform", lambda least, most: (least, most))
    monkeypatch.setattr(time, "sleep", pauses.append)
    DynamoStore(PartialClient(at_once=3), "t").read(KEYS)
    assert pauses == [(0, 0.5), (0, 1), (0, 2)]
