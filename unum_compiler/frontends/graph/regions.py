"""Order of the nodes of a region."""

from collections.abc import Mapping
from typing import TypeAlias

Needs: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]
"""Each node's name with the names of its sources."""


def ordered(sources: Mapping[str, tuple[str, ...]], name: str) -> Needs:
    """Return the nodes so that each comes after its sources, and those without sources first.

    Args:
        sources: names of the sources of each node.
        name: name of the region, for messages.

    Raises:
        ValueError: there are no nodes, a node waits for one that does not exist, or some wait for each other.
    """
    if not sources:
        raise ValueError(f"{name!r}: expected at least one node, got none")
    for node, waits_for in sources.items():
        unknown = [each for each in waits_for if each not in sources]
        if unknown:
            raise ValueError(
                f"{name!r}: node {node!r} waits for {unknown[0]!r}, which does not exist among {[*sources]}"
            )
    found: dict[str, tuple[str, ...]] = {node: () for node, waits_for in sources.items() if not waits_for}
    while len(found) < len(sources):
        ready = {node: each for node, each in sources.items() if node not in found and found.keys() >= {*each}}
        if not ready:
            rest = [node for node in sources if node not in found]
            raise ValueError(f"{name!r}: nodes {rest} wait for each other, and would never begin; remove an edge")
        found |= {node: tuple(dict.fromkeys(each)) for node, each in ready.items()}
    return tuple(found.items())
