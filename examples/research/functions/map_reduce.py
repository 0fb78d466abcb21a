"""Map-reduce: an index that lists, for each word, the lines of all documents in which it stands."""

import re
from collections import defaultdict
from typing import Any

MAPPERS = 4
REDUCERS = 3

Places = dict[str, list[str]]


def split(event: dict[str, str], _context: Any) -> list[list[tuple[str, str]]]:
    """Deal the lines of all documents to mappers, each line with its place."""
    lines = [
        (f"{name}:{number}", line)
        for name, text in event.items()
        for number, line in enumerate(text.splitlines(), start=1)
    ]
    return [lines[mapper::MAPPERS] for mapper in range(MAPPERS)]


def find_words(event: list[tuple[str, str]], _context: Any) -> list[tuple[str, str]]:
    """Return pairs of a word and its place."""
    return [(word, place) for place, line in event for word in sorted(set(re.findall(r"\w+", line.lower())))]


def shuffle(event: list[list[tuple[str, str]]], _context: Any) -> list[Places]:
    """Collect the places of each word, and deal the words to reducers."""
    places: dict[str, list[str]] = defaultdict(list)
    for pairs in event:
        for word, place in pairs:
            places[word].append(place)
    words = sorted(places)
    return [{word: places[word] for word in words[reducer::REDUCERS]} for reducer in range(REDUCERS)]


def index(event: Places, _context: Any) -> Places:
    """Sort the places of each word by document and line."""
    return {word: sorted(places, key=_document_and_line) for word, places in event.items()}


def _document_and_line(place: str) -> tuple[str, int]:
    name, _, line = place.rpartition(":")
    return name, int(line)
