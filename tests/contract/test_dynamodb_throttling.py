"""Partial responses and throttling by DynamoDB, which neither moto nor the emulator produce."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from unum_runtime.errors import StoreError
from unum_runtime.model.naming import Key
from unum_runtime.store import dynamodb
from unum_runtime.store.dynamodb import DynamoStore

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
