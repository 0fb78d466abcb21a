"""What an event says of the execution that it starts: its name, equal on every delivery, and its input.

Services may deliver one event several times, each time under another Lambda request id. Shapes: AWS Lambda Developer
Guide, "Using Lambda with ..." of each service; Amazon EventBridge User Guide, "Events".
"""

from collections.abc import Callable, Mapping

from unum_runtime.cold_start.digest import sha256
from unum_runtime.model.envelope import is_start_event
from unum_runtime.model.ir import Json
from unum_runtime.model.naming import is_name

_EVENTBRIDGE_FIELDS = frozenset({"version", "id", "detail-type", "source", "account", "time", "region", "detail"})


def started_by(event: Json) -> tuple[str | None, Json]:
    """Name and input of the execution that `event` starts.

    Returns:
        Where the event says both (`unum_runtime.model.envelope.start_event`), those; a name that is none is replaced by
        a digest, and an empty one counts as none. Else the whole event is the input, and the name that of `event_name`.
    """
    if is_start_event(event):
        return _given_name(event["start"]), event["input"]
    return event_name(event), event


def event_name(event: Json) -> str | None:
    """A name for the execution that `event` starts: equal for every delivery of the same event.

    Returns:
        At most 80 characters from ``a-z 0-9 -``; None where the event has no identity of its own.
    """
    if not isinstance(event, dict):
        return None
    if event.keys() >= _EVENTBRIDGE_FIELDS:
        return _name("eventbridge", [event["source"], event["id"]])
    records = event.get("Records")
    if event.keys() != {"Records"} or not isinstance(records, list) or not records:
        return None
    identities = [_record_identity(record) for record in records]
    return None if None in identities else _name("records", identities)


def _record_identity(record: Json) -> Json:
    if not isinstance(record, dict):
        return None
    source = record.get("eventSource") or record.get("EventSource")
    identify = _SOURCES.get(source) if isinstance(source, str) else None
    try:
        return None if identify is None else [source, *identify(record)]
    except (KeyError, TypeError):
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


def _given_name(given: Json) -> str | None:
    if given is None or given == "":
        return None
    text = str(given)
    return text if is_name(text) else _name("named", [text])


def _name(kind: str, identity: list[Json]) -> str:
    return f"{kind}-{sha256(repr(identity).encode())[:40]}"
