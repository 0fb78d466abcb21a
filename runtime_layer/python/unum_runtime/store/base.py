"""Store contract: the atomic primitives that the protocol needs from a database.

A new backend implements every method of `Store`, plus `Index` for lists of executions. ``tests/contract`` checks each
docstring below against each backend. Meaning stays in `unum_runtime.protocol`: a backend never interprets an item.

Rules for all primitives:

* Atomicity: writes to one key happen in one order. Every acknowledged write is visible to every later call.
* Expiry: an expired item, set or lease is absent, even while the backend still keeps it.
* Errors: after `StoreError` a write may have happened or not. Callers repeat it; a repeated write changes nothing more.
* Partitions: items, sets and leases never share a partition.
* Threads: all methods may run concurrently in one process.
"""

from collections.abc import Iterable
from typing import Protocol

from unum_runtime.model.checkpoint import Item
from unum_runtime.model.list_index import FIRST, LAST
from unum_runtime.model.naming import Key

MAX_ITEM_BYTES = 400_000
"""Maximum size of an item, keys and attribute names included. Source: Amazon DynamoDB Developer Guide, "Quotas", where
it is 400 KB."""

BUCKET = "s3://"
"""Begin of a store's address that names a bucket; other addresses name a DynamoDB table."""


class Store(Protocol):
    """Shared state of all deliveries."""

    def create(self, key: Key, item: Item, *, expires_at_s: int) -> Item | None:
        """Store `item` if `key` is absent.

        Exactly one of several concurrent calls for one key wins. Every other call returns the winner's item.

        Args:
            key: partition and sort key.
            item: attributes; at most `MAX_ITEM_BYTES`.
            expires_at_s: expiry of the item, in seconds since 1970.

        Returns:
            None if this call stored `item`, else the item that `key` already had.

        Raises:
            StoreError: the item is too large, or the store did not answer; then the item may be stored or not.
        """
        ...

    def read(self, keys: Iterable[Key]) -> dict[Key, Item]:
        """Return the current items at `keys`, without absent keys.

        Reads are strongly consistent. A set reads as an item with its member count in ``members``; a collected set
        reads as a tombstone.

        Raises:
            StoreError: at least one key was neither read nor found absent.
        """
        ...

    def query(self, partition: str, *, newest: int | None = None) -> dict[Key, Item]:
        """Return all items of `partition` in sort key order, or only the last `newest` items in reverse order.

        Reads are strongly consistent.

        Raises:
            StoreError: the partition was not read completely.
        """
        ...

    def collect(self, keys: Iterable[Key]) -> None:
        """Turn the items at `keys` into tombstones: delete the `OUTCOME` attributes, keep the others, empty sets.

        Absent keys stay absent. Expiry times stay. A second call changes nothing.

        Raises:
            StoreError: the store refused or did not answer; some items may be collected.
        """
        ...

    def extend(self, key: Key, item: Item, *, unless: str, expires_at_s: int) -> tuple[bool, Item]:
        """Add `item`'s attributes to the item at `key` unless the stored item has attribute `unless`.

        An absent item counts as empty. Exactly one of several concurrent calls with equal `unless` wins. Each call
        sees all additions of earlier calls, so at least one caller sees the completed item.

        Args:
            key: partition and sort key, never used with `create`.
            item: attributes to add; `unless` is one of them.
            unless: attribute name.
            expires_at_s: new expiry of the whole item if this call wins, in seconds since 1970.

        Returns:
            True if this call added `item`, else False; and the whole item afterwards.

        Raises:
            StoreError: the store refused or did not answer; the attributes may be added or not.
        """
        ...

    def add(self, key: Key, *members: int, expires_at_s: int) -> frozenset[int]:
        """Add `members` to the set at `key` in one write, and return the set after this addition.

        An absent set counts as empty. A repeated member changes nothing. At most 256 are added at once. The returned
        set has these members and those of all additions before, so at least one of several concurrent callers sees the
        completed set. It may also have members that others add meanwhile, so several may see it completed.
        `expires_at_s` becomes the expiry of the whole set, in seconds since 1970.

        Raises:
            StoreError: the store refused or did not answer; all members may be added, or none.
        """
        ...

    def acquire(self, key: Key, owner: str, *, expires_at_ms: int) -> str:
        """Lease `key` to `owner` unless another owner has an unexpired lease.

        Exactly one of several concurrent calls for a free key wins. An owner may acquire its own lease again, which
        moves the expiry.

        Args:
            key: partition and sort key of the lease.
            owner: name of the caller; not empty.
            expires_at_ms: end of the lease, in milliseconds since 1970.

        Returns:
            The current owner: `owner` if this call won, else the other owner.

        Raises:
            StoreError: the store refused or did not answer; the lease may be acquired or not.
        """
        ...

    def renew(self, key: Key, owner: str, *, expires_at_ms: int) -> bool:
        """Renew the lease of `owner` on `key` until `expires_at_ms`.

        Returns:
            True if renewed; False if `owner` has no lease, or an expired one.

        Raises:
            StoreError: the store refused or did not answer; the lease may be renewed or not.
        """
        ...

    def release(self, key: Key, owner: str) -> None:
        """End `owner`'s lease on `key`, if present.

        Raises:
            StoreError: the store refused or did not answer; the lease may be released or not.
        """
        ...


class Index(Protocol):
    """Secondary index of items with the attributes of `unum_runtime.model.list_index`.

    No outcome of an execution depends on it, so it may be eventually consistent.
    """

    def query(self, partition: str, *, newest: int | None = None) -> dict[Key, Item]:
        """Return items of the table itself, with references in place of large texts; see `Store.query`."""
        ...

    def list_items(
        self,
        partition: str,
        *,
        oldest: str = FIRST,
        newest: str = LAST,
        limit: int | None = None,
        oldest_first: bool = False,
    ) -> dict[Key, Item]:
        """Return items of one index partition, newest first, with all projected attributes.

        Other workflows of a table may write entries into any partition, with anything in other attributes: attributes
        of unknown types are left out, and an item without an expiry counts as live.

        Args:
            partition: see `unum_runtime.model.list_index.partition`.
            oldest: lowest place, inclusive.
            newest: highest place, inclusive.
            limit: maximum number of items, counted from the first; None for all.
            oldest_first: True for the opposite order.

        Raises:
            NoIndex: the store has no index.
            StoreError: the request was not answered completely.
        """
        ...


class Objects(Protocol):
    """Shared content of any size; threads may share it.

    A name contains the hash of its content (`unum_runtime.store.large_items`), so a name never has two contents and
    concurrent writes cannot conflict. Objects expire later than every item with their name; only a deletion of their
    execution removes them before.
    """

    def put(self, name: str, content: bytes) -> None:
        """Store `content` under `name`, visible to every later `get`.

        A repeated call restarts the lifetime of the object.

        Raises:
            StoreError: the store did not answer; the object may be stored or not.
        """
        ...

    def get(self, names: Iterable[str]) -> dict[str, bytes]:
        """Return the existing contents by name, without absent names.

        Raises:
            StoreError: at least one name was neither read nor found absent.
        """
        ...
