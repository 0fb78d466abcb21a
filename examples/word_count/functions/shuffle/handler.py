"""Regroup word counts for reducers."""

from typing import Any


def handle(counts: list[list[dict[str, int]]], _context: Any) -> list[list[dict[str, int]]]:
    """Return word counts by partition and chunk.

    Args:
        counts: ``{word: count}`` by chunk and partition.
    """
    return [list(partition) for partition in zip(*counts, strict=True)]
