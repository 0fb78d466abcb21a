"""Signals by key: requests that reach every execution that waits for a signal with their key.

A request is as large as its list of listeners: it goes through them in pages, and what is left when time runs out is a
request of its own, which names the kept signal and the last listener that is done. Every part may be repeated. See
`unum_runtime.features.signals.listeners` for the meeting of waits and signals.
"""

from collections.abc import Mapping
from functools import partial
from typing import cast

from unum_runtime.cold_start.records import NamedTuple
from unum_runtime.errors import SignalRefused
from unum_runtime.features.signals.listeners import Kept, keep, kept_of
from unum_runtime.features.signals.mailbox import Mailbox, kept_key, listeners_partition, result_key, wait_key
from unum_runtime.features.signals.signal import check_fields, continue_wait, parse, signal_names
from unum_runtime.features.signals.signal_slots import Signal, is_over, store_signal, wait_to_continue
from unum_runtime.model.checkpoint import Item
from unum_runtime.model.envelope import MARK, WIRE_VERSION
from unum_runtime.model.naming import Execution, Key
from unum_runtime.model.states import Json
from unum_runtime.protocol.control.control_aliases import SIGNAL
from unum_runtime.protocol.control.operator_requests import IS_DONE, ValidationException, check_version
from unum_runtime.protocol.control.walk import RESERVE_MS
from unum_runtime.protocol.runtime import Runtime
from unum_runtime.store.erasable import ErasableStore

KEEP_S = 86_400
"""Time for which a signal is kept by default, in seconds."""

LEAST_KEEP_S = 60
"""Shortest time for which a signal is kept: clocks of two functions differ by less."""

MOST_KEPT = 100
"""Signals that are kept for one name and key; each wait for it reads them all."""

PAGE = 64
"""Listeners that are reached at once, in parallel calls."""

REST = "after"
"""Field of a request for the rest: the last listener that is done."""

_FIRST = "~"
"""Sort key that is greater than those of all listeners, which are read in descending order."""

_FIELDS = frozenset((MARK, "control", "signal", "key", "value", "id"))
_REST_FIELDS = _FIELDS - {"value"} | {REST}


class Reached(NamedTuple):
    """What one request has done.

    Attributes:
        is_new: False if a signal with this id is kept already.
        reached: number of executions that have the signal by this request.
        rest: the request for the listeners that are left; None if none are.
    """

    is_new: bool
    reached: int
    rest: dict[str, Json] | None

    def to_json(self) -> dict[str, Json]:
        """Return the answer."""
        return {"is_new": self.is_new, "reached": self.reached, IS_DONE: self.rest is None}


def request(name: str, key: str, value: Json, *, id: str, keep_s: int | None = None) -> dict[str, Json]:  # noqa: A002
    """Return the event of a request."""
    event = {MARK: WIRE_VERSION, "control": SIGNAL, "signal": name, "key": key, "value": value, "id": id}
    return event if keep_s is None else {**event, "keep_s": keep_s}


def send(rt: Runtime, event: Mapping[str, Json]) -> Reached:
    """Send the signal in `event`, or the rest of it.

    Raises:
        ValidationException: malformed; the text names the field.
        SignalRefused: no Task waits for such a signal, or too many are kept.
        UnumError: the signal may be kept or not, and some executions may have it; repeat the request.
    """
    check_version(event)
    if REST in event:
        check_fields(event, _REST_FIELDS)
        kept, is_new, after = _kept(rt, parse(rt, {**event, "value": None})), False, str(event[REST])
    else:
        check_fields(event, _FIELDS, {"keep_s"})
        signal, after = parse(rt, event), _FIRST
        if not signal.key:
            raise ValidationException("expected an execution, or the key of the executions, got neither")
        _check_is_awaited(rt, signal)
        kept, is_new = keep(rt, signal, _checked_keep_s(rt, event.get("keep_s", min(KEEP_S, _longest_s(rt)))))
    if kept is None:  # its time is over
        return Reached(is_new=False, reached=0, rest=None)
    reached, last = _reach_all(rt, kept, after)
    if last is None:
        return Reached(is_new, reached, None)
    rest = {MARK: WIRE_VERSION, "control": SIGNAL, "signal": kept.signal.name, "key": kept.signal.key}
    return Reached(is_new, reached, {**rest, "id": kept.signal.id, REST: last})


