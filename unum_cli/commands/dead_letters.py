"""Errors in the dead letters of a workflow; letters are read and left in the queue."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from unum_cli.aws.session import Session
from unum_runtime.errors import UnumError
from unum_runtime.json_text import parse_json
from unum_runtime.model.envelope import Envelope, is_envelope
from unum_runtime.model.states import Json
from unum_runtime.wire.call_errors import call_errors

_UNREADABLE = (ValueError, TypeError, KeyError, RecursionError, UnumError)
"""Errors while parsing letters from other senders, or from versions with other events."""

MOST_BATCHES = 20
"""Maximum number of receives of 10 letters; each letter stays hidden from other readers for `HIDDEN_S`."""

HIDDEN_S = 10


def last_errors(session: Session, queue_url: str | None) -> Mapping[str, str]:
    """Return the last error by invocation name; empty for an unknown or forbidden queue.

    Args:
        session: source of clients.
        queue_url: URL of the dead-letter queue.
    """
    if queue_url is None:
        return {}
    try:
        return dict(_read_letters(session.create("sqs"), queue_url))
    except call_errors():  # reading letters is optional: a caller may lack the permission
        return {}


def _read_letters(queues: Any, queue_url: str) -> Iterator[tuple[str, str]]:
    for _ in range(MOST_BATCHES):
        # A short visibility timeout: letters stay for other readers, and none is deleted here.
        found = queues.receive_message(
            QueueUrl=queue_url, MaxNumberOfMessages=10, VisibilityTimeout=HIDDEN_S, MessageAttributeNames=["All"]
        )
        if not found.get("Messages"):
            return
        for message in found["Messages"]:
            told = {name: each.get("StringValue", "") for name, each in message.get("MessageAttributes", {}).items()}
            # One foreign letter must not hide the errors in all others.
            with suppress(*_UNREADABLE):
                yield from _read(parse_json(message["Body"]), told)


def _read(letter: Json, attributes: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Return the invocation name and the error in a letter.

    A letter holds the failure handler's record around a function's record, or a delayed event. Delayed events come from
    the timer queue, or, with attributes, from EventBridge Scheduler, possibly inside its SendMessage request.
    Source: EventBridge Scheduler User Guide, "Configuring a schedule's dead-letter queue".
    """
    match letter:
        case {"requestPayload": {"requestPayload": event}, **rest} if is_envelope(event):
            yield str(Envelope.from_json(event).name), _error(rest.get("responsePayload"))
        # EventBridge Scheduler wraps the request that it could not deliver.
        case {"MessageBody": str(body)}:
            yield from _read(parse_json(body), attributes)
        case {"address": str(address), "event": event} if is_envelope(event):
            yield str(Envelope.from_json(event).name), _not_sent(address, attributes)


def _not_sent(address: str, attributes: Mapping[str, str]) -> str:
    if "ERROR_CODE" in attributes:
        return f"{attributes['ERROR_CODE']}: {attributes.get('ERROR_MESSAGE', '')}"
    return f"delayed event, not delivered to {address}; see the log of the forwarder function"


def _error(report: Json) -> str:
    match report:
        case {"errorType": name, "errorMessage": text}:
            return f"{name}: {text}"
    return "no answer"
