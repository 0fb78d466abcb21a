"""Deliveries for users: what a commit says of the delivery that made it, and of the attempts before."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Self

from unum_client.reading.parsed_records import parse
from unum_runtime.model.checkpoint import Checkpoint


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
