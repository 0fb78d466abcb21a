"""Derive name and input of an execution from the event that starts it, equal on every delivery.

Services may deliver one event several times, each time with another Lambda request id. Names are for people, too: they
begin with what the event is about, and end with what makes it unique. Sources of the shapes: AWS Lambda Developer
Guide, "Using Lambda with ..." of each service; Amazon EventBridge User Guide, "Events".
"""

import re
from collections.abc import Callable, Mapping

from unum_runtime.cold_start.digest import sha256
from unum_runtime.json_text import to_ascii
from unum_runtime.model.envelope import is_start_event
from unum_runtime.model.naming import MAX_NAME, is_name
from unum_runtime.model.states import Json

EVENTBRIDGE_FIELDS = frozenset({"version", "id", "detail-type", "source", "account", "time", "region", "detail"})

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""Identifier that a service drew for an event: no two events have the same, and nobody else can choose it."""

_DIGITS = 20
"""Hexadecimal digits of a digest in a name. No digest is a UUID's end, so names of both forms differ."""

_ARN = re.compile(r"\Aarn:\S*[:/]")
_OTHERS = re.compile(r"[^A-Za-z0-9_-]+")


def started_by(event: Json) -> tuple[str | None, Json]:
    """Return name and input of the execution that `event` starts.

    Returns:
        Name and input in an event of `unum_runtime.model.envelope.start_event`: an invalid name in valid characters,
        with a digest, and None for an empty one. For any other event, its `event_name`, and the whole event as input.
    """
    if is_start_event(event):
        return _given_name(event["start"]), event["input"]
    return event_name(event), event


def event_name(event: Json) -> str | None:
    """Return a name for the execution that `event` starts, equal on every delivery of the event.

    Returns:
        At most 80 characters from ``A-Z a-z 0-9 - _``; None if the event has no identity of its own.
    """
    if not isinstance(event, dict):
        return None
    if event.keys() >= EVENTBRIDGE_FIELDS:
        subject, identity = _subject(event), ["eventbridge", event["source"], event["id"]]
        return _unique(subject, event["id"]) or _digested(subject, identity)
    records = event.get("Records")
    if event.keys() != {"Records"} or not isinstance(records, list) or not records:
        return None
    # A batch starts one execution, named after all its records. A record in another batch starts another execution.
    identities = [record_identity(record) for record in records]
    if None in identities:
        return None
    source, *_, what, last = first = identities[0]
    if len(records) > 1:
        return _digested(f"{_readable(what)}-and-{len(records) - 1}-more", identities)
    # Of an object, the sequencer of the change: it orders the executions of one key, but other keys may have it.
    return _digested(f"{what}-{last}", first) if source == "aws:s3" else _unique(what, last) or _digested(what, first)


def record_identity(record: Json) -> Json:
    """Return the identity of an event's record, source kind first; None without an identity."""
    if not isinstance(record, dict):
        return None
    source = record.get("eventSource") or record.get("EventSource")
    identify = _SOURCES.get(source) if isinstance(source, str) else None
    try:
        return None if identify is None else [source, *identify(record)]
    except (KeyError, TypeError):
        return None


def is_same_event(one: Json, other: Json) -> bool:
    """Return True if two events are deliveries of one event, or of one message that a dead-letter queue gave back.

    Deliveries of a message differ in what tells of the delivery, such as its receipt and the number of receives.
    """
    name = event_name(one)
    if name is None:
        return False
    return name == event_name(other) or (_message(one) is not None and _message(one) == _message(other))


def _message(event: Mapping[str, Json]) -> Json:
    """Return the content of a queue's single message in `event`; None for other events."""
    match event:
        case {"Records": [{"eventSource": "aws:sqs", "body": body, **rest}]}:
            return [body, rest.get("messageAttributes", {})]
    return None


_SOURCES: dict[str, Callable[[Mapping[str, Json]], list[Json]]] = {
    "aws:sqs": lambda record: [record["eventSourceARN"], record["messageId"]],
    "aws:sns": lambda record: [record["Sns"]["TopicArn"], record["Sns"]["MessageId"]],
    "aws:s3": lambda record: [
        record["eventName"],
        record["s3"]["bucket"]["name"],
        record["s3"]["object"]["key"],
        record["s3"]["object"]["sequencer"],
    ],
}


def _subject(event: Mapping[str, Json]) -> Json:
    """Return what an event of EventBridge is about: the object's key, the rule and time of a schedule, or the type."""
    match event:
        case {"source": "aws.s3", "detail": {"object": {"key": str(key)}}}:
            return key
        case {"detail-type": "Scheduled Event", "resources": [str(rule), *_], "time": str(time)}:
            return f"{rule} {time}"
    return event["detail-type"]


def _given_name(given: Json) -> str | None:
    if given is None or given == "":
        return None
    text = str(given)
    return text if is_name(text) else _digested(text, ["named", text])


def _unique(subject: Json, identifier: Json) -> str | None:
    """Return a name of `subject` and the service's UUID; None if `identifier` is none."""
    if not isinstance(identifier, str) or not _UUID.fullmatch(identifier):
        return None
    return f"{_readable(subject, MAX_NAME - len(identifier) - 1)}-{identifier}"


def _digested(subject: Json, identity: Json) -> str:
    """Return a name of `subject` and a digest of `identity`, for whatever others choose."""
    return f"{_readable(subject, MAX_NAME - _DIGITS - 1)}_{sha256(to_ascii(identity).encode())[:_DIGITS]}"


def _readable(text: Json, room: int = MAX_NAME) -> str:
    """Return the end of `text` in `room` characters that names may have; of an ARN, what follows the path."""
    words = _OTHERS.sub("-", _ARN.sub("", str(text)))
    return words[-room:].strip("-_") or "event"
