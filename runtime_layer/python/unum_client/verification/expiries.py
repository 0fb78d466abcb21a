"""Check expiry times of one execution's items."""

from collections.abc import Iterable, Iterator

from unum_client.verification.findings import Finding, Rule
from unum_client.verification.stored_history import Kept
from unum_runtime.model.checkpoint import Checkpoint

SLACK_S = 3_600
"""Allowed difference. It is that between the last event of an execution and the expiry of its items, so that nothing
may be taken for missing within it."""


def kept_s(start: Checkpoint, start_expires_at_s: int, retention_s: int) -> int:
    """Return the shortest lifetime of an execution's items, in seconds.

    No function but the one in which executions start can write start records, so that of an execution shows whether the
    retention was shorter at its start than it is now.
    """
    return min(retention_s, start_expires_at_s - start.committed_ms // 1000)


def check_expiries(
    stored: Iterable[Kept], start: Checkpoint, start_expires_at_s: int, retention_s: int, now_ms: int
) -> Iterator[Finding]:
    """Yield faults of items with lifetimes shorter or longer than the workflow's retention.

    Args:
        stored: commits, expired or not.
        start: the start record.
        start_expires_at_s: its expiry, in seconds since 1970.
        retention_s: retention of the workflow, in seconds.
        now_ms: current time, in milliseconds since 1970.
    """
    least_s = kept_s(start, start_expires_at_s, retention_s)
    most_s = max(retention_s, start_expires_at_s - start.committed_ms // 1000)
    for each in stored:
        step = each.checkpoint
        lasts_s = each.expires_at_s - step.committed_ms // 1000
        if lasts_s < least_s - SLACK_S:
            text = f"expires {_span(lasts_s)} its commit, expected at least {_span(least_s)}"
            yield Finding(Rule.EXPIRY, str(step.name), f"{text}: until it is deleted it counts as absent")
        elif each.expires_at_s > now_ms // 1000 + most_s + SLACK_S:
            late_s = each.expires_at_s - now_ms // 1000
            yield Finding(Rule.EXPIRY, str(step.name), f"is kept for {late_s} s more, expected at most {most_s}")


def _span(seconds: int) -> str:
    return f"{seconds} s after" if seconds >= 0 else f"{-seconds} s before"
