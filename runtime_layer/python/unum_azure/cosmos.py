"""Store in a container of Azure Cosmos DB for NoSQL: a document for each item, lease and set.

Cosmos DB decides races where a partition is written: a create fails if the id exists, a replacement if the ETag is
another (`If-Match`), and a patch applies its changes to the present document. Sources: Azure Cosmos DB, "Transactions
and optimistic concurrency control", "Partial document update" and "Consistency levels".
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from azure.core import MatchConditions
from azure.core.credentials import TokenCredential
from azure.core.exceptions import AzureError
from azure.cosmos import ContainerProxy, CosmosClient, DatabaseProxy, PartitionKey
from azure.cosmos.exceptions import CosmosHttpResponseError

from unum_runtime.clock import Clock, SystemClock
from unum_runtime.cold_start.digest import sha256
from unum_runtime.errors import StoreDenied, StoreError
from unum_runtime.features.document_stores.conditional import ConditionalStore, Document, in_parallel
from unum_runtime.model.checkpoint import MEMBERS
from unum_runtime.model.list_index import PARTITION, PLACE
from unum_runtime.model.naming import Key

_DENIED, _ABSENT, _CONFLICT, _FAILED_CONDITION, _RETRY_WITH = (401, 403), 404, 409, 412, 449
_LOST = (_ABSENT, _CONFLICT, _FAILED_CONDITION, _RETRY_WITH)
"""Statuses of a lost race. Source: Azure Cosmos DB REST API Reference, "HTTP status codes"."""

_OF_THE_DOCUMENT = (None, 0, 5300)
"""Substatuses of refusals and absence of a document itself, and of a refused identity. Others of the same status are of
a container that does not exist, a region that takes no writes during a failover, and the like. Source: the same."""

_STRONG, _BOUNDED = "Strong", "BoundedStaleness"

DELETION_DELAY_S = 3_600
"""Time from a document's expiry to its deletion by Cosmos DB, so that no clock that is slow finds it deleted early."""

MAX_PATCH_OPERATIONS = 10
"""Maximum number of operations in one patch. Source: Azure Cosmos DB, "Partial document update"."""

_PARTITION_PATH, _INDEXED = "/partition", ("/partition/?", "/sort/?", f"/item/{PARTITION}/?", f"/item/{PLACE}/?")


