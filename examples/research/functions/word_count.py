"""Word count by two Maps: over the texts, then over parts of the alphabet."""

import re
from collections import Counter
from typing import Any

PARTS = 3

Counts = dict[str, int]


def count(event: str, _context: Any) -> Counts:
    """Count the words of one text."""
    return Counter(re.findall(r"[a-z']+", event.lower()))


def partition(event: list[Counts], _context: Any) -> list[list[Counts]]:
    """Give all counts of a word to the same part."""
    return [
        [{word: number for word, number in counts.items() if ord(word[0]) % PARTS == part} for counts in event]
        for part in range(PARTS)
    ]


def add(event: list[Counts], _context: Any) -> Counts:
    """Add up the counts of one part."""
    return sum((Counter(counts) for counts in event), Counter())


def merge(event: list[Counts], _context: Any) -> Counts:
    """Return the words of all parts."""
    return {word: number for counts in event for word, number in counts.items()}