def _kept(rt: Runtime, signal: Signal) -> Kept | None:
    """Return what is kept under the id of `signal`."""
    key = kept_key(rt.workflow.name, signal.name, signal.key, signal.id)
    item = rt.store.read([key]).get(key)
    return None if item is None else kept_of(signal.name, signal.key, item)


def _check_is_awaited(rt: Runtime, signal: Signal) -> None:
    """Raise SignalRefused if no wait for `signal` may follow, or too many of its kind are kept."""
    names, items = signal_names(rt.workflow), _items(rt)
    listeners = listeners_partition(rt.workflow.name, signal.name, signal.key)
    # Executions of earlier deployments may wait for what no Task waits for any more.
    if signal.name not in names and not items.page(listeners, before=_FIRST, limit=1):
        waits = ", ".join(sorted(names)) or "none"
        raise SignalRefused(
            f"signal: no Task of workflow {rt.workflow.name!r} waits for {signal.name!r}; signals of it: {waits}"
        )
    own = kept_key(rt.workflow.name, signal.name, signal.key, signal.id)
    kept = items.query(own.partition)
    if len(kept) >= MOST_KEPT and own not in kept:
        raise SignalRefused(f"signal {signal.name!r}: {MOST_KEPT} signals with this key are kept; keep them shorter")


def _reach_all(rt: Runtime, kept: Kept, after: str) -> tuple[int, str | None]:
    """Put the signal into the mailboxes of the listeners behind `after`.

    Returns:
        Number of executions that have it by this, and the last listener that is done; None if none are left.
    """
    items, signal, reached = _items(rt), kept.signal, 0
    partition = listeners_partition(rt.workflow.name, signal.name, signal.key)
    while page := items.page(partition, before=after, limit=PAGE):
        reached += sum(rt.concurrently(partial(_reach, rt, kept), page.items()))
        after = min(key.sort for key in page)
        if len(page) < PAGE:
            break
        if rt.remaining_ms() < RESERVE_MS:
            return reached, after
    return reached, None


def _reach(rt: Runtime, kept: Kept, listener: tuple[Key, Item]) -> bool:
    """Put the signal into the mailbox of a waiting listener; return True if new."""
    (key, entry), workflow = listener, rt.workflow.name
    if int(entry["at"]) > kept.until_ms:
        return False
    pair = wait_key(workflow, key.sort), result_key(workflow, key.sort)
    wait, result = map(rt.store.read(pair).get, pair)
    is_taken = result is not None and result.get("request") != kept.signal.id
    # Its slot never opens again, so nobody will miss the entry.
    if wait is None or is_taken or (result is None and is_over(rt, wait)):
        _items(rt).replace(key, {}, expires_at_s=rt.clock.now_ms() // 1000)
        return False
    mailbox = Mailbox(Execution(str(entry["execution"]), int(entry["started"])), kept.signal.name, kept.signal.key)
    try:
        found, is_new = store_signal(rt, mailbox, kept.signal)
    except SignalRefused:  # the slot has been taken meanwhile, and the mailbox is full
        return False
    if (waiting := wait_to_continue(rt, found, is_new=is_new)) is not None:
        continue_wait(rt, waiting, found.digest)
    return is_new


def _longest_s(rt: Runtime) -> int:
    return rt.result_retention_s or rt.retention_s


def _checked_keep_s(rt: Runtime, value: Json) -> int:
    """Return `value`.

    Raises:
        ValidationException: not a whole number of seconds from `LEAST_KEEP_S` to the retention of results.
    """
    if type(value) is not int or not LEAST_KEEP_S <= value <= _longest_s(rt):
        raise ValidationException(
            f"keep_s: expected {LEAST_KEEP_S} to {_longest_s(rt)} seconds, the retention, got {value!r}"
        )
    return value


def _items(rt: Runtime) -> ErasableStore:
    """Return the store of items, in which references stay references."""
    return cast("ErasableStore", rt.store if rt.large is None else rt.large.store)
