"""Waiters: events that found a lease held, kept by the timer until they look again.

A waiter costs neither a sandbox nor an error: its delivery schedules the same event again and succeeds. Each arrival
looks for the result first, then for the lease. So a waiter continues soon after the result is stored. It works itself
as soon as the lease is free without a result, because the owner failed, or died and no longer renews it.

Nothing registers waiters, and no owner wakes them: an owner whom nobody waits for makes no call more, and no wake-up
can be lost. The pause grows with the time waited, so short work is noticed soon, and long work costs few looks.
"""

from zlib import crc32

from unum_runtime.errors import LeaseHeldError
from unum_runtime.json_text import to_ascii
from unum_runtime.model.envelope import START, Envelope, Writer, start_request, with_alias
from unum_runtime.model.naming import run_alias
from unum_runtime.protocol.delivery.perform import send_later
from unum_runtime.protocol.planning.evaluation import deadline
from unum_runtime.protocol.runtime import Runtime

SHARE = 4
"""Time waited, divided by the longest next pause: a waiter is late by at most this part of its wait, or `LEAST_MS`."""

LEAST_MS = 5_000
MOST_MS = 60_000
"""Least and greatest longest pause. Less would cost more than it saves: a look is a message, a delivery and a write."""


def wait_for_result(rt: Runtime, envelope: Envelope, held: LeaseHeldError) -> None:
    """Schedule `envelope`, whose delivery ended with `held`, to look again for the result or the lease.

    Raises:
        InvokeError: the timer did not accept the event; deliver it again.
    """
    since_ms = rt.clock.now_ms() if envelope.waiting_since_ms is None else envelope.waiting_since_ms
    due_ms = next_look_ms(rt, since_ms)
    deadline_ms = deadline(rt.workflow, envelope.name.execution)
    # The look at the deadline commits the execution's timeout, unless the result is there.
    if deadline_ms is not None and deadline_ms > rt.clock.now_ms():
        due_ms = min(due_ms, deadline_ms)
    changed = {"waiting_since_ms": since_ms, "sent_s": rt.sent_s(due_ms), "due_ms": due_ms}
    send_later(rt, Envelope(**{**vars(envelope), **changed}), due_ms)
    _log(rt, held, since_ms)


def wait_for_start(rt: Runtime, execution_name: str, writer: Writer, held: LeaseHeldError) -> None:
    """Schedule the start request of `writer`, whose delivery ended with `held`, in a function that has a timer.

    Raises:
        InvokeError: the timer did not accept the request; deliver it again.
    """
    request = to_ascii(start_request(execution_name, writer)).encode()
    address = with_alias(rt.routes[START], run_alias(rt.workflow.name))
    rt.timer.schedule([(address, request, next_look_ms(rt, writer.sent_ms))])
    _log(rt, held, writer.sent_ms)


def next_look_ms(rt: Runtime, since_ms: int) -> int:
    """Return the time of this delivery's next look, in milliseconds since 1970, after waiting since `since_ms`."""
    now_ms = rt.clock.now_ms()
    longest_ms = min(max((now_ms - since_ms) / SHARE, LEAST_MS), MOST_MS)
    # Waiters of one result often arrive together. Each delivery's name spreads them over half of the pause, so that
    # their looks do not exceed the throughput of one item.
    part = crc32(rt.delivery.encode()) / 2**32
    return now_ms + round(longest_ms * (1 + part) / 2)


def _log(rt: Runtime, held: LeaseHeldError, since_ms: int) -> None:
    rt.log("waits for a lease", reason=str(held), waited_ms=max(0, rt.clock.now_ms() - since_ms))
