"""How the time of a step divides: queue, cold start, earlier tries, user code, waiting."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from unum_client.deliveries import Delivery
from unum_runtime.model.checkpoint import Checkpoint


class Part(StrEnum):
    """What passes during a stretch of time."""

    QUEUE = "queue"
    COLD = "cold start"
    TRIES = "earlier tries"
    """Failed attempts; the pauses after them, too, if the commit does not tell of them."""

    CODE = "user code"
    WAITING = "waiting"
    BRANCHES = "branches"


@dataclass(frozen=True, slots=True)
class Stretch:
    """Stretch of time, in milliseconds since 1970."""

    part: Part
    from_ms: int
    to_ms: int


@dataclass(frozen=True, slots=True)
class Span:
    """Times of a step, without phases.

    Attributes:
        since_ms: time of the commit before it.
        due_ms: time until which its event had to wait; None for no such time.
        waits: True for a Task that waits after its user code, and for a Wait.
    """

    since_ms: int
    due_ms: int | None
    waits: bool


def stretches(checkpoint: Checkpoint, span: Span) -> Iterator[Stretch]:
    """Yield what passed before the commit `checkpoint`, in order and without gaps."""
    delivery = Delivery.of(checkpoint)
    marks = _guessed(checkpoint, span) if delivery is None else _recorded_parts(delivery, span)
    at_ms, end_ms = span.since_ms, max(checkpoint.committed_ms, span.since_ms)
    for part, until_ms in marks:
        # Sandboxes have their own clocks, and each stretch begins where the one before it ends.
        to_ms = min(max(until_ms, at_ms), end_ms)
        # A bar of user code shows where a step was, however short it is.
        if to_ms > at_ms or (part is Part.CODE and not span.waits):
            yield Stretch(part, at_ms, to_ms)
        at_ms = to_ms


def _guessed(checkpoint: Checkpoint, span: Span) -> Iterator[tuple[Part, int]]:
    """Yield parts with their ends, from the commit's time and the duration of user code alone."""
    end_ms = checkpoint.committed_ms
    if span.waits:
        yield Part.WAITING, end_ms
        return
    yield Part.WAITING, span.due_ms or 0
    yield Part.TRIES if checkpoint.attempt else Part.QUEUE, end_ms - checkpoint.duration_ms
    yield Part.CODE, end_ms


def _recorded_parts(delivery: Delivery, span: Span) -> Iterator[tuple[Part, int]]:
    """Yield parts with their ends, by what the commit tells of its delivery."""
    yield Part.WAITING, span.due_ms or 0
    for number, tried in enumerate(delivery.failed):
        yield Part.WAITING if number else Part.QUEUE, _ms(tried.began_at)
        yield Part.TRIES, _ms(tried.failed_at)
    if delivery.failed:
        yield Part.WAITING, _ms(delivery.sent_at)
    if delivery.waiting_since is not None:
        yield Part.QUEUE, _ms(delivery.waiting_since)
        yield Part.WAITING, _ms(delivery.ended_at)
        return
    yield Part.QUEUE, _ms(delivery.began_at) - (delivery.init_ms or 0)
    yield Part.COLD, _ms(delivery.began_at)
    yield Part.WAITING if span.waits else Part.QUEUE, _ms(delivery.code_began_at)
    yield Part.CODE, _ms(delivery.ended_at)


def _ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)
