"""Signals by key: waits of all executions listen for them, and they are kept for waits that begin later.

A wait with a key enters itself among the *listeners* of its signal and key, and then reads the signals that are kept
for them. A sender keeps its signal, and then goes through the listeners. Each writes first and reads then, so at least
one of them sees the other. Both put the signal into the mailbox of the execution, as one that was sent to it by name.
There its id tells a repetition, so it counts once in each execution, whoever is first.

A kept signal is for every wait that begins until its time is over, also if the sender finds the wait later. Senders
take out listeners that wait no more; the others expire.
"""

from contextlib import suppress

from unum_runtime.cold_start.records import NamedTuple, replace
from unum_runtime.errors import RouteGone, SignalRefused
from unum_runtime.features.signals.mailbox import Mailbox, kept_key, kept_partition, listener_key
from unum_runtime.features.signals.signal_slots import Signal, event_of, slots, store_signal, wait_to_continue
from unum_runtime.model.checkpoint import Item
from unum_runtime.protocol.runtime import Runtime
from unum_runtime.protocol.waiting.callback import SLOT, nudge

HEALED_S = 3_600
"""Time for which the item of a kept signal outlives its time: a sweep finds waits that its sender has not reached."""


class Kept(NamedTuple):
    """A signal to all executions.

    Attributes:
        signal: the signal.
        at_ms: time at which it was kept, in milliseconds since 1970.
        until_ms: the last time at which a wait may begin that it is for.
    """

    signal: Signal
    at_ms: int
    until_ms: int

    def to_item(self) -> Item:
        """Return the stored form; its key has signal and key."""
        return {"value": self.signal.value, "id": self.signal.id, "at": self.at_ms, "until": self.until_ms}


def kept_of(signal: str, key: str, item: Item) -> Kept:
    """Return the signal that is stored as `item`."""
    own = Signal(signal, str(item["value"]), str(item["id"]), key)
    return Kept(own, int(item["at"]), int(item["until"]))


def keep(rt: Runtime, signal: Signal, keep_s: int) -> tuple[Kept, bool]:
    """Keep `signal` for `keep_s` seconds; return what is kept under its id, and False for a repetition."""
    now_ms = rt.clock.now_ms()
    own = Kept(signal, now_ms, now_ms + keep_s * 1000)
    expires_at_s = own.until_ms // 1000 + HEALED_S
    key = kept_key(rt.workflow.name, signal.name, signal.key, signal.id)
    winner = rt.store.create(key, own.to_item(), expires_at_s=expires_at_s)
    return (own, True) if winner is None else (kept_of(signal.name, signal.key, winner), False)


def listen(rt: Runtime, mailbox: Mailbox, slot: str) -> None:
    """Enter the wait in `slot`, a digest, among the listeners, and put the signals for it into its mailbox."""
    execution = mailbox.execution
    item: Item = {"execution": execution.name, "started": execution.started_ms, "at": rt.clock.now_ms()}
    key = listener_key(rt.workflow.name, mailbox, slot)
    # Before the signals are read: a sender who keeps one after that read finds this entry.
    entry = rt.store.create(key, item, expires_at_s=rt.expires_at_s()) or item
    with suppress(SignalRefused):  # the mailbox is full, hence the slot of this wait, too
        for kept in _kept_for(rt, mailbox, entry):
            _put(rt, mailbox, kept.signal, own=slot)


def is_unheard(rt: Runtime, mailbox: Mailbox, slot: str) -> bool:
    """Return True if the wait in `slot`, a digest, would hear something if it listened again."""
    key = listener_key(rt.workflow.name, mailbox, slot)
    entry = rt.store.read([key]).get(key)
    if entry is None:  # its delivery died before
        return True
    kept = _kept_for(rt, mailbox, entry)
    return bool(kept) and not {each.signal.id for each in kept} <= _heard(rt, mailbox)


def _heard(rt: Runtime, mailbox: Mailbox) -> set[str]:
    """Return the ids of all signals in `mailbox`."""
    heard = set()
    for slot in slots(rt, mailbox):
        if slot.result is None:  # each signal takes the first slot without a result
            break
        if "request" in slot.result:  # others are of waits that ended without a signal
            heard.add(str(slot.result["request"]))
    return heard


def _kept_for(rt: Runtime, mailbox: Mailbox, entry: Item) -> list[Kept]:
    """Return the signals that are kept for a listener, the oldest first."""
    signal, key = mailbox.signal, mailbox.key
    items = rt.store.query(kept_partition(rt.workflow.name, signal, key))
    kept = [kept_of(signal, key, item) for item in items.values()]
    own = [each for each in kept if int(entry["at"]) <= each.until_ms]
    return sorted(own, key=lambda each: each.at_ms)


def _put(rt: Runtime, mailbox: Mailbox, signal: Signal, *, own: str) -> None:
    """Put `signal` into `mailbox`; continue its wait, unless that is the one in the slot `own`, which reads it now."""
    found, is_new = store_signal(rt, mailbox, signal)
    wait = None if found.digest == own else wait_to_continue(rt, found, is_new=is_new)
    if wait is not None:
        event, address = event_of(wait)
        with suppress(RouteGone):  # of another deployment: a sweep finds a wait that has met its signal
            nudge(rt, replace(event, job={SLOT: found.digest}), address)
