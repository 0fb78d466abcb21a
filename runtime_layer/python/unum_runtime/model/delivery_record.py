"""Delivery records: what a commit says of the delivery that made it, as one short attribute of its item.

Nothing reads a record while an execution runs: no plan depends on it, and items without it stay valid. The text is a
JSON array without its trailing defaults, with times as milliseconds before the commit, so a usual record has 70 bytes:
request id, log stream, duration of the delivery, queueing time, duration of the sandbox's init phase, time since the
attempt began, earlier attempts, and Lambda's reason for giving the event up.
"""

import binascii
import json
import re
from collections.abc import Iterable
from functools import lru_cache

from unum_runtime.cold_start.records import NamedTuple
from unum_runtime.model.checkpoint import to_text
from unum_runtime.model.ir import Json

MOST_TRIES = 20
"""Most earlier attempts that events and records keep, the latest ones: most retriers allow three."""

MOST_ERROR = 64
"""Most characters of an earlier attempt's error."""

_PLAIN = "="
"""Prefix of an identifier that has not Lambda's format, and is stored as it is."""

_REQUEST_ID = re.compile(r"([0-9a-f]{8})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{12})")
_LOG_STREAM = re.compile(r"20(\d\d)/(\d\d)/(\d\d)/\[([^\[\]]+)\]([0-9a-f]{32})")
_DEFAULTS = ("", "", 0, 0, None, None, [], "")
_MOST_MS = 10**13
"""Longest time in a record, 300 years, so that every time has a date."""

_ID_LENGTH = 22
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


class DeliveryRecord(NamedTuple):
    """Parsed record, with times in milliseconds since 1970.

    Attributes:
        request_id: Lambda's request id; empty if unknown.
        log_stream: log stream of the sandbox; empty if unknown.
        sent_ms: time at which the event was sent or due, at the earliest the commit before it.
        began_ms: begin of the delivery that committed, or of this step in a delivery that ran several.
        init_ms: duration of the sandbox's init phase; None for a warm sandbox.
        since_ms: begin of the last attempt if that was in an earlier delivery, as for callbacks and jobs; else None.
        tries: earlier failed attempts, oldest first, at most `MOST_TRIES`.
        given_up: Lambda's condition and number of deliveries, as in ``RetriesExhausted 3``; else empty.
    """

    request_id: str
    log_stream: str
    sent_ms: int
    began_ms: int
    init_ms: int | None
    since_ms: int | None
    tries: tuple[FailedTry, ...]
    given_up: str


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
    while fields and fields[-1] == _DEFAULTS[len(fields) - 1]:
        fields.pop()
    return to_text(fields)


def parse(text: str, at_ms: int) -> DeliveryRecord | None:
    """Return the record in `text`, of a commit at `at_ms`; None without a record, or for a malformed one."""
    try:
        found = [*json.loads(text)[: len(_DEFAULTS)]]
        request, stream, lasted, queued, init, since, tries, given_up = *found, *_DEFAULTS[len(found) :]
        began_ms = at_ms - _ms(lasted)
        return DeliveryRecord(
            request_id=_long_request(_text(request)),
            log_stream=_long_stream(_text(stream)),
            sent_ms=began_ms - _ms(queued),
            began_ms=began_ms,
            init_ms=None if init is None else _ms(init),
            since_ms=None if since is None else at_ms - _ms(since),
            tries=tuple(_parsed_try(at_ms, *each) for each in tries),
            given_up=_text(given_up),
        )
    # A node of the workflow may write anything, and readers must still show the execution.
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def _parsed_try(at_ms: int, error: Json, ago: Json, took: Json) -> FailedTry:
    failed_ms = at_ms - _ms(ago)
    return FailedTry(None if error is None else _text(error), failed_ms - _ms(took), failed_ms)


def _ms(found: Json) -> int:
    if type(found) is int and abs(found) <= _MOST_MS:
        return found
    raise ValueError(found)


def _text(found: Json) -> str:
    if isinstance(found, str):
        return found
    raise ValueError(found)


def with_try(tries: tuple[FailedTry, ...], error: str | None, began_ms: int, failed_ms: int) -> tuple[FailedTry, ...]:
    """Return `tries` with one more failed attempt; the oldest ones beyond `MOST_TRIES` are dropped."""
    return (*tries, FailedTry(error and error[:MOST_ERROR], began_ms, failed_ms))[-MOST_TRIES:]


def _short_request(request_id: str) -> str:
    found = _REQUEST_ID.fullmatch(request_id)
    return _base64("".join(found.groups())) if found else request_id and _PLAIN + request_id


def _long_request(short: str) -> str:
    if not short or short[0] == _PLAIN:
        return short[1:]
    digits = _hex(short)
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


@lru_cache(maxsize=8)
def _short_stream(stream: str) -> str:
    """Return a log stream's name in a third of its length; a sandbox has one."""
    found = _LOG_STREAM.fullmatch(stream)
    if found is None:
        return stream and _PLAIN + stream
    *date, version, sandbox = found.groups()
    return _base64(sandbox) + "".join(date) + version


def _long_stream(short: str) -> str:
    if not short or short[0] == _PLAIN:
        return short[1:]
    sandbox, rest = _hex(short[:_ID_LENGTH]), short[_ID_LENGTH:]
    return f"20{rest[:2]}/{rest[2:4]}/{rest[4:6]}/[{rest[6:]}]{sandbox}"


def _base64(digits: str) -> str:
    return binascii.b2a_base64(bytes.fromhex(digits), newline=False)[:_ID_LENGTH].decode()


def _hex(short: str) -> str:
    return binascii.a2b_base64(f"{short}==").hex()
