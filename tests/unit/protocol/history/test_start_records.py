"""Start records: equality of starts, and errors about a different stored start."""

import pytest

from unum_runtime.errors import ExecutionAlreadyExists, ExecutionDoesNotExist, InvalidExecutionInput
from unum_runtime.model.checkpoint import Checkpoint, Failure, start_record
from unum_runtime.model.naming import Execution, start_key
from unum_runtime.protocol.history.start_records import checked_input, record_start, stored_start
from unum_runtime.protocol.planning.plan import MAX_OUTCOME_BYTES
from unum_runtime.store.large_items import LargeItems
from unum_simulator.memory_store import MemoryObjects, MemoryStore

FAR = 10**10


def record(store: MemoryStore, draft: Checkpoint) -> Checkpoint:
    return record_start(store, "w", draft, expires_at_s=FAR)


def test_a_start_whose_input_was_too_large_is_no_start_with_the_same_input() -> None:
    store, draft = MemoryStore(), start_record(Execution("e", 1), {"n": 1})
    failed = draft.saying(outcome=Failure("States.DataLimitExceeded", None))
    assert record(store, failed) == record(store, failed) == failed
    with pytest.raises(ExecutionAlreadyExists, match="was started with another input"):
        record(store, draft)


@pytest.mark.parametrize(("first", "second", "kind"), [("d", "", "with force"), ("", "d", "without force")])
def test_a_start_with_force_is_another_one(first: str, second: str, kind: str) -> None:
    store, draft = MemoryStore(), start_record(Execution("e", 1), 1)
    record(store, draft.saying(digest=first))
    with pytest.raises(ExecutionAlreadyExists, match=f"was started {kind};"):
        record(store, draft.saying(digest=second))


def test_what_a_deletion_has_left_keeps_the_name() -> None:
    store, key = MemoryStore(), start_key("w", "e")
    store.create(key, {"error": '"Unum.ExecutionDeleted"', "at": 1}, expires_at_s=FAR)
    with pytest.raises(ExecutionAlreadyExists, match="execution 'e' of workflow 'w' was deleted"):
        record(store, start_record(Execution("e", 1), 1))
    with pytest.raises(ExecutionDoesNotExist, match="was deleted"):
        stored_start(store, "w", "e")


def test_an_input_too_large_for_an_item_needs_a_bucket() -> None:
    store, large = MemoryStore(), "x" * MAX_OUTCOME_BYTES
    with_bucket = LargeItems(store, MemoryObjects(), "w")
    assert checked_input(large, with_bucket) == large
    for given in (None, store):
        with pytest.raises(InvalidExecutionInput, match=f"input: {MAX_OUTCOME_BYTES + 2} bytes of JSON"):
            checked_input(large, given)
        assert checked_input(large[2:], given) == large[2:]


def test_inputs_are_compared_whatever_the_order_of_their_fields() -> None:
    store, execution = MemoryStore(), Execution("e", 1)
    first = record(store, start_record(execution, {"a": 1, "b": 2}))
    assert record(store, start_record(execution, {"b": 2, "a": 1})) == first
