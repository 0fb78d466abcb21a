"""Bring together what belongs to one reducer."""

from typing import Any


def handle(counts: list[list[dict[str, int]]], _context: Any) -> list[list[dict[str, int]]]:
    """The counts by partition and chunk.

    Args:
        counts: by chunk and partition, ``{word: count}`` each.
    """
    return [list(partition) for partition in zip(*counts, strict=True)]
