"""Count words in one chunk of a text, partitioned for reducers."""

import os
import re
import zlib
from collections import Counter
from typing import Any

import boto3

BUCKET = boto3.resource("s3").Bucket(os.environ["BUCKET"])

WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")
"""Letters, with straight or typographic apostrophes between them."""
WHITESPACE = re.compile(rb"[ \t\r\n]")
MARGIN = 4096
"""Most bytes of a chunk's last word behind the chunk's end."""


def handle(event: dict[str, Any], _context: Any) -> list[dict[str, int]]:
    """Count words with first letters inside a chunk.

    Args:
        event: ``{"key": str, "chunk": {"start": int, "end": int}, "partitions": int}``, positions in bytes.

    Returns:
        One ``{word: count}`` for each partition. A word belongs to the same partition in all chunks.
    """
    text = read(event["key"], **event["chunk"])
    return partition(Counter(words(text)), event["partitions"])


def read(key: str, *, start: int, end: int) -> str:
    """Read a chunk's text; both borders move to the next whitespace, so that neighbouring chunks fit together.

    Raises:
        ValueError: a word extends more than `MARGIN` bytes behind the chunk.
    """
    # One byte earlier: a word that begins at `start` needs the whitespace in front of it.
    offset = max(start - 1, 0)
    data: bytes = BUCKET.Object(key).get(Range=f"bytes={offset}-{end + MARGIN - 1}")["Body"].read()
    first = _border(data, 0) if start else 0
    last = _border(data, end - 1 - offset)
    # No whitespace in the margin: a cut word would be counted twice, in halves.
    if last == len(data) == end + MARGIN - offset:
        raise ValueError(f"{key}: expected whitespace within {MARGIN} bytes from byte {end - 1} on, found none")
    return data[first:last].decode()


def _border(data: bytes, place: int) -> int:
    """Return the next whitespace position from `place` on. Default: end of data."""
    found = WHITESPACE.search(data, place)
    return found.start() if found else len(data)


def words(text: str) -> list[str]:
    """Return words of `text` in lower case."""
    return WORD.findall(text.casefold())


def partition(counts: Counter[str], partitions: int) -> list[dict[str, int]]:
    """Split `counts` into partitions by a checksum, because Python's `hash` differs between processes."""
    parts: list[dict[str, int]] = [{} for _ in range(partitions)]
    for word, count in counts.items():
        parts[zlib.crc32(word.encode()) % partitions][word] = count
    return parts
