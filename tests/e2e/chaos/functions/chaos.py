"""User code that dies by kill -9, and makes its sandbox die between commit and invoke, or send every event twice.

What happens to an invocation is drawn from its name, so that about a third of all are hit by something; nothing
happens twice to the same invocation, but where the input says how often its first one dies: three deaths use up
Lambda's retries, and the handler of failures begins the execution.
"""

import hashlib
import json
import os
import signal
import uuid
from collections.abc import Sequence
from typing import Any

import boto3
from botocore.exceptions import ClientError

from unum_runtime.aws.invoker import LambdaInvoker

DEATHS = boto3.resource("dynamodb").Table(os.environ["DEATHS_TABLE"])
SEND = LambdaInvoker.invoke


def source(event: Any, context: Any) -> Any:
    for attempt in range(event["deaths"]):
        die(f"of all attempts, {attempt}", context.unum.invocation, share=1)
    die("in user code", context.unum.invocation, share=0.1)
    return [{"n": n, "token": str(uuid.uuid4())} for n in range(event["items"])]


def item(event: Any, context: Any) -> Any:
    die("in user code", context.unum.invocation, share=0.02)
    return {"n": event["n"], "from": event["token"], "token": str(uuid.uuid4())}


def join(event: Any, context: Any) -> Any:
    die("in user code", context.unum.invocation, share=0.1)
    return {"items": event, "token": str(uuid.uuid4())}


def send(invoker: LambdaInvoker, events: Sequence[tuple[str, bytes]]) -> None:
    """What the runtime calls after a commit: may die before it, in the midst of it, or send everything twice."""
    envelope = json.loads(events[0][1])
    where = f"{envelope['execution']}{envelope['frames']}{envelope['step']}"
    die("between commit and invoke", where, share=0.1)
    if len(events) > 1 and draw("in the midst of a fan-out", where) < 0.2:
        SEND(invoker, events[: len(events) // 2])
        die("in the midst of a fan-out", where, share=1)
    SEND(invoker, [*events, *events] if draw("twice", where) < 0.2 else events)


LambdaInvoker.invoke = send  # type: ignore[assignment]  # replaces the method


def draw(what: str, where: str) -> float:
    return int.from_bytes(hashlib.sha256(f"{what} {where}".encode()).digest()[:4]) / 2**32


def die(what: str, where: str, *, share: float) -> None:
    if draw(what, where) < share and first(f"{what} {where}"):
        os.kill(os.getpid(), signal.SIGKILL)


def first(death: str) -> bool:
    """Whether `death` has not happened before."""
    try:
        DEATHS.put_item(
            Item={"key": death},
            ConditionExpression="attribute_not_exists(#key)",
            ExpressionAttributeNames={"#key": "key"},
        )
    except ClientError as error:
        if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
            raise
        return False
    return True
