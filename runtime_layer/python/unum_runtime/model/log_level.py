"""Which lines the runtime writes to a function's log."""

from enum import StrEnum


class LogLevel(StrEnum):
    """How much is logged; each line is JSON, with ``"source": "unum"``."""

    INFO = "info"
    """Every commit, and every start and end of an execution."""

    WARN = "warn"
    """Only what is otherwise than it should be: retries, refused events, leases that failed; and what counts."""


ROUTINE = frozenset({"started", "committed", "adopted", "finished", "swept"})
"""Messages of what always happens."""
