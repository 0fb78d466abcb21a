"""Deliveries for users: what a commit says of the delivery that made it, and of the attempts before.

Only readers of executions need this, so it is no part of a function's layer.
"""

import binascii
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Self

from unum_runtime.cold_start.records import NamedTuple
from unum_runtime.json_text import parse_json
from unum_runtime.model.checkpoint import Checkpoint
from unum_runtime.model.delivery_record import DEFAULTS, ID_LENGTH, PLAIN, FailedTry
from unum_runtime.model.states import Json


def to_datetime(ms: int) -> datetime:
    """Convert milliseconds since 1970 to a time in UTC."""
    return datetime.fromtimestamp(ms / 1000, UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedAttempt:
    """Attempt of a Task that failed and was repeated by a retrier.

    Attributes:
        error: error name; None for a failure without one.
        began_at: begin of the attempt; equal to `failed_at` if Lambda reported the failure, which does not say.
        failed_at: time of the failure.
    """

    error: str | None
    began_at: datetime
    failed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """Delivery that committed a step; times in UTC.

    A step's time divides at `sent_at` (it could begin), `began_at` (a sandbox had it: before that, the event was in a
    queue, and a cold sandbox began), `code_began_at` (user code ran until the commit), and `ended_at` (the commit).

    Attributes:
        sent_at: time at which the event was sent or due: the commit before it, or the end of a retrier's interval.
        began_at: begin of the delivery; for a step that the delivery before it went on to, the begin of the step.
        code_began_at: begin of user code, at the latest `ended_at`.
        ended_at: time of the commit.
        request_id: Lambda's request id, which is in every log line; empty if unknown.
        log_stream: log stream of the sandbox in the function's log group; empty if unknown.
        init_ms: duration of the sandbox's init phase, which is a part of the time before `began_at`; None for a warm
            sandbox.
        waiting_since: begin of the attempt, if an earlier delivery began it and this one found its answer or the end of
            its job; else None.
        failed: failed attempts before this one, oldest first, at most the latest 20.
        given_up: condition under which Lambda gave the event up, and its number of deliveries, as in
            ``RetriesExhausted 3``; empty if user code or the runtime committed.
    """

    sent_at: datetime
    began_at: datetime
    code_began_at: datetime
    ended_at: datetime
    request_id: str
    log_stream: str
    init_ms: int | None
    waiting_since: datetime | None
    failed: tuple[FailedAttempt, ...]
    given_up: str

    @property
    def is_cold(self) -> bool:
        """True for the first delivery of its sandbox."""
        return self.init_ms is not None

    @property
    def queued_ms(self) -> int:
        """Time between `sent_at` and `began_at` in milliseconds, the init phase of a cold sandbox included."""
        return max(0, _ms(self.began_at - self.sent_at))

    @property
    def waited_ms(self) -> int:
        """Time that an attempt waited for its answer or job, in milliseconds; 0 for an attempt of one delivery."""
        return 0 if self.waiting_since is None else max(0, _ms(self.ended_at - self.waiting_since))

    @classmethod
    def of(cls, checkpoint: Checkpoint) -> Self | None:
        """Return the delivery that committed `checkpoint`; None for commits of joins."""
        found, at_ms = parse(checkpoint.delivery, checkpoint.committed_ms), checkpoint.committed_ms
        if found is None:
            return None
        return cls(
            sent_at=to_datetime(found.sent_ms),
            began_at=to_datetime(found.began_ms),
            code_began_at=to_datetime(max(found.began_ms, at_ms - checkpoint.duration_ms)),
            ended_at=to_datetime(at_ms),
            request_id=found.request_id,
            log_stream=found.log_stream,
            init_ms=found.init_ms,
            waiting_since=None if found.since_ms is None else to_datetime(found.since_ms),
            failed=tuple(
                FailedAttempt(error=error, began_at=to_datetime(began_ms), failed_at=to_datetime(failed_ms))
                for error, began_ms, failed_ms in found.tries
            ),
            given_up=found.given_up,
        )


def _ms(lasted: timedelta) -> int:
    return round(lasted.total_seconds() * 1000)


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
        began_ms = at_ms - _whole_ms(lasted)
        return DeliveryRecord(
            request_id=_long_request(_text(request)),
            log_stream=_long_stream(_text(stream)),
            sent_ms=began_ms - _whole_ms(queued),
            began_ms=began_ms,
            init_ms=None if init is None else _whole_ms(init),
            since_ms=None if since is None else at_ms - _whole_ms(since),
            tries=tuple(_parsed_try(at_ms, *each) for each in tries),
            given_up=_text(given_up),
        )
    # A node of the workflow may write anything, and readers must still show the execution.
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def _parsed_try(at_ms: int, error: Json, ago: Json, took: Json) -> FailedTry:
    failed_ms = at_ms - _whole_ms(ago)
    return FailedTry(None if error is None else _text(error), failed_ms - _whole_ms(took), failed_ms)


def _whole_ms(found: Json) -> int:
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
