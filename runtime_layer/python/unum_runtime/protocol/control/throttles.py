"""Notes about events waiting for concurrency: first send time, latest return time.

An event in one of Lambda's queues cannot be seen. The failure handler writes a note when it sends an event again that
Lambda gave up before its function could run. `unum why` shows the note. A sweep does not send the event a second time
while the note is valid, so that a long lack of concurrency does not multiply events. Nothing else reads notes: a lost
or stale one changes no result.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from unum_runtime.cold_start.records import NamedTuple
from unum_runtime.model.naming import Key, Name, checkpoint_key, lease_key
from unum_runtime.protocol.runtime import Runtime

if TYPE_CHECKING:
    from unum_runtime.model.checkpoint import Item

_MARK = ".throttled."
"""Part of sort keys of notes, which no lease in the same partition has."""


LONGEST_MS = 7 * 3_600_000
"""Longest validity of a note: an event is sent within 15 minutes, and Lambda keeps it for six hours."""


class Throttle(NamedTuple):
    """A wait for concurrency.

    Attributes:
        since_ms: time at which the event was first sent, in milliseconds since 1970.
        until_ms: time by which the event has begun or returned, in milliseconds since 1970.
    """

    since_ms: int
    until_ms: int


def note_throttle(rt: Runtime, name: Name, throttle: Throttle) -> None:
    """Store a note about the waiting event of invocation `name`.

    Raises:
        StoreError: the store did not answer.
    """
    # In the partition of leases, which deletions of executions empty.
    place = lease_key(checkpoint_key(rt.workflow.name, name))
    key = Key(place.partition, f"{place.sort}{_MARK}{throttle.until_ms:014d}")
    item: Item = {"since": throttle.since_ms, "until": throttle.until_ms}
    rt.store.create(key, item, expires_at_s=rt.expires_at_s())


def throttles_of(rt: Runtime, names: Iterable[Name]) -> dict[Name, Throttle]:
    """Return the latest valid notes about invocations `names`.

    Functions of the workflow may write items of it. None must hide a stalled execution from sweeps by a note for ever.

    Raises:
        StoreError: the store did not answer.
    """
    places = {lease_key(checkpoint_key(rt.workflow.name, name)): name for name in names}
    found: dict[Name, Throttle] = {}
    for partition in {place.partition for place in places}:
        # In the order of sort keys, so the last note of an invocation counts.
        for key, item in rt.store.query(partition).items():
            sort, mark, _ = key.sort.partition(_MARK)
            name = places.get(Key(partition, sort)) if mark else None
            since_ms, until_ms = item.get("since"), item.get("until")
            if name is None or not isinstance(since_ms, int) or not isinstance(until_ms, int):
                continue
            if until_ms <= rt.clock.now_ms() + LONGEST_MS:
                found[name] = Throttle(since_ms, until_ms)
    return found
