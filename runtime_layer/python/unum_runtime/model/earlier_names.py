"""Names that releases before 0.2 gave to executions of events: kind of the event, and a digest.

An event that such a release has received may come once more after a deployment, and must find its execution. Only
events that may have come before have to look for it.
"""

from unum_runtime.cold_start.digest import sha256
from unum_runtime.model.envelope import is_start_event
from unum_runtime.model.identity import EVENTBRIDGE_FIELDS, record_identity
from unum_runtime.model.naming import is_name
from unum_runtime.model.states import Json

SECONDS = len("2026-01-01T00:00:00")
"""Characters of a time in whole seconds, which are written equally by all sources."""


def former_name(event: Json) -> str | None:
    """Return the former name of an execution started by `event`; None if unnamed or unchanged."""
    if is_start_event(event):
        text = str(event["start"])
        return None if event["start"] in (None, "") or is_name(text) else _name("named", [text])
    if not isinstance(event, dict):
        return None
    if event.keys() >= EVENTBRIDGE_FIELDS:
        return _name("eventbridge", [event["source"], event["id"]])
    records = event.get("Records")
    if event.keys() != {"Records"} or not isinstance(records, list) or not records:
        return None
    identities = [record_identity(record) for record in records]
    return None if None in identities else _name("records", identities)


def is_first(event: Json, since: str) -> bool:
    """Return True if `event` can hardly have come before: it is a message's first receipt, or newer than `since`.

    Args:
        event: an event, or one record.
        since: time in UTC as text, such as ``2026-01-01T00:00:00``.
    """
    match event:
        case {"Records": [*records]}:
            return all(is_first(record, since) for record in records)
        case {"attributes": {"ApproximateReceiveCount": count}}:
            return bool(count == "1")
        case {"eventTime": str(time)} | {"Sns": {"Timestamp": str(time)}} | {"time": str(time)}:
            return time[:SECONDS] > since[:SECONDS]
    return False


def _name(kind: str, identity: list[Json]) -> str:
    return f"{kind}-{sha256(repr(identity).encode())[:40]}"
