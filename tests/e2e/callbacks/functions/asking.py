"""A function that asks somebody else: it leaves the token where the test finds it, and is gone."""

import os
from typing import Any

import boto3

ASKED = boto3.resource("dynamodb").Table(os.environ["ASKED_TABLE"])


def ask(event: dict[str, Any], _context: Any) -> str:
    ASKED.put_item(Item={"key": event["question"], "token": event["token"], "process": os.getpid()})
    return "what is returned is not the answer"
