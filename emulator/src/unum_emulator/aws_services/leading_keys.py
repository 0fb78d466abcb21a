"""Condition key ``dynamodb:LeadingKeys``, which ministack lacks: the partition keys of a request.

Without it, a condition on partitions of all items would hold for every request.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/specifying-conditions.html
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ministack.core import iam_actions
from ministack.services import dynamodb

from unum_emulator.patching import replace

KEY = "dynamodb:LeadingKeys"

_EQUALS = re.compile(r"([#\w]+)\s*=\s*(:\w+)")


def install() -> None:
    """Add the key to the policies' context."""
    context_of = iam_actions.dynamodb_service_context

    def with_leading_keys(body: bytes) -> dict[str, Any]:
        found: dict[str, Any] = context_of(body)
        if keys := [*_leading_keys(body)]:
            found[KEY] = keys
        return found

    replace(iam_actions, "dynamodb_service_context", with_leading_keys)


def _leading_keys(body: bytes) -> Iterator[str]:
    request = json.loads(body or b"{}")
    for table, wanted in request.get("RequestItems", {}).items():
        for each in wanted.get("Keys", ()) if isinstance(wanted, dict) else map(_written_item, wanted):
            yield from _partition_values(each, _partition_key(table))
    table = request.get("TableName")
    for field in ("Key", "Item"):
        yield from _partition_values(request.get(field, {}), _partition_key(table))
    # The partition key always has a condition of equality. Source: Amazon DynamoDB API Reference, "Query".
    if "KeyConditionExpression" in request:
        yield from _partition_values(_equalities(request), _partition_key(table, request.get("IndexName")))


def _written_item(request: Mapping[str, Any]) -> Any:
    """Return the item or key of one write in a batch."""
    ((_, write),) = request.items()
    return write.get("Item") or write["Key"]


def _equalities(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes that a query compares for equality, with their values."""
    names = request.get("ExpressionAttributeNames", {})
    values = request.get("ExpressionAttributeValues", {})
    found = _EQUALS.findall(request["KeyConditionExpression"])
    return {names.get(name, name): values[value] for name, value in found if value in values}


def _partition_key(table: str | None, index: str | None = None) -> str | None:
    """Return the name of the partition key attribute of a table or index."""
    found = dynamodb._tables.get(dynamodb._normalize_table_name(table)) if table else None
    if not found:
        return None
    for each in found["GlobalSecondaryIndexes"] if index else ():
        if each["IndexName"] == index:
            return next((key["AttributeName"] for key in each["KeySchema"] if key["KeyType"] == "HASH"), None)
    name: str = found["pk_name"]
    return name


def _partition_values(attributes: Mapping[str, Any], name: str | None) -> Iterator[str]:
    if name is not None and name in attributes:
        yield from map(str, attributes[name].values())
