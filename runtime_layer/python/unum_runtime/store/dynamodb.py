"""Store on one DynamoDB table with partition key ``pk``, sort key ``sk`` and expiry attribute ``ttl``."""

import time
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice
from typing import Any, Protocol, TypeAlias

from unum_runtime.clock import Clock, SystemClock
from unum_runtime.cold_start.records import dataclass, field
from unum_runtime.errors import NoIndex, StoreError
from unum_runtime.model.checkpoint import MEMBERS, OUTCOME, TOMBSTONE, Item
from unum_runtime.model.list_index import FIRST, INDEX, LAST, PLACE, PROJECTED
from unum_runtime.model.list_index import PARTITION as LISTED_IN
from unum_runtime.model.naming import Key
from unum_runtime.wire.call_errors import call_errors, error_code, error_response, store_error

PARTITION, SORT, EXPIRY = "pk", "sk", "ttl"
OWNER, UNTIL_MS = "owner", "until"
BATCH_SIZE = 100
"""Maximum number of keys in one BatchGetItem. Source: Amazon DynamoDB API Reference, "BatchGetItem"."""
BATCH_ROUNDS = 8
"""Maximum number of BatchGetItem requests for one batch, when DynamoDB leaves keys unprocessed."""
FIRST_PAUSE_S = 0.05
FAILED_CONDITION = "ConditionalCheckFailedException"

Attributes: TypeAlias = dict[str, dict[str, Any]]
"""An item in DynamoDB JSON: attribute name to typed value."""


class DynamoClient(Protocol):
    """Required methods of ``boto3.client("dynamodb")``; the client of `unum_runtime.wire` has the same methods."""

    def put_item(self, **parameters: Any) -> Any: ...  # noqa: D102 - documented in boto3
    def batch_get_item(self, **parameters: Any) -> Any: ...  # noqa: D102 - documented in boto3
    def get_item(self, **parameters: Any) -> Any: ...  # noqa: D102 - documented in boto3
    def query(self, **parameters: Any) -> Any: ...  # noqa: D102 - documented in boto3
    def update_item(self, **parameters: Any) -> Any: ...  # noqa: D102 - documented in boto3


