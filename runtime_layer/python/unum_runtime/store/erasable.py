"""Contract of stores from which executions can be deleted; ``tests/contract`` checks every docstring.

No delivery of an event deletes anything, so these primitives are apart from `unum_runtime.store.base`.
"""

import time
from collections.abc import Callable, Collection, Iterator
from typing import Any, Protocol

from unum_runtime.errors import StoreError
from unum_runtime.model.checkpoint import Item
from unum_runtime.model.naming import Key
from unum_runtime.store.base import Objects, Store

BATCH_SIZE = 25
"""Maximum number of writes in one BatchWriteItem. Source: Amazon DynamoDB API Reference, "BatchWriteItem"."""

ROUNDS = 8
"""Maximum number of requests for one batch, when DynamoDB leaves writes unprocessed."""

PAUSE_S = 0.05


class ErasableStore(Store, Protocol):
    """Store that can delete partitions; every store of `unum_runtime.store` can."""

    def replace(self, key: Key, item: Item, *, expires_at_s: int) -> None:
        """Replace any item or set at `key` by `item`, and its index entry by that of `item`, if any.

        Raises:
            StoreError: the store refused or did not answer; the item may be replaced or not.
        """
        ...

    def page(self, partition: str, *, before: str, limit: int) -> dict[Key, Item]:
        """Return the last items of `partition` in reverse sort key order, at most `limit`, as `Store.query` does.

        Args:
            partition: partition key.
            before: sort key that is greater than those of all returned items.
            limit: maximum number of items, 1 or more.

        Raises:
            StoreError: the page was not read completely.
        """
        ...

    def erase(self, partition: str, *, keep: Collection[str] = ()) -> int:
        """Delete the items, sets and leases of `partition`, expired ones too, except those with a sort key in `keep`.

        Returns:
            Number of deleted items. Those that somebody adds meanwhile may be deleted or not.

        Raises:
            StoreError: the store refused or did not answer; some items may be deleted.
        """
        ...


class ErasableObjects(Objects, Protocol):
    """Objects that can be deleted."""

    def erase_folder(self, folder: str) -> None:
        """Delete all objects whose names begin with `folder` and a slash, with all their versions.

        Raises:
            StoreError: the store refused or did not answer; some objects may be deleted.
        """
        ...


def erase(call: Callable[..., Any], table: str, partition: str, keep: Collection[str]) -> int:
    """Delete the items of `partition`, except those with a sort key in `keep`; return their number.

    Args:
        call: calls an operation by its name, and raises StoreError.
        table: name or ARN of the table.
        partition: partition key.
        keep: sort keys that stay.
    """
    # All keys are read before the first is deleted: a page begins after the last key of the one before.
    doomed = [key for key in _keys(call, table, partition) if key["sk"]["S"] not in keep]
    for first in range(0, len(doomed), BATCH_SIZE):
        _delete(call, table, doomed[first : first + BATCH_SIZE])
    return len(doomed)


def _keys(call: Callable[..., Any], table: str, partition: str) -> Iterator[Any]:
    query: dict[str, Any] = {
        "TableName": table,
        "KeyConditionExpression": "pk = :pk",
        "ExpressionAttributeValues": {":pk": {"S": partition}},
        "ProjectionExpression": "pk, sk",
        "ConsistentRead": True,
    }
    while True:
        response = call("query", **query)
        yield from response["Items"]
        if "LastEvaluatedKey" not in response:
            return
        query["ExclusiveStartKey"] = response["LastEvaluatedKey"]


def _delete(call: Callable[..., Any], table: str, keys: Collection[Any]) -> None:
    rest: Any = {table: [{"DeleteRequest": {"Key": key}} for key in keys]}
    for round_ in range(ROUNDS):
        rest = call("batch_write_item", RequestItems=rest).get("UnprocessedItems")
        if not rest:
            return
        time.sleep(PAUSE_S * 2**round_)
    raise StoreError(f"batch_write_item {table}: {len(rest[table])} writes unprocessed after {ROUNDS} requests")
