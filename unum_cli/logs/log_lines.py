"""Lines of one invocation in a log stream, where Lambda writes the invocations of a sandbox one after the other.

Source of both formats: AWS Lambda Developer Guide, "Log and monitor Python Lambda functions" and "Configuring advanced
logging controls".
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from unum_client.deliveries import to_datetime
from unum_runtime.json_text import parse_foreign

_PLATFORM = re.compile(r"(?P<kind>START|END|REPORT) RequestId: (?P<request>\S+)")
"""Line of Lambda itself in the text format."""

_KINDS = {"platform.start": "START", "platform.runtimeDone": "END", "platform.report": "REPORT"}
"""Types of Lambda's own lines in the JSON format."""

_REQUEST_FIELDS = ("request_id", "requestId", "function_request_id", "AWSRequestId")
"""Fields with the request id: of the runtime, Lambda's JSON format, Powertools, and lines about crashes."""

_LEFT_OUT = ("source", "message", "request_id", "_aws")
"""Fields of the runtime's lines that say nothing about an execution."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Line of a log.

    Attributes:
        at: time at which it was written, in UTC.
        text: the line, without its line break.
        is_platform: True for a line of Lambda itself.
    """

    at: datetime
    text: str
    is_platform: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class InvocationLog:
    """Lines of one invocation.

    Attributes:
        lines: the lines, in the order of the stream.
        is_complete: True if Lambda has written the end of the invocation.
    """

    lines: tuple[Line, ...]
    is_complete: bool


def invocation_log(events: Iterator[Mapping[str, Any]], request_id: str) -> InvocationLog:
    """Return the lines of the invocation `request_id`; read no more `events` than they need.

    Args:
        events: events of one log stream, from the invocation's begin or from earlier on, as GetLogEvents returns them.
        request_id: Lambda's request id.
    """
    current, lines, is_complete = "", [], False
    for event in events:
        text = event["message"].rstrip("\n")
        kind, named = _read(text)
        if is_complete and kind != "REPORT":
            break  # the next invocation
        if kind == "START" or (not kind and named):
            current = named
        if (named or current) == request_id:
            lines.append(Line(at=to_datetime(event["timestamp"]), text=text, is_platform=bool(kind)))
            is_complete = is_complete or kind == "END"
        if kind == "REPORT" and is_complete:
            break
    return InvocationLog(lines=tuple(lines), is_complete=is_complete)


def fields_of(text: str) -> Mapping[str, Any]:
    """Return the fields of a line in JSON; none for any other line."""
    if not text.startswith("{"):
        return {}
    try:
        found = parse_foreign(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def request_of(fields: Mapping[str, Any]) -> str:
    """Return the request id in the fields of a line; empty without one."""
    found = next((fields[field] for field in _REQUEST_FIELDS if field in fields), "")
    return found if isinstance(found, str) else ""


def shown_text(text: str) -> str:
    """Return a line for people: of a line of the runtime, its message and fields."""
    fields = fields_of(text)
    if fields.get("source") != "unum":
        return text
    named = (f"{name}={value}" for name, value in fields.items() if name not in _LEFT_OUT)
    return " ".join(("unum:", str(fields.get("message", "")), *named))


def _read(text: str) -> tuple[str, str]:
    """Return the kind of a line of Lambda itself, and the request id that the line names; empty where there is none."""
    if matched := _PLATFORM.match(text):
        return matched["kind"], matched["request"]
    fields = fields_of(text)
    if (kind := _KINDS.get(str(fields.get("type")))) is not None:
        return kind, request_of(record if isinstance(record := fields.get("record"), dict) else {})
    return "", request_of(fields)
