"""Levels of the runtime's log lines."""

from enum import StrEnum


class LogLevel(StrEnum):
    """Log level; each line is JSON with ``"source": "unum"``."""

    INFO = "info"
    """All lines: commits, starts and ends of executions, waits for leases, and those of `WARN`."""

    WARN = "warn"
    """Exceptional lines only: retries, refused events, failed leases; and lines with metrics."""


ROUTINE = frozenset({"started", "committed", "adopted", "finished", "swept", "waits for a lease"})
"""Messages of normal operation."""
