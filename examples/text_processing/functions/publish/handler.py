"""Publish a post, once."""

import os
import uuid
from datetime import UTC, datetime
from typing import Any

import boto3

TABLE = boto3.resource("dynamodb").Table(os.environ["POSTS_TABLE"])


def handle(post: dict[str, Any], context: Any) -> dict[str, Any]:
    """Publish the post.

    Lambda may run this twice for one invocation of the workflow, even concurrently. All runs have the same idempotency
    key, so they write one post, and return the time of the first.

    Args:
        post: ``{"author", "text", "mentions", "urls"}``.
        context: Lambda's context, with the invocation's place in the workflow as ``unum``.

    Returns:
        The post with ``post_id`` and ``published_at``.
    """
    # A name-based UUID: every run computes the same id from the same key.
    post_id = str(uuid.uuid5(uuid.NAMESPACE_URL, context.unum.idempotency_key))
    published_at = datetime.now(UTC).isoformat(timespec="milliseconds")
    return store({"post_id": post_id, **post, "published_at": published_at})


def store(record: dict[str, Any]) -> dict[str, Any]:
    """Store `record` unless its id exists; return the stored record."""
    try:
        # The condition makes the first run win; later runs read its record.
        TABLE.put_item(Item=record, ConditionExpression="attribute_not_exists(post_id)")
    except TABLE.meta.client.exceptions.ConditionalCheckFailedException:
        return TABLE.get_item(Key={"post_id": record["post_id"]}, ConsistentRead=True).get("Item", record)
    return record
