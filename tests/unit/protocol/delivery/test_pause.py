"""Number of a sandbox's reads of the pause record."""

from typing import Any

import pytest

from tests.unit.protocol.counting_store import CountingStore
from tests.unit.protocol.platform import MovableClock, Platform, chain
from unum_runtime.errors import StartsPaused
from unum_runtime.protocol.delivery.pause import MAX_AGE_MS, Pause, PauseReader, newest_record, refuse_start
from unum_simulator.memory_store import MemoryStore


def test_sandbox_reads_every_ten_seconds_and_after_its_clock_was_set_back() -> None:
    clock = MovableClock()
    store: Any = CountingStore(MemoryStore())
    reader = PauseReader(store, "w", clock)
    for passed_ms, queries in ((0, 1), (0, 1), (MAX_AGE_MS - 1, 1), (1, 2), (-1, 3), (1, 3)):
        clock.ms += passed_ms
        assert reader.read() is None
        assert store.calls == {"query": queries}


def test_the_record_before_the_first_has_the_number_zero() -> None:
    assert newest_record(MemoryStore(), "w") == (0, {})


def test_start_with_an_invalid_name_is_refused_without_a_read() -> None:
    platform = Platform.of(chain("A"), A=lambda event: event)
    platform.store = store = CountingStore(platform.memory)
    with pytest.raises(StartsPaused):
        refuse_start(platform.runtime(), "x" * 3_000, Pause(0, "why"))
    assert store.calls == {}
