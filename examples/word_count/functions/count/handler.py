"""Count the words of one chunk of a text, partitioned for the reducers."""

import os
import re
import zlib
from collections import Counter
from typing import Any

import boto3

BUCKET = boto3.resource("s3").Bucket(os.environ["BUCKET"])

WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")
"""Letters, with apostrophes (straight or typographic) between them."""
WHITESPACE = re.compile(rb"[ \t\r\n]")
MARGIN = 4096
"""How far behind a chunk's end, in bytes, its last word may reach."""


def handle(event: dict[str, Any], _context: Any) -> list[dict[str, int]]:
    """The counts of the words that begin in a chunk.

    Args:
        event: ``{"key": str, "chunk": {"start": int, "end": int}, "partitions": int}``, places in bytes.

    Returns:
        One ``{word: count}`` for each partition. A word is in the same partition whatever chunk it is in.
    """
    text = read(event["key"], **event["chunk"])
    return partitioned(Counter(words(text)), event["partitions"])


def read(key: str, *, start: int, end: int) -> str:
    """The text of a chunk: both borders are moved to the next whitespace, so that neighbours fit together.

    Raises:
        ValueError: a word reaches further than `MARGIN` behind the chunk.
    """
    offset = max(start - 1, 0)
    data: bytes = BUCKET.Object(key).get(Range=f"bytes={offset}-{end + MARGIN - 1}")["Body"].read()
    first = _border(data, 0) if start else 0
    last = _border(data, end - 1 - offset)
    if last == len(data) == end + MARGIN - offset:
        raise ValueError(f"{key}: expected whitespace within {MARGIN} bytes from byte {end - 1} on, found none")
    return data[first:last].decode()


def _border(data: bytes, place: int) -> int:
    """Where the first whitespace at `place` or after it is; the end if there is none."""
    found = WHITESPACE.search(data, place)
    return found.start() if found else len(data)


def words(text: str) -> list[str]:
    """The words of `text`, without regard to case."""
    return WORD.findall(text.casefold())


def partitioned(counts: Counter[str], partitions: int) -> list[dict[str, int]]:
    """`counts` by partition; a checksum chooses it, because Python's `hash` differs between processes."""
    parts: list[dict[str, int]] = [{} for _ in range(partitions)]
    for word, count in counts.items():
        parts[zlib.crc32(word.encode()) % partitions][word] = count
    return parts
