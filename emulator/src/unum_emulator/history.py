"""History: everything that an emulator's tables, buckets, Lambda and queues saw, as JSON lines in the order of effect.

A checker judges a run by this file alone, whatever the functions say about themselves. Each line has a field ``what``:

| what | other fields |
|---|---|
| write | by, table, operation, key, accepted, before, after: an attempt to write an item |
| object | by, bucket, name, operation, accepted, before, after: an attempt to write or delete an object |
| bulk | by, operation, tables: a request that writes several items, which a checker cannot follow |
| sent | by, request, function, event: an asynchronous event that Lambda accepted |
| begun | by, request, delivery, function, version, is_async, event: an attempt to run a function |
| ended | delivery, result, body: its end; `killed` for a process that died |
| given up | request, function, condition, attempts: Lambda's last word about an event |
| message | by, queue, message, body: a message that a queue accepted |
| fault | delivery, fault: a fault that the emulator makes by itself |

``before`` and ``after`` are the stored item, or the JSON in the object, right before and after the attempt. ``by`` is
the delivery that made the request, found by the trace header that its process sends with each request; it is empty for
everybody else.
"""

import contextvars
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import unquote

_sender: contextvars.ContextVar[str] = contextvars.ContextVar("sender", default="")


class History:
    """Writer of one file; without a path, nothing is written."""

    def __init__(self, path: Path | None) -> None:
        self._lock = threading.Lock()
        self._file: TextIO | None = None
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("a", encoding="utf-8", buffering=1)

    @property
    def is_kept(self) -> bool:
        """True if lines are written."""
        return self._file is not None

    def add(self, what: str, **fields: Any) -> None:
        """Write a line; its place in the file is the order of effect, so callers add a write right after it."""
        if self._file is None:
            return
        line = json.dumps({"what": what, **fields}, separators=(",", ":"), default=str)
        with self._lock:
            self._file.write(f"{line}\n")


def sender() -> str:
    """Return the delivery that made the current request; empty for any other client."""
    return _sender.get()


@contextmanager
def as_sender(headers: Mapping[str, str]) -> Iterator[str]:
    """Make the delivery in a request's headers the sender in this context, and return it."""
    found = delivery_of(headers.get("x-amzn-trace-id"))
    token = _sender.set(found)
    try:
        yield found
    finally:
        _sender.reset(token)


def delivery_of(header: str | None) -> str:
    """Return the delivery in a trace header: its segment, which each attempt has for its own."""
    fields = dict(part.split("=", 1) for part in unquote(header or "").split(";") if "=" in part)
    return fields.get("Parent", "")
