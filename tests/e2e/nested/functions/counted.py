"""User code that notes each of its runs."""

import os
from typing import Any

import boto3

RUNS = boto3.resource("dynamodb").Table(os.environ["RUNS_TABLE"])


def double(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    RUNS.update_item(Key={"key": event["key"]}, UpdateExpression="ADD runs :one", ExpressionAttributeValues={":one": 1})
    if event["n"] < 0:
        raise ValueError(f"{event['n']} is negative")
    return {**event, "n": 2 * event["n"]}
