"""Delivery records: what a commit says of the delivery that made it, as one short attribute of its item.

Nothing reads a record while an execution runs: no plan depends on it, and items without it stay valid. The text is a
JSON array without its trailing defaults, with times as milliseconds before the commit, so a usual record has 70 bytes:
request id, log stream, duration of the delivery, queueing time, duration of the sandbox's init phase, time since the
attempt began, earlier attempts, and Lambda's reason for giving the event up.
"""

import binascii
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from unum_runtime.cold_start.records import NamedTuple
from unum_runtime.json_text import to_text

MOST_TRIES = 20
"""Most earlier attempts that events and records keep, the latest ones: most retriers allow three."""

MOST_ERROR = 64
"""Most characters of an earlier attempt's error."""

PLAIN = "="
"""Prefix of an identifier that has not Lambda's format, and is stored as it is."""

_REQUEST_ID = re.compile(r"([0-9a-f]{8})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{12})")
_LOG_STREAM = re.compile(r"20(\d\d)/(\d\d)/(\d\d)/\[([^\[\]]+)\]([0-9a-f]{32})")

DEFAULTS: tuple[Any, ...] = ("", "", 0, 0, None, None, [], "")
"""Values of a record's fields that are left out at its end."""

ID_LENGTH = 22
"""Length of 16 bytes in Base64 without padding."""


class Arrival(NamedTuple):
    """Facts about a delivery that only its platform knows.

    Attributes:
        began_ms: begin of the delivery, in milliseconds since 1970.
        request_id: Lambda's request id.
        log_stream: log stream of the sandbox; empty if unknown.
        init_ms: duration of the sandbox's init phase if this is its first delivery; None for a warm sandbox.
        given_up: for an event that Lambda gave up, its condition and number of deliveries; else empty.
    """

    began_ms: int
    request_id: str = ""
    log_stream: str = ""
    init_ms: int | None = None
    given_up: str = ""


class FailedTry(NamedTuple):
    """Failed attempt of a Task that a retrier repeated, with times in milliseconds since 1970.

    Attributes:
        error: error name; None for a Fail state without a name.
        began_ms: begin of the attempt; equal to `failed_ms` if the platform reported the failure.
        failed_ms: time of the failure.
    """

    error: str | None
    began_ms: int
    failed_ms: int


def pack(
    arrival: Arrival, *, sent_ms: int, began_ms: int, at_ms: int, since_ms: int | None, tries: Iterable[FailedTry]
) -> str:
    """Return the text of a record.

    Args:
        arrival: the delivery.
        sent_ms: time at which the event was sent or due, in milliseconds since 1970, as all times here.
        began_ms: begin of the delivery, or of its current step.
        at_ms: time of the commit.
        since_ms: begin of the attempt, if that was in an earlier delivery.
        tries: earlier failed attempts.
    """
    fields = [
        _short_request(arrival.request_id),
        _short_stream(arrival.log_stream),
        at_ms - began_ms,
        began_ms - sent_ms,
        arrival.init_ms,
        None if since_ms is None else at_ms - since_ms,
        [[error, at_ms - failed_ms, failed_ms - began_ms] for error, began_ms, failed_ms in tries],
        arrival.given_up,
    ]
    while fields and fields[-1] == DEFAULTS[len(fields) - 1]:
        fields.pop()
    return to_text(fields)


def with_try(tries: tuple[FailedTry, ...], error: str | None, began_ms: int, failed_ms: int) -> tuple[FailedTry, ...]:
    """Return `tries` with one more failed attempt; the oldest ones beyond `MOST_TRIES` are dropped."""
    return (*tries, FailedTry(error and error[:MOST_ERROR], began_ms, failed_ms))[-MOST_TRIES:]


def _short_request(request_id: str) -> str:
    found = _REQUEST_ID.fullmatch(request_id)
    return _base64("".join(found.groups())) if found else request_id and PLAIN + request_id


@lru_cache(maxsize=8)
def _short_stream(stream: str) -> str:
    """Return a log stream's name in a third of its length; a sandbox has one."""
    found = _LOG_STREAM.fullmatch(stream)
    if found is None:
        return stream and PLAIN + stream
    *date, version, sandbox = found.groups()
    return _base64(sandbox) + "".join(date) + version


def _base64(digits: str) -> str:
    return binascii.b2a_base64(bytes.fromhex(digits), newline=False)[:ID_LENGTH].decode()
