"""Depth-first traversal, for graphs of states and functions."""

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

_T = TypeVar("_T", bound=Hashable)


def reachable_from(starts: Iterable[_T], following: Callable[[_T], Iterable[_T]]) -> tuple[_T, ...]:
    """Return `starts` and everything reachable from them, depth first, each once.

    The order depends on nothing but the arguments, so that equal workflows give equal templates.
    """
    found: dict[_T, None] = {}
    ahead = [*starts][::-1]
    while ahead:
        node = ahead.pop()
        if node not in found:
            found[node] = None
            ahead.extend([*following(node)][::-1])
    return tuple(found)
