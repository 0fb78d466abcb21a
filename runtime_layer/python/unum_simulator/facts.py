"""An immutable dictionary that copies of a world share."""

from typing import Generic, Self, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Facts(dict[K, V], Generic[K, V]):
    """A dictionary that never changes after creation.

    Attributes:
        digest: hash of all entries, independent of insertion order.
    """

    digest: int = 0

    def plus(self, key: K, value: V) -> Self:
        """Return a copy with `value` at `key`."""
        more = type(self)(self)
        more[key] = value
        # XOR commutes: two worlds with the same facts in another order get the same digest and count as one.
        more.digest = self.digest ^ hash((key, value))
        if key in self:
            more.digest ^= hash((key, self[key]))
        return more
