"""Mailboxes of an execution, for its deletion."""

from collections.abc import Iterable

from unum_runtime.features.signals.mailbox import (
    MOST_SLOTS,
    Mailbox,
    listener_key,
    mailboxes_partition,
    signal_of,
    wait_key,
)
from unum_runtime.model.naming import Execution
from unum_runtime.model.states import Task
from unum_runtime.store.erasable import ErasableStore


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
