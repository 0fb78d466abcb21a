"""Stored history of one execution, read without trust in any item.

Expired items, which other readers hide, are read as well: a database deletes them hours or days later, and until then
they show that somebody let them expire early.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, runtime_checkable

from unum_client.verification.findings import Finding, Rule
from unum_runtime.errors import ClientError, InconsistentHistory, StoreError
from unum_runtime.features.document_stores.conditional import ConditionalStore
from unum_runtime.model.checkpoint import Checkpoint, Item, Success
from unum_runtime.model.naming import (
    SHARD_SIZE,
    Execution,
    Key,
    Name,
    Scope,
    execution_partition,
    first_of,
    is_aside,
    pack_at,
    pack_of,
    place_in_shard,
    shard_partition,
)
from unum_runtime.model.pack import unpacked
from unum_runtime.protocol.planning.plan import DEFAULT_WIDTH_BUDGET
from unum_runtime.store.base import Store
from unum_runtime.store.dynamodb import EXPIRY, PARTITION, SORT, DynamoStore
from unum_runtime.store.large_items import LargeItems, resolve
from unum_runtime.wire.call_errors import call_errors, store_error

NEVER_S = 2**63
"""Expiry of an item without one."""


class StoredItem(NamedTuple):
    """Stored item and expiry time, in seconds since 1970."""

    item: Item
    expires_at_s: int


@runtime_checkable
class KeepsExpired(Protocol):
    """Store that shows items beyond their expiry, such as one in memory."""

    def kept_items(self, partition: str) -> Mapping[Key, tuple[Item, int]]:
        """Return all items of `partition`, each with its expiry, in seconds since 1970."""
        ...


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
        case KeepsExpired():
            return {key: StoredItem(*found) for key, found in sorted(store.kept_items(partition).items())}
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


DAMAGED = (AttributeError, IndexError, KeyError, TypeError, ValueError, RecursionError)
"""Errors of parsing an item that no release has written."""


@dataclass(frozen=True)
class Kept:
    """Stored commit and expiry time, in seconds since 1970."""

    checkpoint: Checkpoint
    expires_at_s: int


@dataclass
class StoredHistory:
    """Stored commits of one execution, without start record.

    Attributes:
        live: commits that readers see, outer ones first.
        expired: commits that have expired and are not deleted yet.
        findings: what is wrong with single items.
    """

    live: list[Kept] = field(default_factory=list)
    expired: list[Kept] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    @property
    def stored(self) -> Iterator[Kept]:
        """Live and expired commits."""
        yield from self.live
        yield from self.expired


def read_history(store: Store, workflow: str, execution: Execution, now_ms: int) -> StoredHistory:
    """Return the stored history of `execution`.

    Raises:
        StoreError: the store did not answer.
        ClientError: the store cannot show expired items.
    """
    reader = _Reader(store, workflow, execution, now_ms // 1000)
    reader.read()
    return reader.history


@dataclass
class _Reader:
    store: Store
    workflow: str
    execution: Execution
    now_s: int
    history: StoredHistory = field(default_factory=StoredHistory)
    _entered: set[Scope] = field(default_factory=set)

    def read(self) -> None:
        partition = execution_partition(self.workflow, self.execution)
        for key, stored in stored_items(self.store, partition).items():
            name = _top_level_name(self.execution, key)
            if name is None:
                self._wrong(Rule.FORM, key, "no step has this key")
            else:
                self._take(key, name, stored)

    def _take(self, key: Key, name: Name, stored: StoredItem) -> None:
        """Add commit `name`, then read its opened fan-out."""
        checkpoint = self._parsed(key, name, stored.item)
        if checkpoint is None:
            return
        kept = Kept(checkpoint, stored.expires_at_s)
        (self.history.live if stored.expires_at_s > self.now_s else self.history.expired).append(kept)
        scope = checkpoint.opens
        if scope is None or scope in self._entered:
            return
        self._entered.add(scope)
        # A forged size must not make the reader ask for billions of shards: the budget bounds what a workflow opens.
        if not 0 <= scope.size <= DEFAULT_WIDTH_BUDGET * SHARD_SIZE:
            self._wrong(Rule.FORM, key, f"opens {scope.state!r} with {scope.size} branches")
            return
        for shard in range(scope.shards):
            self._read_shard(scope, shard)

    def _read_shard(self, scope: Scope, shard: int) -> None:
        partition = shard_partition(self.workflow, scope, shard)
        raw = stored_items(self.store, partition)
        lasting = {pack_at(key): each.expires_at_s for key, each in raw.items() if _is_pack(key)}
        try:
            plain = unpacked({key: each.item for key, each in raw.items()}, scope.execution)
        except DAMAGED as error:
            self._wrong(Rule.FORM, Key(partition, ""), f"a pack cannot be read: {error!r}")
            plain = {key: each.item for key, each in raw.items() if not _is_pack(key) and not is_aside(key)}
        for key, item in plain.items():
            name = _branch_name(scope, shard, key)
            if name is None:
                self._wrong(Rule.FORM, key, f"{scope.state!r} has {scope.size} branches, and no step has this key")
                continue
            expires_at_s = raw[key].expires_at_s if key in raw else _expiry_in_pack(lasting, name)
            self._take(key, name, StoredItem(item, expires_at_s))

    def _parsed(self, key: Key, name: Name, item: Item) -> Checkpoint | None:
        try:
            found = Checkpoint.from_item(name, self._with_texts(item))
            for outcome in (found.outcome, found.ending and found.ending.outcome):
                if isinstance(outcome, Success):
                    _ = outcome.value  # parsed on first access: what is no JSON is found here
        except (*DAMAGED, InconsistentHistory, StoreError) as error:
            if isinstance(error, StoreError) and not isinstance(self.store, LargeItems):
                raise  # the value is an object, and this client knows no bucket
            self._wrong(Rule.FORM, key, f"cannot be read: {error!r}")
            return None
        return found

    def _with_texts(self, item: Item) -> Item:
        return resolve(item, self.store.objects.get) if isinstance(self.store, LargeItems) else item

    def _wrong(self, rule: Rule, key: Key, found: str) -> None:
        self.history.findings.append(Finding(rule, f"{key.partition} {key.sort}", found))


def _top_level_name(execution: Execution, key: Key) -> Name | None:
    is_step = key.sort.isascii() and key.sort.isdecimal() and key.sort == f"{int(key.sort):09d}" and int(key.sort) > 0
    return Name(execution, (), int(key.sort)) if is_step else None


def _branch_name(scope: Scope, shard: int, key: Key) -> Name | None:
    try:
        index, step = place_in_shard(key)
    except ValueError:
        return None
    first = shard * SHARD_SIZE
    is_inside = first <= index < first + scope.shard_size(shard) and key.sort == f"{index:09d}.{step:09d}"
    return Name(scope.execution, scope.branch(index), step) if is_inside else None


def _is_pack(key: Key) -> bool:
    try:
        return pack_at(key) is not None
    except ValueError:
        return False


def _expiry_in_pack(lasting: dict[tuple[int, str] | None, int], name: Name) -> int:
    """Return the latest expiry among packs for branch `name`, one pack per definition."""
    first = first_of(pack_of(name.frames[-1].index))
    return max((expiry for pack, expiry in lasting.items() if pack and pack[0] == first), default=0)
