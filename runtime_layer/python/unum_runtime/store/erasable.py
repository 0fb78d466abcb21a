"""Contract of stores from which executions can be deleted; ``tests/contract`` checks every docstring.

No delivery of an event deletes anything, so these primitives are apart from `unum_runtime.store.base`.
"""

from collections.abc import Collection
from typing import Protocol

from unum_runtime.model.checkpoint import Item
from unum_runtime.model.naming import Key
from unum_runtime.store.base import Objects, Store


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
