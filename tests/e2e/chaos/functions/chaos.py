"""User code that writes down each of its runs: a checker compares what the runs of one invocation were given.

Results carry stamps, random texts that no other run can produce, so that every value can be traced to the commit that
it comes from. Faults come from the emulator; the code itself fails only where its input asks for it, and now and then.
"""

import json
import os
import zlib
from typing import Any
from uuid import uuid4

import boto3
from botocore.exceptions import ClientError

NOTES = boto3.resource("dynamodb").Table(os.environ["NOTES_TABLE"])


class Flaky(Exception):
    """An error that passes: the next attempt succeeds."""


class Broken(Exception):
    """An error that stays until the execution is mended."""


class Risk(Exception):
    """An error that the workflow catches."""


def begin(event: Any, context: Any) -> Any:
    note(event, context)
    fail_now_and_then(context)
    return {**event, "stamp": stamp()}


def item(event: Any, context: Any) -> Any:
    note(event, context)
    if event.get("risk"):
        raise Risk("as asked")
    if event["n"] in event.get("broken", ()) and not is_mended(event["run"]):
        raise Broken(f"item {event['n']} of {event['run']}")
    if "run" in event:
        fail_now_and_then(context)
    return {"n": event["n"] ** 2, "stamp": stamp()}


def join(event: Any, context: Any) -> Any:
    note(event, context)
    parts = event.get("parts") or [event["part"]]
    return {"kind": event["kind"], "total": sum(part["n"] for part in parts), "stamp": stamp()}


def ask(event: Any, context: Any) -> str:
    note(event, context)
    NOTES.put_item(Item={"key": f"token {event['run']}", "token": event["token"]})
    return "what is returned is not the answer"


def note(event: Any, context: Any) -> None:
    """Write down what an invocation was given; a task token is another one in each attempt."""
    given = {name: value for name, value in event.items() if name != "token"}
    own = context.unum
    NOTES.put_item(
        Item={"key": f"run {uuid4().hex}", "ran": own.invocation, "given": json.dumps(given, sort_keys=True)}
    )


def stamp() -> str:
    return f"stamp:{uuid4().hex}"


def is_mended(run: str) -> bool:
    return "Item" in NOTES.get_item(Key={"key": f"mended {run}"}, ConsistentRead=True)


def fail_now_and_then(context: Any) -> None:
    """Fail the first attempt of one invocation in ten."""
    invocation = context.unum.invocation
    if zlib.crc32(invocation.encode()) % 10 == 0 and is_first(f"flaky {invocation}"):
        raise Flaky(invocation)


def is_first(key: str) -> bool:
    try:
        NOTES.put_item(
            Item={"key": key},
            ConditionExpression="attribute_not_exists(#key)",
            ExpressionAttributeNames={"#key": "key"},
        )
    except ClientError as error:
        if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
            raise
        return False
    return True
