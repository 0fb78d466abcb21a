"""Functions that do one thing each that a test looks at."""

import asyncio
import os
from typing import Any

import boto3

RUNS = boto3.resource("dynamodb").Table(os.environ["RUNS_TABLE"])


class RejectedError(Exception):
    pass


def square(number: int, _context: Any) -> int:
    return number * number


async def total(numbers: list[int], _context: Any) -> dict[str, int]:
    await asyncio.sleep(0.01)
    return {"count": len(numbers), "sum": sum(numbers)}


def advance(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    return {**event, "round": event["round"] + 1}


def inflate(event: dict[str, Any], _context: Any) -> dict[str, str]:
    return {"text": "x" * event["size"]}


def handon(event: Any, _context: Any) -> Any:
    return event


def weigh(sheets: list[dict[str, str]], _context: Any) -> dict[str, int]:
    return {"sheets": len(sheets), "bytes": sum(len(sheet["text"]) for sheet in sheets)}


async def reject(event: dict[str, Any], _context: Any) -> None:
    raise RejectedError(f"cannot take {event['case']}")


def unserializable(_event: Any, _context: Any) -> dict[str, Any]:
    return {"fine": 1, "rows": [{"tags": {"a", "b"}}]}


def record(_event: Any, context: Any) -> dict[str, str]:
    """Leave a trace of every run of user code, by idempotency key."""
    key = context.unum.idempotency_key
    RUNS.update_item(Key={"key": key}, UpdateExpression="ADD runs :one", ExpressionAttributeValues={":one": 1})
    return {"key": key}


def trespass(event: Any, context: Any) -> dict[str, str]:
    """Send without permission."""
    return record(event, context)
