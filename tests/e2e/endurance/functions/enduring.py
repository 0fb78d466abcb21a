"""Functions that note when they run, and one that ends only when it is let go."""

import os
import time
from typing import Any
from uuid import uuid4

import boto3

NOTES = boto3.resource("dynamodb").Table(os.environ["NOTES_TABLE"])

GATE = "gate"
"""Where it is noted that functions may end."""


def begin(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Counts its runs, where the input asks for it."""
    if event.get("counted"):
        _note(context.unum.execution, "runs")
    return {**event, "token": uuid4().hex}


def square(event: dict[str, Any], _context: Any) -> int:
    return int(event["n"]) ** 2


def hold(event: int, context: Any) -> int:
    """Note begin and end; end when the execution's gate opens."""
    item = f"{context.unum.execution} {event}"
    _note(item, "begun")
    while "Item" not in NOTES.get_item(Key={"key": f"{GATE} {context.unum.execution}"}, ConsistentRead=True):
        time.sleep(0.2)
    _note(item, "ended")
    return event


def round_(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    """The next round; after every tenth there is a rest of a second."""
    following = event["round"] + 1
    return {**event, "round": following, "rest_s": int(following % 10 == 0)}


def _note(key: str, what: str) -> None:
    NOTES.update_item(
        Key={"key": key},
        UpdateExpression="ADD #what :one",
        ExpressionAttributeNames={"#what": what},
        ExpressionAttributeValues={":one": 1},
    )
