"""Split a text into chunks, without reading it."""

import os
from typing import Any

import boto3

BUCKET = boto3.resource("s3").Bucket(os.environ["BUCKET"])
CHUNK_BYTES = int(os.environ["CHUNK_BYTES"])


def handle(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    """Return the chunks of a text.

    Args:
        event: ``{"key": str}``, an object of the bucket, text in UTF-8.

    Returns:
        ``{"key": str, "chunks": [{"start": int, "end": int}, ...]}`` in bytes, `end` excluded. Readers of a chunk move
        both borders to the next whitespace, so that words stay whole.
    """
    size = BUCKET.Object(event["key"]).content_length
    starts = range(0, size, CHUNK_BYTES)
    return {
        "key": event["key"],
        "chunks": [{"start": start, "end": min(start + CHUNK_BYTES, size)} for start in starts],
    }
