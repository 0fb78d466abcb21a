"""Stored items with expiry times, including expired items, which other readers hide.

A database deletes expired items hours or days later. Until then they show that somebody let them expire early.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from unum_runtime.errors import ClientError
from unum_runtime.model.checkpoint import Item
from unum_runtime.model.naming import Key
from unum_runtime.store.base import Store
from unum_runtime.store.conditional import ConditionalStore
from unum_runtime.store.dynamodb import EXPIRY, PARTITION, SORT, DynamoStore
from unum_runtime.store.large_items import LargeItems
from unum_runtime.store.memory import MemoryStore
from unum_runtime.wire.call_errors import call_errors, store_error

NEVER_S = 2**63
"""Expiry of an item without one."""


class StoredItem(NamedTuple):
    """Stored item and expiry time, in seconds since 1970."""

    item: Item
    expires_at_s: int


def stored_items(store: Store, partition: str) -> dict[Key, StoredItem]:
    """Return all items of `partition` in sort key order, expired or not, with references in place of large texts.

    Raises:
        StoreError: the partition was not read completely.
        ClientError: the client has no table.
    """
    match store:
        case LargeItems():
            return stored_items(store.store, partition)
        case DynamoStore():
            return _in_dynamodb(store, partition)
        case ConditionalStore():
            return {
                key: StoredItem(each.item, each.expires_at_ms // 1000)
                for key, each in store.documents(partition, None)
                if each.members is None
            }
        case MemoryStore():
            items = sorted((key, found) for key, found in store._items.items() if key.partition == partition)  # noqa: SLF001 - the reference implementation
            return {key: StoredItem(dict(item), expires_at_s) for key, (item, expires_at_s) in items}
    store.query(partition)  # raises for a client without a table
    raise ClientError(
        f"{type(store).__name__}: cannot show expired items; verify with a client of the workflow's table"
    )


def _in_dynamodb(store: DynamoStore, partition: str) -> dict[Key, StoredItem]:
    query: dict[str, Any] = {
        "TableName": store.table,
        "KeyConditionExpression": "pk = :pk",
        "ExpressionAttributeValues": {":pk": {"S": partition}},
        "ConsistentRead": True,
    }
    found: dict[Key, StoredItem] = {}
    while True:
        try:
            page = store.client.query(**query)
        except call_errors() as error:
            raise store_error(f"query {store.table}", error) from error
        for each in page["Items"]:
            expires_at_s = int(each.get(EXPIRY, {}).get("N", NEVER_S))
            found[Key(each[PARTITION]["S"], each[SORT]["S"])] = StoredItem(_plain(each), expires_at_s)
        if "LastEvaluatedKey" not in page:
            return found
        query["ExclusiveStartKey"] = page["LastEvaluatedKey"]


def _plain(attributes: Mapping[str, Mapping[str, str]]) -> Item:
    """Return text and number attributes of an item; forged items may contain other types."""
    shown: Iterable[tuple[str, Mapping[str, str]]] = (
        (name, each) for name, each in attributes.items() if name not in (PARTITION, SORT, EXPIRY)
    )
    return {name: int(each["N"]) if "N" in each else each["S"] for name, each in shown if each.keys() & {"N", "S"}}
