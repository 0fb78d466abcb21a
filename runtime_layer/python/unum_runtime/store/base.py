"""The few atomic primitives that the protocol needs of a store; each docstring is a contract that the suite checks.

A backend implements these and nothing else: what they are used for is decided once, in `unum_runtime.protocol`.
Items, sets and leases have partitions of their own; no partition has two kinds.
An item whose expiry has passed is absent for every primitive, even while the backend still keeps it.
"""

from collections.abc import Iterable
from typing import Protocol

from unum_runtime.model.checkpoint import Item
from unum_runtime.model.list_index import FIRST, LAST
from unum_runtime.model.naming import Key

MAX_ITEM_BYTES = 400_000
"""The largest item, keys and names included. Source: Amazon DynamoDB Developer Guide, "Quotas", where it is 400 KB."""


class Store(Protocol):
    """Shared state of all deliveries; safe to use from several threads."""

    def create(self, key: Key, item: Item, *, expires_at_s: int) -> Item | None:
        """Store `item` if `key` is absent.

        Of any number of concurrent calls for one key exactly one stores; every other gets the item that is there.

        Args:
            key: where.
            item: what; at most `MAX_ITEM_BYTES`.
            expires_at_s: from when on the item counts as absent, in seconds since 1970.

        Returns:
            None when this call stored `item`, else the item that was there before.

        Raises:
            StoreError: the item is too large, or the store did not answer; then the item may or may not be there.
        """
        ...

    def read(self, keys: Iterable[Key]) -> dict[Key, Item]:
        """The items at `keys` that exist, as of now (a commit that was acknowledged before is seen).

        A set reads as an item that says in ``members`` how many it has; after it was collected, as a tombstone.

        Raises:
            StoreError: some key was neither read nor found absent.
        """
        ...

    def query(self, partition: str, *, newest: int | None = None) -> dict[Key, Item]:
        """All items of `partition` in the order of their sort keys, or only the `newest` last ones, last first.

        Raises:
            StoreError: the partition was not read to its end.
        """
        ...

    def collect(self, keys: Iterable[Key]) -> None:
        """Turn the items at `keys` into tombstones: all is kept but what is in `OUTCOME`, and a set is emptied.

        Absent keys stay absent, and collecting again changes nothing.

        Raises:
            StoreError: the store refused or did not answer; some of the items may have been collected.
        """
        ...

    def extend(self, key: Key, item: Item, *, unless: str, expires_at_s: int) -> tuple[bool, Item]:
        """Set the attributes of `item` in the item at `key`, which begins empty, unless it has the attribute `unless`.

        Of any number of concurrent calls with the same `unless` exactly one sets its attributes. Calls are ordered:
        each sees what those before it have set, so at least one of those that complete an item sees it complete.

        Args:
            key: where; an item that `create` did not make.
            item: attributes; `unless` is one of them.
            unless: name of an attribute.
            expires_at_s: from when on the whole item counts as absent, if something is set; in seconds since 1970.

        Returns:
            Whether the attributes were set; and the item as it is then.

        Raises:
            StoreError: the store refused or did not answer; the attributes may or may not be set.
        """
        ...

    def add(self, key: Key, member: int, *, expires_at_s: int) -> frozenset[int]:
        """Add `member` to the set at `key`, which begins empty.

        Adding again changes nothing. Concurrent calls are ordered: each returns the set as it was right after its own
        addition, so at least one of those that complete a set sees it complete.

        Raises:
            StoreError: the store refused or did not answer; the member may or may not be there.
        """
        ...

    def acquire(self, key: Key, owner: str, *, expires_at_ms: int) -> str:
        """Claim `key` for `owner`, if nobody else has a claim on it that has not expired.

        Of any number of concurrent calls for one free key exactly one claims it. An owner may claim again what it has.

        Args:
            key: what is claimed.
            owner: who claims it; not empty.
            expires_at_ms: until when, in milliseconds since 1970; from then on the key is free.

        Returns:
            Who has the claim now: `owner`, or whoever was before it.

        Raises:
            StoreError: the store refused or did not answer; the key may or may not be claimed.
        """
        ...

    def renew(self, key: Key, owner: str, *, expires_at_ms: int) -> bool:
        """Let the claim of `owner` on `key` last until `expires_at_ms`.

        Returns:
            Whether it does; not if `owner` has no claim, or one that has expired.

        Raises:
            StoreError: the store refused or did not answer; the claim may or may not last longer.
        """
        ...

    def release(self, key: Key, owner: str) -> None:
        """End the claim of `owner` on `key`; nothing happens if it has none.

        Raises:
            StoreError: the store refused or did not answer; the claim may or may not have ended.
        """
        ...


class Index(Protocol):
    """The items of a store that lists show, which are those with the attributes of `unum_runtime.model.list_index`.

    Nothing that an execution comes to depends on it, so it may lag behind the store.
    """

    def listed(
        self, partition: str, *, oldest: str = FIRST, newest: str = LAST, limit: int | None = None
    ) -> list[Item]:
        """The items of one partition of the index, newest first; each has what a list needs, and maybe more.

        Args:
            partition: see `unum_runtime.model.list_index.partition`.
            oldest: the lowest place, included.
            newest: the highest place, included.
            limit: how many at most, the newest of all; None for all.

        Raises:
            NoIndex: the store has none.
            StoreError: not all was read that was asked for.
        """
        ...
