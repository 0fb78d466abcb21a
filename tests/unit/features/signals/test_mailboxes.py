"""Mailboxes of an execution that is deleted: listeners go with their waits."""

from typing import Any

from tests.unit.protocol.platform import MovableClock
from unum_runtime.features.signals.mailbox import Mailbox, listener_key
from unum_runtime.features.signals.signal_slots import take_out
from unum_runtime.model.naming import Execution
from unum_simulator.memory_store import MemoryStore

EXECUTION = Execution("e", 1)


class Recording(MemoryStore):
    """Notes what is replaced."""

    def __init__(self) -> None:
        super().__init__(MovableClock(5_000_999))
        self.replaced: list[tuple[Any, ...]] = []

    def replace(self, key: Any, item: Any, *, expires_at_s: int) -> None:
        self.replaced.append((key, item, expires_at_s, type(expires_at_s)))


def test_entry_expires_at_once_and_nothing_is_written_without_one() -> None:
    for key in ("k", ""):
        items, box = Recording(), Mailbox(EXECUTION, "go", key)
        take_out(items, "w", box, "slot", now_ms=5_000_999)
        assert items.replaced == []
        items.create(listener_key("w", box, "slot"), {}, expires_at_s=10**9)
        take_out(items, "w", box, "slot", now_ms=5_000_999)
        assert items.replaced == ([(listener_key("w", box, "slot"), {}, 5_000, int)] if key else [])
