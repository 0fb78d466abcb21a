"""A store that notes which keys it is told to collect."""

from collections.abc import Iterable
from typing import Any

from unum_runtime.model.naming import Key


class CollectedKeys:
    """Store that passes everything on.

    Attributes:
        keys: collected keys, in order.
        queried: partitions that were queried, in order.
    """

    def __init__(self, inner: Any) -> None:
        self.inner, self.keys, self.queried = inner, list[Key](), list[str]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def collect(self, keys: Iterable[Key]) -> None:
        """Note the keys, and collect them."""
        wanted = [*keys]
        self.keys += wanted
        self.inner.collect(wanted)

    def query(self, partition: str, *, newest: int | None = None) -> Any:
        """Note the partition, and query it."""
        self.queried.append(partition)
        return self.inner.query(partition, newest=newest)
