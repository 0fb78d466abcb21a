"""Objects beside the items: content of any size under a name; each docstring is a contract that the suite checks."""

from collections.abc import Iterable
from typing import Protocol


class Objects(Protocol):
    """Shared content of any size; safe to use from several threads.

    Names are made of what is stored under them (`unum_runtime.store.large_items`), so no name ever has two contents.
    Objects are never deleted here; they expire, later than anything that refers to them.
    """

    def put(self, name: str, content: bytes) -> None:
        """Store `content` under `name`; when this returns, every `get` finds it.

        Storing again what is there lets it last as long as if it were new.

        Raises:
            StoreError: the store did not answer; the object may or may not be there.
        """
        ...

    def get(self, names: Iterable[str]) -> dict[str, bytes]:
        """The contents under those of `names` that exist.

        Raises:
            StoreError: some name was neither read nor found absent.
        """
        ...
