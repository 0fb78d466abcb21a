"""Make and store a short form of every URL."""

import base64
import hashlib
import os
from itertools import count
from typing import Any

import boto3

TABLE = boto3.resource("dynamodb").Table(os.environ["URLS_TABLE"])
SHORT_BASE = os.environ["SHORT_BASE"]
CODE_LENGTH = 7


def handle(event: dict[str, Any], _context: Any) -> dict[str, list[dict[str, Any]]]:
    """Return the URLs with their short forms.

    Any number of runs for one post is safe: a URL's code depends on the URL alone.

    Args:
        event: ``{"urls": [{"url": str, ...}, ...]}``.

    Returns:
        The event's list with ``"short"`` in every entry.
    """
    short = {url: SHORT_BASE + store(url) for url in {found["url"] for found in event["urls"]}}
    return {"urls": [{**found, "short": short[found["url"]]} for found in event["urls"]]}


def store(url: str) -> str:
    """Store `url`, and return its code: the first candidate that no other URL has."""
    candidates = (code(url, attempt) for attempt in count())
    return next(candidate for candidate in candidates if claim(candidate, url))


def code(url: str, attempt: int) -> str:
    """Return candidate number `attempt` for the code of `url`: 35 bits of a hash, in lower-case letters and digits."""
    digest = hashlib.sha256(f"{attempt}:{url}".encode()).digest()
    # Base 32 survives clients that change the case of URLs.
    return base64.b32encode(digest)[:CODE_LENGTH].decode().lower()


def claim(candidate: str, url: str) -> bool:
    """Claim `candidate` for `url`; return True if it was free, or already belonged to `url`."""
    try:
        TABLE.put_item(
            Item={"code": candidate, "url": url},
            # A second run finds its own URL, which is no conflict.
            ConditionExpression="attribute_not_exists(code) OR #url = :url",
            ExpressionAttributeNames={"#url": "url"},
            ExpressionAttributeValues={":url": url},
        )
    except TABLE.meta.client.exceptions.ConditionalCheckFailedException:
        return False
    return True
