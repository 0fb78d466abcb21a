"""Functions that fail, wait and answer as a case of the workflow wants it; runs are counted in a table."""

import os
import time
from typing import Any

import boto3

RUNS = boto3.resource("dynamodb").Table(os.environ["RUNS_TABLE"])


class FlakyError(Exception):
    """May go away."""


class RejectedError(Exception):
    """Will not go away."""


def echo(event: Any, _context: Any) -> Any:
    return event


def flaky(event: dict[str, Any], context: Any) -> list[float]:
    """Fails as often as `event` says; then tells when it was tried."""
    tries = _note_try(f"{context.unum.execution} {context.unum.state}")
    if len(tries) <= event["failures"]:
        raise FlakyError(f"try {len(tries)}")
    return tries


def reject(event: dict[str, Any], _context: Any) -> None:
    raise RejectedError(f"not {event['name']}")


def sleep(event: dict[str, Any], _context: Any) -> None:
    time.sleep(event["seconds"])


def _note_try(key: str) -> list[float]:
    expression = "SET tries = list_append(if_not_exists(tries, :none), :now)"
    values = {":none": [], ":now": [str(time.time())]}
    updated = RUNS.update_item(
        Key={"key": key}, UpdateExpression=expression, ExpressionAttributeValues=values, ReturnValues="UPDATED_NEW"
    )
    return [float(each) for each in updated["Attributes"]["tries"]]
