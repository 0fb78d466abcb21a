"""Give every URL a short one, and store it."""

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
    """The same URLs, each with its short form.

    Runs any number of times for one post: a URL's code comes from the URL alone.

    Args:
        event: ``{"urls": [{"url": str, ...}, ...]}``.

    Returns:
        The event's list with ``"short"`` in every entry.
    """
    short = {url: SHORT_BASE + store(url) for url in {found["url"] for found in event["urls"]}}
    return {"urls": [{**found, "short": short[found["url"]]} for found in event["urls"]]}


def store(url: str) -> str:
    """The code under which `url` is stored; another one where a different URL has taken the first choice."""
    candidates = (code(url, attempt) for attempt in count())
    return next(candidate for candidate in candidates if claim(candidate, url))


def code(url: str, attempt: int) -> str:
    """The choice number `attempt` for the code of `url`: 35 bits of a hash, in lower-case letters and digits."""
    digest = hashlib.sha256(f"{attempt}:{url}".encode()).digest()
    return base64.b32encode(digest)[:CODE_LENGTH].decode().lower()


def claim(candidate: str, url: str) -> bool:
    """Whether `candidate` stands for `url` now: it was free, or stood for it already."""
    try:
        TABLE.put_item(
            Item={"code": candidate, "url": url},
            ConditionExpression="attribute_not_exists(code) OR #url = :url",
            ExpressionAttributeNames={"#url": "url"},
            ExpressionAttributeValues={":url": url},
        )
    except TABLE.meta.client.exceptions.ConditionalCheckFailedException:
        return False
    return True
