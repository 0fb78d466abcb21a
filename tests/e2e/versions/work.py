import os
from typing import Any

import boto3

NOTES = boto3.resource("dynamodb").Table(os.environ["NOTES_TABLE"])


CODE = 0  # which code this is; the stack puts another number here


class Closed(Exception):
    """The execution's gate has not been opened yet."""


def note(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    return {"name": event["name"], "trail": [*event["trail"], f"{event['state']} by code {CODE}"]}


def gate(event: dict[str, Any], context: Any) -> dict[str, Any]:
    if "Item" not in NOTES.get_item(Key={"key": f"gate of {event['name']}"}, ConsistentRead=True):
        raise Closed(event["name"])
    return note(event, context)


def ask(event: dict[str, Any], context: Any) -> None:
    """Leave the token, and what the answer is to be, where the test finds them."""
    NOTES.put_item(Item={"key": event["name"], "token": event["token"], "answer": note(event, context)})


def die(_event: dict[str, Any], _context: Any) -> None:
    os._exit(3)
