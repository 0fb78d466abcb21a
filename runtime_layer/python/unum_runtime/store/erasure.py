"""Delete partitions of a DynamoDB table."""

import time
from collections.abc import Callable, Collection, Iterator
from typing import Any

from unum_runtime.errors import StoreError

BATCH_SIZE = 25
"""Maximum number of writes in one BatchWriteItem. Source: Amazon DynamoDB API Reference, "BatchWriteItem"."""

ROUNDS = 8
"""Maximum number of requests for one batch, when DynamoDB leaves writes unprocessed."""

PAUSE_S = 0.05


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
