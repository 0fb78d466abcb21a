"""Slots of mailboxes: contents, and the way a signal takes a slot.

See `unum_runtime.features.signals.signal_wait` for the meeting of waits and signals.
"""

from collections.abc import Iterable, Iterator

from unum_runtime.cold_start.records import NamedTuple
from unum_runtime.errors import SignalRefused
from unum_runtime.features.signals.mailbox import (
    MOST_SLOTS,
    Mailbox,
    listener_key,
    mailbox_key,
    mailboxes_partition,
    result_key,
    signal_of,
    wait_key,
)
from unum_runtime.json_text import parse_json
from unum_runtime.model.checkpoint import Item
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.naming import Execution, checkpoint_key, join_keys
from unum_runtime.model.states import Task
from unum_runtime.protocol.runtime import Runtime
from unum_runtime.protocol.waiting.callback import By
from unum_runtime.store.erasable import ErasableStore

WAITER, ATTEMPT = "waiter", "attempt"
"""Attributes of a wait: digest of its invocation, and number of earlier retries."""

_FIRST_BLOCK, _LAST_BLOCK = 1, 32
"""Slots that one read takes: one at first, because most mailboxes have one, then twice as many each time."""


class Signal(NamedTuple):
    """A signal.

    Attributes:
        name: name of the signal.
        value: JSON text of its value.
        id: its identity: a repetition has the same one.
        key: key; empty without one.
    """

    name: str
    value: str
    id: str
    key: str = ""


class Slot(NamedTuple):
    """Snapshot of one mailbox slot.

    Attributes:
        number: its place in the mailbox, from 0.
        digest: its digest.
        wait: item of its wait; None without one.
        result: item of its result; None without one.
    """

    number: int
    digest: str
    wait: Item | None
    result: Item | None

    def is_of(self, waiter: str, attempt: int | None = None) -> bool:
        """Return True if the invocation `waiter` waits in this slot; with `attempt`, only if in this attempt."""
        wait = self.wait or {}
        return wait.get(WAITER) == waiter and attempt in (None, wait.get(ATTEMPT))


def slots(rt: Runtime, mailbox: Mailbox, first: int = 0) -> Iterator[Slot]:
    """Yield the slots of `mailbox` by number, starting with `first`; each has the items of one read."""
    workflow, size = rt.workflow.name, _FIRST_BLOCK
    while first < MOST_SLOTS:
        numbers = range(first, min(first + size, MOST_SLOTS))
        digests = [mailbox.slot(number) for number in numbers]
        items = rt.store.read([key(workflow, digest) for digest in digests for key in (wait_key, result_key)])
        for number, digest in zip(numbers, digests, strict=True):
            found = items.get(wait_key(workflow, digest)), items.get(result_key(workflow, digest))
            yield Slot(number, digest, *found)
        first, size = numbers.stop, min(2 * size, _LAST_BLOCK)


def store_signal(rt: Runtime, mailbox: Mailbox, signal: Signal) -> tuple[Slot, bool]:
    """Store `signal` as the result of the first slot that has none; return the slot, and False for a repetition."""
    item: Item = {"value": signal.value, "by": By.RESPONDER.value, "request": signal.id}
    for slot in slots(rt, mailbox):
        # Every slot that a repetition passes was taken before it, hence the slot of the signal itself, too.
        winner = slot.result or _close_or_take(rt, slot, item)
        if winner is None:
            return slot, True
        if winner.get("request") == signal.id:
            return slot, False
    raise SignalRefused(f"signal {mailbox.signal!r}: {MOST_SLOTS} signals or waits are kept; use keys to part them")


def _close_or_take(rt: Runtime, slot: Slot, item: Item) -> Item | None:
    """Store `item` as the result of `slot`, or close a slot in which nobody waits any more; return what counts.

    Returns:
        None if the slot has `item` as its result now.
    """
    is_closed = slot.wait is not None and is_over(rt, slot.wait)
    own: Item = {"by": By.NOBODY.value} if is_closed else item
    winner = rt.store.create(result_key(rt.workflow.name, slot.digest), own, expires_at_s=rt.expires_at_s())
    return own if is_closed and winner is None else winner


def is_over(rt: Runtime, wait: Item) -> bool:
    """Return True if the waiting invocation has an outcome, a scope around it is settled, or it was stopped."""
    name = event_of(wait)[0].name
    return bool(rt.store.read([checkpoint_key(rt.workflow.name, name), *join_keys(rt.workflow.name, name)]))


def wait_to_continue(rt: Runtime, slot: Slot, *, is_new: bool) -> Item | None:
    """Return the wait in `slot`, whose result is the signal now; None without one."""
    # Read again only if there was no wait: it may have come between that read and the result.
    key = wait_key(rt.workflow.name, slot.digest)
    wait = slot.wait or rt.store.read([key]).get(key)
    # A repetition continues the Task again, unless it has an outcome: the request before it may have died before.
    return None if wait is None or (not is_new and is_over(rt, wait)) else wait


def event_of(wait: Item) -> tuple[Envelope, str]:
    """Return the event of a stored wait, and the address of its function."""
    return Envelope.from_json(parse_json(str(wait["value"]))), str(wait["address"])


def enter_mailbox(rt: Runtime, mailbox: Mailbox) -> None:
    """List `mailbox` in its execution, so that a deletion finds it; those without a key follow from the states."""
    if mailbox.key:
        item: Item = {"signal": mailbox.signal, "key": mailbox.key}
        rt.store.create(mailbox_key(rt.workflow.name, mailbox), item, expires_at_s=rt.expires_at_s())


def mailboxes_of(
    items: ErasableStore, workflow: str, execution: Execution, tasks: Iterable[Task]
) -> tuple[str, list[Mailbox]]:
    """Return all possible mailboxes of `execution`, and the partition that lists keyed mailboxes.

    Args:
        items: store of items.
        workflow: name of the workflow.
        execution: the execution.
        tasks: Tasks of its definitions.
    """
    listed = mailboxes_partition(workflow, execution)
    keyed = [Mailbox(execution, str(item["signal"]), str(item["key"])) for item in items.query(listed).values()]
    names = {name for task in tasks if (name := signal_of(task.resource)) is not None}
    return listed, [*keyed, *(Mailbox(execution, name, "") for name in sorted(names))]


def take_out(items: ErasableStore, workflow: str, mailbox: Mailbox, slot: str, *, now_ms: int) -> None:
    """Take the wait in `slot`, a digest, of `mailbox` out of the listeners: its entry expires now."""
    key = listener_key(workflow, mailbox, slot)
    if mailbox.key and items.read([key]):
        items.replace(key, {}, expires_at_s=now_ms // 1000)


def used_slots(items: ErasableStore, workflow: str, mailbox: Mailbox) -> list[str]:
    """Return the digests of the slots of `mailbox` that have a wait or a result."""
    found: list[str] = []
    for number in range(MOST_SLOTS):
        slot = mailbox.slot(number)
        if not items.query(wait_key(workflow, slot).partition, newest=1):
            break
        found.append(slot)
    return found
