"""Handlers that stop at a gate as long as it is closed, and write down the states that they came by."""

import os
import time
from typing import Any

import boto3

NOTES = boto3.resource("dynamodb").Table(os.environ["NOTES_TABLE"])
ITEMS = 3


class Once(Exception):
    """The first attempt."""


def note(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    value = event["in"]
    pass_gate(value["name"], event["state"])
    return {**value, "trail": [*value["trail"], event["state"]]}


def count(event: dict[str, Any], context: Any) -> dict[str, Any]:
    after = note(event, context)
    if after["name"].endswith("retry") and context.unum.attempt == 0:
        raise Once
    return after


def cut(event: dict[str, Any], context: Any) -> list[dict[str, Any]]:
    after = note(event, context)
    return [{**after, "trail": after["trail"] if index == 0 else []} for index in range(ITEMS)]


def work(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return note(event, context)


def ask(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Join the branches; leave the token, and what the answer is to be, where the test finds them."""
    values = event["in"] if isinstance(event["in"], list) else [event["in"]]
    joined = {**values[0], "trail": [state for each in values for state in each["trail"]]}
    after = note({**event, "in": joined}, context)
    if "token" in event:
        NOTES.put_item(Item={"key": f"question of {after['name']}", "token": event["token"], "trail": after["trail"]})
    return after


def end(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return note(event, context)


def pass_gate(name: str, state: str) -> None:
    """Return when the gate of the execution's held state is open; other states have none."""
    if name.split("-")[1] != state:
        return
    NOTES.put_item(Item={"key": f"held {name}"})
    while "Item" not in NOTES.get_item(Key={"key": "gates are open"}, ConsistentRead=True):
        time.sleep(0.5)