class CosmosStore(ConditionalStore):
    """Store in one container, with an index.

    Args:
        container: container that `create_container` has made, of an account that `connect` accepts.
        clock: current time for expiry checks, because Cosmos DB deletes documents later.
    """

    def __init__(self, container: ContainerProxy, clock: Clock | None = None) -> None:
        self.container, self.clock = container, clock or SystemClock()
        self.place = f"Cosmos DB container {container.id}"

    @classmethod
    def connect(
        cls,
        url: str,
        credential: str | TokenCredential,
        database: str,
        container: str,
        *,
        clock: Clock | None = None,
        **options: Any,
    ) -> "CosmosStore":
        """Return the store in a container, after a check that the account keeps the contract of stores.

        Args:
            url: URL of the account.
            credential: key of the account, or a credential of azure-identity.
            database: name of the database.
            container: name of the container.
            clock: see the class.
            options: further arguments of `azure.cosmos.CosmosClient`.

        Raises:
            StoreError: the account reads too weakly or writes in several regions, the container is absent or of
                another form, or Cosmos DB did not answer.
        """
        place = f"Cosmos DB {url} {database}/{container}"
        try:
            client = CosmosClient(url, credential, **options)
            check_account(place, client.get_database_account())
            found = client.get_database_client(database).get_container_client(container)
            _check_container(place, found.read())
        except AzureError as error:
            raise _store_error(place, error) from error
        return cls(found, clock)

    def get(self, key: Key) -> Document | None:
        """See `ConditionalStore.get`."""
        try:
            return _document(self.container.read_item(document_id(key), key.partition))
        except AzureError as error:
            if _status(error) == _ABSENT:
                return None
            raise _store_error(f"read {self.place} {key}", error) from error

    def put(self, key: Key, document: Document, *, replaces: Document | None) -> bool:
        """See `ConditionalStore.put`."""
        body = self._body(key, document)
        try:
            if replaces is None:
                self.container.create_item(body)
            else:
                condition = MatchConditions.IfNotModified
                self.container.replace_item(body["id"], body, etag=replaces.version, match_condition=condition)
        except AzureError as error:
            if _status(error) in _LOST:
                return False
            raise _store_error(f"write {self.place} {key}", error) from error
        return True

    def add(self, key: Key, *members: int, expires_at_s: int) -> frozenset[int]:
        """See `Store.add`."""
        # Replacements under a condition would make each of many concurrent branches try again for every other one.
        patched = self._patch(key, members, expires_at_s)
        return super().add(key, *members, expires_at_s=expires_at_s) if patched is None else patched

    def documents(
        self, partition: str, newest: int | None, *, before: str | None = None
    ) -> Iterator[tuple[Key, Document]]:
        """See `ConditionalStore.documents`."""
        end, values = ("", {}) if before is None else (" AND c.sort < @before", {"@before": before})
        order = "ASC" if newest is None else "DESC"
        query = f"SELECT * FROM c WHERE c.partition = @partition{end} ORDER BY c.sort {order}"  # noqa: S608 - no input in it
        values |= {"@partition": partition}
        return self._query(query, values, partition_key=partition, max_item_count=newest)

    def listed(
        self, partition: str, oldest: str, newest: str, *, oldest_first: bool, limit: int | None
    ) -> Iterator[tuple[Key, Document]]:
        """See `ConditionalStore.listed`."""
        listed, place = f"c.item.{PARTITION}", f"c.item.{PLACE}"
        query = (
            f"SELECT * FROM c WHERE {listed} = @listed AND {place} >= @oldest AND {place} <= @newest "  # noqa: S608
            f"ORDER BY {place} {'ASC' if oldest_first else 'DESC'}"  # names of this module alone, values are parameters
        )
        values = {"@listed": partition, "@oldest": oldest, "@newest": newest}
        return self._query(query, values, enable_cross_partition_query=True, max_item_count=limit)

    def erase(self, partition: str, *, keep: Collection[str] = ()) -> int:
        """See `ErasableStore.erase`."""
        doomed = [key for key, _ in self.documents(partition, None) if key.sort not in keep]
        in_parallel(self._delete, doomed)
        return len(doomed)

    def _patch(self, key: Key, members: tuple[int, ...], expires_at_s: int) -> frozenset[int] | None:
        """Add to a live set, and return the new set; None without a set, or with too many additions."""
        new = Document(expires_at_s * 1000, {})
        changes: dict[str, int] = {"/expires_at_ms": new.expires_at_ms, "/ttl": self._ttl(new)}
        changes |= {f"/{MEMBERS}/{_name(member)}": 1 for member in members}
        if len(changes) > MAX_PATCH_OPERATIONS:
            return None
        operations = [{"op": "set", "path": path, "value": value} for path, value in changes.items()]
        is_live = f"from c where c.expires_at_ms > {self.clock.now_ms()} and c.is_set = true"
        try:
            patched = self.container.patch_item(document_id(key), key.partition, operations, filter_predicate=is_live)
        except AzureError as error:
            if _status(error) in _LOST:
                return None
            raise _store_error(f"patch {self.place} {key}", error) from error
        return _document(patched).members

    def _query(self, query: str, values: Mapping[str, str], **options: Any) -> Iterator[tuple[Key, Document]]:
        parameters: list[dict[str, object]] = [{"name": name, "value": value} for name, value in values.items()]
        try:
            for found in self.container.query_items(query, parameters=parameters, **options):
                yield Key(found["partition"], found["sort"]), _document(found)
        except AzureError as error:
            raise _store_error(f"query {self.place} {values}", error) from error

    def _delete(self, key: Key) -> None:
        try:
            self.container.delete_item(document_id(key), key.partition)
        except AzureError as error:
            if _status(error) != _ABSENT:  # it may have expired meanwhile
                raise _store_error(f"delete {self.place} {key}", error) from error

    def _body(self, key: Key, document: Document) -> dict[str, Any]:
        own = document.to_json()
        if document.members is not None:
            own |= {MEMBERS: {_name(member): 1 for member in sorted(document.members)}, "is_set": True}
        names = {"id": document_id(key), "partition": key.partition, "sort": key.sort}
        return {**own, **names, "ttl": self._ttl(document)}

    def _ttl(self, document: Document) -> int:
        """Return the seconds from now until Cosmos DB may delete `document`, which are at least one."""
        return max(0, document.deletable_at_s - self.clock.now_ms() // 1000) + DELETION_DELAY_S


def create_container(database: DatabaseProxy, name: str, **options: Any) -> ContainerProxy:
    """Create a container in the form that the store needs, or return the one that exists.

    Args:
        database: database of the container.
        name: name of the container.
        options: further arguments of `DatabaseProxy.create_container_if_not_exists`, such as ``offer_throughput``.
    """
    # Indexes of other paths would only add to the price of writes.
    policy = {"includedPaths": [{"path": path} for path in _INDEXED], "excludedPaths": [{"path": "/*"}]}
    container: ContainerProxy = database.create_container_if_not_exists(
        name, PartitionKey(_PARTITION_PATH), indexing_policy=policy, default_ttl=-1, **options
    )
    return container


def check_account(place: str, account: Any) -> None:
    """Raise unless reads of `account` show every acknowledged write, and one region takes all writes.

    Args:
        place: name of the account in errors.
        account: answer of `CosmosClient.get_database_account`.

    Raises:
        StoreError: the account has another consistency, or several regions for writes.
    """
    level = (account.ConsistencyPolicy or {}).get("defaultConsistencyLevel")
    regions = [each["name"] for each in account.ReadableLocations]
    if account._EnableMultipleWritableLocations or len(account.WritableLocations) > 1:  # noqa: SLF001 - has no other name
        raise StoreError(
            f"{place}: expected one region for writes, got an account with multi-region writes, where two regions may"
            " both create one item and one of them is dropped later: turn multi-region writes off"
        )
    if level == _STRONG or (level == _BOUNDED and len(regions) == 1):
        return
    raise StoreError(
        f"{place}: expected the default consistency {_STRONG}, or {_BOUNDED} in a single region, got {level} in"
        f" {', '.join(regions)}, whose reads may miss acknowledged writes: change the account's default consistency"
    )


def document_id(key: Key) -> str:
    """Return the document id of `key`, unique in the container."""
    # A digest has no characters that ids must not have, and is unique among all partitions, as exports may need it.
    return sha256("\0".join(key).encode())


def _check_container(place: str, found: Mapping[str, Any]) -> None:
    paths = found.get("partitionKey", {}).get("paths")
    if paths != [_PARTITION_PATH] or "defaultTtl" not in found:
        raise StoreError(
            f"{place}: expected the partition key {_PARTITION_PATH} and a default time to live of -1, got {paths} and"
            f" {found.get('defaultTtl')}: make the container with unum_azure.cosmos.create_container"
        )


def _name(member: int) -> str:
    """Return the name of a set's member in a JSON object, to which patches add without reading it."""
    return f"m{member}"  # a number could be the place in an array


def _document(found: Mapping[str, Any]) -> Document:
    members = {MEMBERS: [int(name.removeprefix("m")) for name in found[MEMBERS]]} if MEMBERS in found else {}
    return Document.from_json({**found, **members}, found["_etag"])


def _status(error: AzureError) -> int | None:
    """Return the HTTP status of a document's answer; None without such an answer."""
    if not isinstance(error, CosmosHttpResponseError):
        return None
    status = error.status_code
    return None if status in (*_DENIED, _ABSENT) and error.sub_status not in _OF_THE_DOCUMENT else status


def _store_error(place: str, error: AzureError) -> StoreError:
    kind = StoreDenied if _status(error) in _DENIED else StoreError
    return kind(f"{place}: {error}")
