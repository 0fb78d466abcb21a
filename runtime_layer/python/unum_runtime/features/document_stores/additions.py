"""Sets as logs of additions, for databases where an addition does not return the whole set."""

from collections.abc import Iterable
from typing import NamedTuple


class Addition(NamedTuple):
    """One addition to a set; additions are ordered by time.

    Attributes:
        at_ms: time of the addition, in milliseconds since 1970.
        expires_at_ms: expiry of the whole set by this addition, likewise.
        members: added members.
    """

    at_ms: int
    expires_at_ms: int
    members: frozenset[int]


def set_of(additions: Iterable[Addition]) -> tuple[frozenset[int], int]:
    """Return the members that `additions` make in order of time, and the set's expiry in milliseconds since 1970."""
    members, expires_at_ms = frozenset[int](), 0
    for each in sorted(additions):  # of several at one time, the one that lasts longest counts
        # An expired set begins empty: its old members belong to an execution of the same name before.
        members = each.members | (members if each.at_ms < expires_at_ms else frozenset())
        expires_at_ms = each.expires_at_ms
    return members, expires_at_ms
