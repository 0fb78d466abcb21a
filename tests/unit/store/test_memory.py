"""The memory store's limits."""

import pytest

from unum_runtime.clock import SystemClock
from unum_runtime.errors import StoreError
from unum_runtime.model.naming import Key
from unum_runtime.store.base import MAX_ITEM_BYTES
from unum_simulator.memory_store import MemoryStore

KEY = Key("p", "s")
FAR_S = 10**11


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(SystemClock())


def test_an_item_of_just_the_largest_size_is_stored(store: MemoryStore) -> None:
    item: dict[str, str | int] = {"a": "x" * (MAX_ITEM_BYTES - 3)}  # the key and the attribute's name have a byte each
    assert store.create(KEY, item, expires_at_s=FAR_S) is None
    assert store.read([KEY]) == {KEY: item}


@pytest.mark.parametrize("operation", ["create", "extend"])
def test_a_larger_item_is_refused_with_its_operation_and_key(store: MemoryStore, operation: str) -> None:
    item = {"a": "x" * (MAX_ITEM_BYTES - 2)}
    options = {"unless": "a"} if operation == "extend" else {}
    with pytest.raises(StoreError, match=rf"^{operation} Key\(partition='p', sort='s'\): .* item of 400001$"):
        getattr(store, operation)(KEY, item, **options, expires_at_s=FAR_S)
    assert store.read([KEY]) == {}
