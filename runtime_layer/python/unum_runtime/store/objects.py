"""Object store contract: content of any size under a name; ``tests/contract`` checks every docstring."""

from collections.abc import Iterable
from typing import Protocol


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
