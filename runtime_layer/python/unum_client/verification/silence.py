"""Find stalled executions: event pending, no commit within a day.

Lambda keeps an event for 6 hours, and sweeps send lost ones again each hour. So either both have failed, or somebody
has erased the commits that had been there.
"""

from collections.abc import Iterator
from contextlib import suppress

from unum_runtime.errors import UnumError
from unum_runtime.protocol.history.overdue import is_overdue
from unum_runtime.protocol.history.pending import Complete, Missing, Opened, part_of, pending_after, pending_join
from unum_runtime.protocol.history.timeline import Timeline
from unum_runtime.protocol.runtime import Runtime

SILENT_MS = 86_400_000


def is_silent(rt: Runtime, timeline: Timeline) -> bool:
    """Return True if all pending commits were due a day ago."""
    last = timeline.top_level[-1]
    if last.ending is not None or timeline.start.fork is not None:
        return False
    with suppress(UnumError, LookupError, TypeError, ValueError):
        pending = [*_pending(rt, pending_after(rt, last))]
        return bool(pending) and all(is_overdue(rt, each, SILENT_MS) for each in pending)
    return False


def _pending(rt: Runtime, found: Missing | Opened | None) -> Iterator[Missing]:
    if isinstance(found, Missing):
        yield found
    if not isinstance(found, Opened):
        return
    is_open, latest_ms = False, 0
    for shard in range(found.scope.shards):
        part = part_of(rt, found, shard)
        latest_ms = max(latest_ms, part.latest_ms)
        for each in part.missing:
            is_open = True
            yield each
        if part.is_decided:
            return
        for inner in part.inside.values():
            is_open = True
            yield from _pending(rt, inner)
    if not is_open:
        yield pending_join(rt, found, Complete(found.scope), latest_ms)
