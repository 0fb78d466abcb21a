"""Parse the records of deliveries, which `unum_runtime.model.delivery_record` packs.

Only readers of executions need this, so it is no part of a function's layer.
"""

import binascii

from unum_runtime.cold_start.records import NamedTuple
from unum_runtime.json_text import parse_json
from unum_runtime.model.delivery_record import DEFAULTS, ID_LENGTH, PLAIN, FailedTry
from unum_runtime.model.states import Json

_MOST_MS = 10**13
"""Longest time in a record, 300 years, so that every time has a date."""


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


def parse(text: str, at_ms: int) -> DeliveryRecord | None:
    """Parse the record in `text`, of a commit at `at_ms`; None if missing or malformed."""
    try:
        found: list[Json] = [*parse_json(text)[: len(DEFAULTS)]]
        found += DEFAULTS[len(found) :]
        request, stream, lasted, queued, init, since, tries, given_up = found
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


def _long_request(short: str) -> str:
    if not short or short[0] == PLAIN:
        return short[1:]
    digits = _hex(short)
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _long_stream(short: str) -> str:
    if not short or short[0] == PLAIN:
        return short[1:]
    sandbox, rest = _hex(short[:ID_LENGTH]), short[ID_LENGTH:]
    return f"20{rest[:2]}/{rest[2:4]}/{rest[4:6]}/[{rest[6:]}]{sandbox}"


def _hex(short: str) -> str:
    return binascii.a2b_base64(f"{short}==").hex()
