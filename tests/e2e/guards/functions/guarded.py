"""Functions that count how often they run; each has another option."""

import os
import signal
import time
from typing import Any
from uuid import uuid4

import boto3

RUNS = boto3.resource("dynamodb").Table(os.environ["RUNS_TABLE"])


def slow(event: dict[str, Any], context: Any) -> dict[str, Any]:
    _count(f"Slow {context.unum.execution}")
    time.sleep(event["seconds"])
    return {**event, "token": uuid4().hex}


def onward(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    return {**event, "passed": True}


def square(event: dict[str, int], _context: Any) -> int:
    _count(f"Square {event['n']}")
    return event["n"] ** 2


def share(event: dict[str, Any], _context: Any) -> str:
    runs = _count(f"Share {event['key']}")
    time.sleep(event["seconds"])
    if runs <= event["deaths"]:
        os.kill(os.getpid(), signal.SIGKILL)
    return uuid4().hex


def _count(key: str) -> int:
    updated = RUNS.update_item(
        Key={"key": key},
        UpdateExpression="ADD runs :one",
        ExpressionAttributeValues={":one": 1},
        ReturnValues="UPDATED_NEW",
    )
    return int(str(updated["Attributes"]["runs"]))
