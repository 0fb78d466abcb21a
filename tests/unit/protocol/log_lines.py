"""The lines that the protocol logs: the fields of each message, and the form of each field."""

import re
from collections.abc import Mapping
from typing import Any

OUTCOME = "execution invocation state attempt duration_ms"

LINES: Mapping[str, tuple[str, str]] = {
    "abandoned": ("execution started_ms", ""),
    "adopted": (OUTCOME, "error ended took_ms"),
    "committed": (OUTCOME, "error ended took_ms"),
    "definition not stored": ("reason", ""),
    "deleted": ("execution is_final", ""),
    "deleted again": ("execution", "reason"),
    "finished": ("execution status", ""),
    "given up": ("address event error cause", ""),
    "goes on without a lease": ("reason", ""),
    "handed over": ("invocation reason", ""),
    "late": ("execution", "late_s"),
    "lease failed": ("lease error", ""),
    "malformed": ("", "execution reason partition sort place"),
    "memo failed": ("memo error", ""),
    "not announced": ("execution status reason", ""),
    "oldest running": ("execution age_ms", ""),
    "passed on": (OUTCOME, "error"),
    "paused": ("reason", ""),
    "put off": ("execution error reason", ""),
    "refused": ("reason", ""),
    "retried": ("invocation state error cause", ""),
    "silent": (
        "execution",
        "error reason nudged count invocation state index waits_for since_ms until_ms job throttled_ms",
    ),
    "started": ("execution", ""),
    "stopped": ("execution invocation", ""),
    "waits for a lease": ("reason waited_ms", ""),
    "waits for concurrency": ("invocation state since_ms until_ms", ""),
}
"""Fields that a message has, and fields that it may have."""

NUMBER = r"\d+"
TEXT = r"(?!None$)(?s:.+)"
ANY = r"(?s:.*)"
FORMS: Mapping[str, str] = {
    "address": r"\S+",
    "age_ms": NUMBER,
    "attempt": NUMBER,
    "cause": ANY,
    "count": NUMBER,
    "duration_ms": NUMBER,
    "ended": "SUCCEEDED|FAILED|TIMED_OUT|ABORTED",
    "error": ANY,
    "event": r"\S+",
    "index": r"\[.*\]",
    "invocation": r"[^:]+:[0-9a-f]+\S*#\d+",
    "job": ANY,
    "late_s": NUMBER,
    "lease": r"\S+ \S+",
    "nudged": "True|False",
    "since_ms": NUMBER,
    "started_ms": NUMBER,
    "state": r"(?!None$).*",
    "status": "RUNNING|SUCCEEDED|FAILED|TIMED_OUT|ABORTED",
    "throttled_ms": NUMBER,
    "took_ms": NUMBER,
    "until_ms": NUMBER,
    "waited_ms": NUMBER,
    "waits_for": "delivery|time|answer|job",
}
"""Patterns of values; other fields are texts."""


def check_line(message: str, fields: Mapping[str, Any]) -> None:
    """Fail if operators could not search or count the line by its message and fields."""
    needed, more = LINES[message]
    assert {*needed.split()} <= fields.keys() <= {*needed.split(), *more.split()}, (message, fields)
    for name, value in fields.items():
        assert re.fullmatch(FORMS.get(name, TEXT), str(value)), (message, name, value)
