"""What has happened in a world: facts are added and never taken back, so worlds that go on from one share them."""

from typing import Generic, Self, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Facts(dict[K, V], Generic[K, V]):
    """A dictionary that nobody changes once it is made.

    Attributes:
        digest: tells facts apart, in whatever order they were added.
    """

    digest: int = 0

    def plus(self, key: K, value: V) -> Self:
        """These facts with `value` for `key`, in place of what was there."""
        more = type(self)(self)
        more[key] = value
        more.digest = self.digest ^ hash((key, value))
        if key in self:
            more.digest ^= hash((key, self[key]))
        return more