@dataclass(frozen=True)
class DynamoStore:
    """Store in one DynamoDB table; with a global secondary index also an `Index`.

    Attributes:
        client: DynamoDB client.
        table: name or ARN of the table.
        clock: current time for expiry checks, because DynamoDB deletes expired items only after up to a few days.
            Source: Amazon DynamoDB Developer Guide, "Using time to live (TTL)".
    """

    client: DynamoClient
    table: str
    clock: Clock = field(default_factory=SystemClock)

    def create(self, key: Key, item: Item, *, expires_at_s: int) -> Item | None:
        """See `Store.create`."""
        # An expired item may still be in the table; without the second condition it would block the key for days.
        return self._put(
            key,
            item | {EXPIRY: expires_at_s},
            condition="attribute_not_exists(pk) OR #ttl <= :now",
            names={"#ttl": EXPIRY},
            values={":now": self._now_s()},
        )

    def read(self, keys: Iterable[Key]) -> dict[Key, Item]:
        """See `Store.read`."""
        wanted = list(dict.fromkeys(keys))
        if len(wanted) == 1:
            response = self._call("get_item", Key=_key(wanted[0]), TableName=self.table, ConsistentRead=True)
            return self._live([response["Item"]] if "Item" in response else [])
        found: dict[Key, Item] = {}
        rest = iter(wanted)
        while batch := list(islice(rest, BATCH_SIZE)):
            found |= self._live(self._read_batch(batch))
        return found

    def query(self, partition: str, *, newest: int | None = None) -> dict[Key, Item]:
        """See `Store.query`."""
        query: dict[str, Any] = {
            "TableName": self.table,
            "KeyConditionExpression": "pk = :pk",
            "ExpressionAttributeValues": {":pk": {"S": partition}},
            "ConsistentRead": True,
            "ScanIndexForward": newest is None,
        }
        return self._read_pages(query, newest)

    def page(self, partition: str, *, before: str, limit: int) -> dict[Key, Item]:
        """See `ErasableStore.page`."""
        query: dict[str, Any] = {
            "TableName": self.table,
            "KeyConditionExpression": "pk = :pk AND sk < :before",
            "ExpressionAttributeValues": {":pk": {"S": partition}, ":before": {"S": before}},
            "ConsistentRead": True,
            "ScanIndexForward": False,
        }
        return dict(islice(self._read_pages(query, limit).items(), limit))

    def list_items(
        self,
        partition: str,
        *,
        oldest: str = FIRST,
        newest: str = LAST,
        limit: int | None = None,
        oldest_first: bool = False,
    ) -> dict[Key, Item]:
        """See `Index.list_items`."""
        query: dict[str, Any] = {
            "TableName": self.table,
            "IndexName": INDEX,
            "KeyConditionExpression": "#list = :list AND #place BETWEEN :oldest AND :newest",
            "ExpressionAttributeNames": {"#list": LISTED_IN, "#place": PLACE},
            "ExpressionAttributeValues": _to_attributes({":list": partition, ":oldest": oldest, ":newest": newest}),
            "ScanIndexForward": oldest_first,
        }
        return dict(islice(self._read_pages(query, limit, self._entries).items(), limit))

    def collect(self, keys: Iterable[Key]) -> None:
        """See `Store.collect`."""
        names = {f"#{name}": name for name in (TOMBSTONE, MEMBERS, *OUTCOME)}
        removed = ", ".join(name for name in names if name != f"#{TOMBSTONE}")
        for key in keys:
            self._write(
                "update_item",
                key,
                Key=_key(key),
                UpdateExpression=f"SET #{TOMBSTONE} = :one REMOVE {removed}",
                ConditionExpression="attribute_exists(pk)",  # UpdateItem would create an absent item
                ExpressionAttributeNames=names,
                ExpressionAttributeValues={":one": {"N": "1"}},
            )

    def extend(self, key: Key, item: Item, *, unless: str, expires_at_s: int) -> tuple[bool, Item]:
        """See `Store.extend`."""
        while True:
            added = item | {EXPIRY: expires_at_s}
            is_added, found = self._try_extend(key, added, unless)
            if is_added:
                return True, _from_attributes(found)
            for present in self._live([found] if found else []).values():
                return False, present
            # An expired item is still in the table: replace it, unless a concurrent call just did.
            now: Item = {":now": self._now_s()}
            if self._put(key, added, condition="#ttl <= :now", names={"#ttl": EXPIRY}, values=now) is None:
                return True, dict(item)

    def add(self, key: Key, *members: int, expires_at_s: int) -> frozenset[int]:
        """See `Store.add`."""
        while True:
            grown = self._update_set(
                key,
                members,
                expires_at_s,
                "ADD #members :members SET #ttl = :ttl",
                "attribute_not_exists(pk) OR #ttl > :now",
            )
            if grown is not None:
                return grown
            # An expired set is still in the table: replace it, unless a concurrent call just did. ADD would keep its
            # old members, which belong to an execution of the same name before.
            first = self._update_set(key, members, expires_at_s, "SET #members = :members, #ttl = :ttl", "#ttl <= :now")
            if first is not None:
                return first

    def acquire(self, key: Key, owner: str, *, expires_at_ms: int) -> str:
        """See `Store.acquire`."""
        free = "attribute_not_exists(pk) OR #until <= :now"
        ours = "#owner = :owner"
        found = self._put_lease(key, owner, expires_at_ms, condition=f"{free} OR {ours}")
        return owner if found is None else str(found[OWNER])

    def renew(self, key: Key, owner: str, *, expires_at_ms: int) -> bool:
        """See `Store.renew`."""
        return self._put_lease(key, owner, expires_at_ms, condition="#owner = :owner AND #until > :now") is None

    def release(self, key: Key, owner: str) -> None:
        """See `Store.release`."""
        # The lease expires now instead of DeleteItem: expiry deletes free of charge, and PutItem permission suffices.
        self._put_lease(key, owner, self.clock.now_ms(), condition="#owner = :owner AND #until > :now")

    def replace(self, key: Key, item: Item, *, expires_at_s: int) -> None:
        """See `ErasableStore.replace`."""
        self._write("put_item", key, Item=_to_attributes(item | {EXPIRY: expires_at_s}) | _key(key))

    def erase(self, partition: str, *, keep: Collection[str] = ()) -> int:
        """See `ErasableStore.erase`."""
        from unum_runtime.store.erasure import erase  # noqa: PLC0415 - deletions of executions alone

        return erase(self._call, self.table, partition, keep)

    def _put_lease(self, key: Key, owner: str, expires_at_ms: int, *, condition: str) -> Item | None:
        """Write the lease if `condition` holds and return None; else return the present lease, empty if absent."""
        return self._put(
            key,
            # Rounded up: DynamoDB must not delete a lease during the last part of its last second.
            {OWNER: owner, UNTIL_MS: expires_at_ms, EXPIRY: -(-expires_at_ms // 1000)},
            condition=condition,
            names={"#owner": OWNER, "#until": UNTIL_MS},
            values={":owner": owner, ":now": self.clock.now_ms()},
        )

    def _put(self, key: Key, item: Item, *, condition: str, names: dict[str, str], values: Item) -> Item | None:
        """Write `item` if `condition` holds and return None; else return the present item, empty if absent."""
        is_written, found = self._write(
            "put_item",
            key,
            Item=_to_attributes(item) | _key(key),
            ConditionExpression=condition,
            ExpressionAttributeNames=names,
            ExpressionAttributeValues=_to_attributes(values),
            ReturnValuesOnConditionCheckFailure="ALL_OLD",  # the winner's item without a second request
        )
        return None if is_written else _from_attributes(found)

    def _update_set(
        self, key: Key, members: Iterable[int], expires_at_s: int, expression: str, condition: str
    ) -> frozenset[int] | None:
        """Update the set and return it, or return None if `condition` failed."""
        values: Attributes = _to_attributes({":ttl": expires_at_s, ":now": self._now_s()})
        values[":members"] = {"NS": [str(member) for member in members]}
        is_updated, found = self._update_item(key, expression, condition, {"#members": MEMBERS, "#ttl": EXPIRY}, values)
        return frozenset(map(int, found[MEMBERS]["NS"])) if is_updated else None

    def _try_extend(self, key: Key, item: Item, unless: str) -> tuple[bool, Attributes]:
        """Return True and the extended item, or False and the present item, empty if absent."""
        names = {"#ttl": EXPIRY, **{f"#{name}": name for name in item}}
        values: Item = {":now": self._now_s(), **{f":{name}": value for name, value in item.items()}}
        expression = "SET " + ", ".join(f"#{name} = :{name}" for name in item)
        condition = f"attribute_not_exists(#{unless}) AND (attribute_not_exists(pk) OR #ttl > :now)"
        return self._update_item(key, expression, condition, names, _to_attributes(values))

    def _update_item(
        self, key: Key, expression: str, condition: str, names: dict[str, str], values: Attributes
    ) -> tuple[bool, Attributes]:
        """Return True and the updated item, or False and the present item if `condition` failed."""
        is_updated, found = self._write(
            "update_item",
            key,
            Key=_key(key),
            UpdateExpression=expression,
            ConditionExpression=condition,
            ExpressionAttributeNames=names,
            ExpressionAttributeValues=values,
            ReturnValues="ALL_NEW",  # the item right after this update, before any later one
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
        return is_updated, found["Attributes"] if is_updated else found

    def _write(self, operation: str, key: Key, **parameters: Any) -> tuple[bool, Any]:
        """Return True and the response, or False and the present item if the condition failed.

        Raises:
            StoreError: any other error.
        """
        try:
            return True, getattr(self.client, operation)(TableName=self.table, **parameters)
        except call_errors() as error:
            if error_code(error) != FAILED_CONDITION:
                raise store_error(f"{operation} {self.table} {key}", error) from error
            return False, error_response(error).get("Item", {})

    def _read_batch(self, keys: list[Key]) -> Iterator[Attributes]:
        """Yield the items of one batch; request the keys again that DynamoDB leaves unprocessed."""
        rest: Any = {self.table: {"Keys": [_key(key) for key in keys], "ConsistentRead": True}}
        for round_ in range(BATCH_ROUNDS):
            response = self._call("batch_get_item", RequestItems=rest)
            for items in response["Responses"].values():
                yield from items
            rest = response.get("UnprocessedKeys")
            if not rest:
                return
            _pause(round_)
        # Missing keys must not look absent: an absent outcome lets user code run again.
        unread = f"{sum(len(table['Keys']) for table in rest.values())} of {len(keys)} keys"
        raise StoreError(f"batch_get_item {self.table}: {unread} unprocessed after {BATCH_ROUNDS} requests")

    def _read_pages(
        self,
        query: dict[str, Any],
        limit: int | None,
        live: Callable[[Iterable[Attributes]], dict[Key, Item]] | None = None,
    ) -> dict[Key, Item]:
        """Return the items of all pages, or of the pages with the first `limit` items, that are `live`."""
        live = live or self._live
        found: dict[Key, Item] = {}
        query = query if limit is None else query | {"Limit": limit}
        while True:
            response = self._call("query", **query)
            found |= live(response["Items"])
            # ``Limit`` counts items before expired ones are dropped, so one page may hold too few.
            if "LastEvaluatedKey" not in response or (limit is not None and len(found) >= limit):
                return found
            query["ExclusiveStartKey"] = response["LastEvaluatedKey"]

    def _live(self, items: Iterable[Attributes]) -> dict[Key, Item]:
        now_s = self._now_s()
        return {
            Key(item[PARTITION]["S"], item[SORT]["S"]): _from_attributes(item)
            for item in items
            if int(item[EXPIRY]["N"]) > now_s
        }

    def _entries(self, items: Iterable[Attributes]) -> dict[Key, Item]:
        """Return live index entries, whatever other attributes their writers gave them."""
        known = [{name: each for name, each in item.items() if each.keys() & {"N", "S", "NS"}} for item in items]
        return self._live([item if "N" in item.get(EXPIRY, {}) else item | {EXPIRY: _ENDLESS} for item in known])

    def _call(self, operation: str, **parameters: Any) -> Any:
        try:
            return getattr(self.client, operation)(**parameters)
        except call_errors() as error:
            if "IndexName" in parameters and _is_index_missing(error):
                raise NoIndex(_no_index_text(self.table, error)) from error
            raise store_error(f"{operation} {self.table}", error) from error

    def _now_s(self) -> int:
        return self.clock.now_ms() // 1000


_ENDLESS = {"N": str(2**63)}
"""Expiry of index entries without one."""


def _is_index_missing(error: Exception) -> bool:
    """Return True if the table lacks an index with the expected name and keys."""
    return error_code(error) == "ValidationException" or "index" in str(error)


def _no_index_text(table: str, error: Exception) -> str:
    return (
        f"table {table}: expected a global secondary index {INDEX!r} with partition key {LISTED_IN!r} and sort key "
        f"{PLACE!r}, both strings, and the attributes {[*PROJECTED]} projected, for lists of executions; deploy the "
        f"workflow with store=Store.dynamodb(list_executions=True), or add the index to your own table ({error})"
    )


def _pause(round_: int) -> None:
    from random import uniform  # noqa: PLC0415 - loaded only after throttling

    time.sleep(uniform(0, FIRST_PAUSE_S * 2**round_))  # noqa: S311 - jitter needs no secrecy


def _key(key: Key) -> Attributes:
    return {PARTITION: {"S": key.partition}, SORT: {"S": key.sort}}


def _to_attributes(item: Item) -> Attributes:
    return {name: {"N": str(value)} if isinstance(value, int) else {"S": value} for name, value in item.items()}


def _from_attributes(attributes: Attributes) -> Item:
    # A number set becomes its size: callers of `read` need the count of a completion set, and `add` reads the members.
    return {
        name: int(value["N"]) if "N" in value else value["S"] if "S" in value else len(value["NS"])
        for name, value in attributes.items()
        if name not in (PARTITION, SORT, EXPIRY)
    }
