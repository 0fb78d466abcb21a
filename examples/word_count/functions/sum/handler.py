"""Add up word counts of one partition."""

from collections import Counter
from typing import Any


def handle(counts: list[dict[str, int]], _context: Any) -> dict[str, int]:
    """Add up `counts`, one ``{word: count}`` for each chunk."""
    total: Counter[str] = Counter()
    for count in counts:
        total.update(count)
    return dict(total)
