"""Number of times that a sandbox stores its definition, and starts that depend on it."""

import json
import time
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from tests.unit.protocol.counting_store import CountingStore
from tests.unit.protocol.platform import Platform, chain
from unum_runtime.errors import DefinitionNotStored, StoreError
from unum_runtime.functions import configuration, definitions
from unum_runtime.functions.definitions import MAX_WRITE_WAIT_S, RETRY_MS, keep_definition
from unum_runtime.model.checkpoint import Item
from unum_runtime.model.naming import Key
from unum_runtime.protocol.requests.definition_records import read_definition


class Throttled(CountingStore):
    """A store that refuses every read, after a while."""

    pause_s = 0.0

    def read(self, keys: Iterable[Key]) -> dict[Key, Item]:
        self.calls["read"] += 1
        time.sleep(self.pause_s)
        raise StoreError(f"get_item state {[*keys]}: throttled")


@pytest.fixture(autouse=True)
def new_sandbox() -> Iterator[None]:
    forget()
    yield
    forget()


def forget() -> None:
    definitions._due_ms.clear()
    definitions._kept.clear()
    configuration.services.cache_clear()


@pytest.fixture
def platform() -> Platform:
    made = Platform.of(chain("A"), A=lambda event: event)
    made.store = CountingStore(made.memory)
    return made


def calls(platform: Platform) -> dict[str, int]:
    found: Any = platform.store.calls
    return dict(found)


def test_a_sandbox_writes_at_its_first_start_and_calls_nothing_after(platform: Platform) -> None:
    for _ in range(3):
        keep_definition(platform.runtime())
        platform.clock.ms += RETRY_MS
    assert calls(platform) == {"read": 1, "create": 1}
    assert read_definition(platform.memory, "w", platform.workflow.digest).digest == platform.workflow.digest


def test_another_sandbox_of_the_day_writes_nothing(platform: Platform) -> None:
    keep_definition(platform.runtime())
    definitions._due_ms.clear()
    keep_definition(platform.runtime())
    assert calls(platform) == {"read": 2, "create": 1}


def test_a_sandbox_writes_again_the_next_day(platform: Platform) -> None:
    keep_definition(platform.runtime())
    platform.clock.pass_seconds(86_400)
    keep_definition(platform.runtime())
    assert calls(platform) == {"read": 2, "create": 2}


def test_a_refused_write_is_logged_and_repeated_a_minute_later(platform: Platform) -> None:
    platform.store = Throttled(platform.memory)
    keep_definition(platform.runtime())
    keep_definition(platform.runtime())
    assert calls(platform) == {"read": 1}
    ((message, fields),) = platform.logged
    assert message == "definition not stored"
    assert "throttled" in fields["reason"]
    platform.clock.ms += RETRY_MS
    platform.store = CountingStore(platform.memory)
    keep_definition(platform.runtime())
    assert calls(platform) == {"read": 1, "create": 1}


def test_a_start_does_not_wait_for_a_slow_store(platform: Platform) -> None:
    platform.store = slow = Throttled(platform.memory)
    slow.pause_s = MAX_WRITE_WAIT_S + 0.7
    begun_s = time.monotonic()
    keep_definition(platform.runtime())
    assert time.monotonic() - begun_s < slow.pause_s - 0.1
    with pytest.raises(DefinitionNotStored):
        read_definition(platform.memory, "w", platform.workflow.digest)


@pytest.fixture
def needed(platform: Platform, monkeypatch: pytest.MonkeyPatch) -> Platform:
    """A workflow of which other functions take the definition from the store alone."""
    service = {"table": "t", "hosts": ["A"], "routes": {}, "retention_s": 604_800, "stores_first": True}
    monkeypatch.setenv("UNUM_WORKFLOWS", json.dumps({"w": service}))
    configuration.services.cache_clear()
    return platform


def test_start_waits_until_a_definition_that_others_need_is_stored(needed: Platform) -> None:
    needed.store = Throttled(needed.memory)
    for _ in range(2):  # each delivery tries: nothing else would
        with pytest.raises(StoreError, match="not stored yet"):
            keep_definition(needed.runtime())
    assert calls(needed) == {"read": 2}
    needed.store = CountingStore(needed.memory)
    keep_definition(needed.runtime())
    assert read_definition(needed.memory, "w", needed.workflow.digest).digest == needed.workflow.digest


def test_start_waits_longer_for_a_definition_that_others_need(needed: Platform) -> None:
    needed.store = slow = Throttled(needed.memory)
    slow.pause_s = MAX_WRITE_WAIT_S + 0.2
    begun_s = time.monotonic()
    with pytest.raises(StoreError, match="not stored yet"):
        keep_definition(needed.runtime())
    assert time.monotonic() - begun_s >= slow.pause_s


def test_the_copy_of_yesterday_serves_while_the_store_throttles(needed: Platform) -> None:
    keep_definition(needed.runtime())
    needed.clock.pass_seconds(86_400)
    needed.store = Throttled(needed.memory)
    keep_definition(needed.runtime())
    assert read_definition(needed.memory, "w", needed.workflow.digest).digest == needed.workflow.digest


def test_a_start_that_does_not_wait_for_it_is_caught(needed: Platform, monkeypatch: pytest.MonkeyPatch) -> None:
    """The broken variant: an execution begins that its functions cannot continue."""
    monkeypatch.setattr(definitions, "services", dict)
    with pytest.raises(pytest.fail.Exception):
        test_start_waits_until_a_definition_that_others_need_is_stored(needed)
