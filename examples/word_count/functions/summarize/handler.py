"""Combine word counts of all partitions."""

import json
import os
from typing import Any

import boto3

BUCKET = boto3.resource("s3").Bucket(os.environ["BUCKET"])
MOST_FREQUENT = 10


def handle(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    """Write all counts to the bucket; return totals.

    Args:
        event: ``{"key": str, "counts": [{word: count}, ...]}``, one entry for each partition; a word belongs to one of
            them.

    Returns:
        ``{"words": int, "distinct": int, "most_frequent": [[word, count], ...], "counts": str}``; the last one is the
        key of an object with ``{word: count}`` as JSON, the most frequent words first.
    """
    counts = dict(sorted(merge(event["counts"]).items(), key=lambda entry: (-entry[1], entry[0])))
    key = f"counts/{event['key']}.json"
    BUCKET.put_object(Key=key, Body=json.dumps(counts, ensure_ascii=False).encode(), ContentType="application/json")
    return {
        "words": sum(counts.values()),
        "distinct": len(counts),
        "most_frequent": list(counts.items())[:MOST_FREQUENT],
        "counts": key,
    }


def merge(partitions: list[dict[str, int]]) -> dict[str, int]:
    """Combine word counts of disjoint partitions."""
    return {word: count for partition in partitions for word, count in partition.items()}
