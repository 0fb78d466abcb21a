"""Derive name and input of an execution from the event that starts it, equal on every delivery.

Services may deliver one event several times, each time with another Lambda request id. Sources of the shapes: AWS
Lambda Developer Guide, "Using Lambda with ..." of each service; Amazon EventBridge User Guide, "Events".
"""

from collections.abc import Callable, Mapping

from unum_runtime.cold_start.digest import sha256
from unum_runtime.model.envelope import is_start_event
from unum_runtime.model.naming import is_name
from unum_runtime.model.states import Json

_EVENTBRIDGE_FIELDS = frozenset({"version", "id", "detail-type", "source", "account", "time", "region", "detail"})


def started_by(event: Json) -> tuple[str | None, Json]:
    """Return name and input of the execution that `event` starts.

    Returns:
        Name and input in an event of `unum_runtime.model.envelope.start_event`, with a digest in place of an invalid
        name and None for an empty one. For any other event, its `event_name`, and the whole event as input.
    """
    if is_start_event(event):
        return _given_name(event["start"]), event["input"]
    return event_name(event), event


def event_name(event: Json) -> str | None:
    """Return a name for the execution that `event` starts, equal on every delivery of the event.

    Returns:
        At most 80 characters from ``a-z 0-9 -``; None if the event has no identity of its own.
    """
    if not isinstance(event, dict):
        return None
    if event.keys() >= _EVENTBRIDGE_FIELDS:
        return _name("eventbridge", [event["source"], event["id"]])
    records = event.get("Records")
    if event.keys() != {"Records"} or not isinstance(records, list) or not records:
        return None
    # A batch starts one execution, named after all its records. A record in another batch starts another execution.
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
