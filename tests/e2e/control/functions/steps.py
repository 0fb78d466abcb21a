"""Functions that fail until they are told not to, and count how often each item was worked on."""

import os
from typing import Any

import boto3

TABLE = boto3.resource("dynamodb").Table(os.environ["COUNTS"])


def begin(event: Any, _context: Any) -> Any:
    return event


def work(event: Any, _context: Any) -> Any:
    """Notes in the table that it ran; fails for an item that is there as broken."""
    key = f"{event['run']}/{event['item']}"
    TABLE.update_item(Key={"id": key}, UpdateExpression="ADD runs :one", ExpressionAttributeValues={":one": 1})
    if "Item" in TABLE.get_item(Key={"id": f"broken {key}"}):
        raise RuntimeError(key)
    return event["item"]


def end(event: Any, _context: Any) -> Any:
    return event
