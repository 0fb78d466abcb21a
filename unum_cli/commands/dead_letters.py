"""What the dead letters of a workflow tell of invocations: looked at, and left where they are."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from unum_runtime.errors import UnumError
from unum_runtime.model.envelope import Envelope, is_envelope
from unum_runtime.model.ir import Json

if TYPE_CHECKING:
    from boto3 import Session

_UNREADABLE = (ValueError, TypeError, KeyError, RecursionError, UnumError)
"""What letters come to that others have put into the queue, or a version whose events are not read here."""

MOST_BATCHES = 20
"""How often up to 10 letters are looked at; each stays hidden for others for as long as `HIDDEN_S`."""

HIDDEN_S = 10


def last_errors(session: "Session", queue_url: str | None) -> Mapping[str, str]:
    """The last error of each invocation, by its name; nothing if the queue is not known or may not be read.

    Args:
        session: of boto3.
        queue_url: of the queue of dead letters.
    """
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - only these commands need them

    if queue_url is None:
        return {}
    try:
        return dict(_told(session.client("sqs"), queue_url))
    except (BotoCoreError, ClientError):  # to see them is a permission that the command can do without
        return {}


def _told(queues: Any, queue_url: str) -> Iterator[tuple[str, str]]:
    for _ in range(MOST_BATCHES):
        found = queues.receive_message(
            QueueUrl=queue_url, MaxNumberOfMessages=10, VisibilityTimeout=HIDDEN_S, MessageAttributeNames=["All"]
        )
        if not found.get("Messages"):
            return
        for message in found["Messages"]:
            told = {name: each.get("StringValue", "") for name, each in message.get("MessageAttributes", {}).items()}
            with suppress(*_UNREADABLE):
                yield from _read(json.loads(message["Body"]), told)


def _read(letter: Json, attributes: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The invocation and the error of a letter.

    It is a record of the failure handler's, around that of a function; or an event that had to wait, from the timer's
    queue or, with attributes, from EventBridge Scheduler, around which there may be its request to the queue.
    Source: EventBridge Scheduler User Guide, "Configuring a schedule's dead-letter queue".
    """
    match letter:
        case {"requestPayload": {"requestPayload": event}, **rest} if is_envelope(event):
            yield str(Envelope.from_json(event).name), _error(rest.get("responsePayload"))
        case {"MessageBody": str(body)}:
            yield from _read(json.loads(body), attributes)
        case {"address": str(address), "event": event} if is_envelope(event):
            yield str(Envelope.from_json(event).name), _not_sent(address, attributes)


def _not_sent(address: str, attributes: Mapping[str, str]) -> str:
    if "ERROR_CODE" in attributes:
        return f"{attributes['ERROR_CODE']}: {attributes.get('ERROR_MESSAGE', '')}"
    return f"it waited, and could not be handed on to {address}; the log of the timer's function says why"


def _error(report: Json) -> str:
    match report:
        case {"errorType": name, "errorMessage": text}:
            return f"{name}: {text}"
    return "no answer"
