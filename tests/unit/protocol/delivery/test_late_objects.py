"""Late events of deleted executions with large values: they are refused, and write no object."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from tests.unit.protocol.counting_store import CountingStore
from tests.unit.protocol.platform import Platform, chain, exactly
from unum_compiler.options import FunctionOptions
from unum_runtime.cold_start.records import replace
from unum_runtime.errors import ExecutionAlreadyExists, ExecutionDeleted, LeaseHeldError, RefusedDelivery, StoreError
from unum_runtime.features.timers.waiter import wait_for_result
from unum_runtime.model.checkpoint import Success
from unum_runtime.model.envelope import start_event
from unum_runtime.model.requests import INPUT, run_request
from unum_runtime.model.states import Guard
from unum_runtime.protocol.control.deletions.delete import delete
from unum_runtime.protocol.control.deletions.deletion_marks import QUIET_MS
from unum_runtime.protocol.control.forks.fork import ForkRequest, fork
from unum_runtime.protocol.delivery.perform import payload_of
from unum_runtime.protocol.planning.existing_start import deletion_text
from unum_runtime.protocol.requests import entry_aliases
from unum_runtime.protocol.requests.begin import begin_with
from unum_runtime.protocol.runtime import Runtime
from unum_runtime.store.large_items import LEAST_BYTES, LargeItems
from unum_simulator.memory_store import MemoryObjects

LARGE = "x" * LEAST_BYTES


def of(
    *states: str, guard: Guard = Guard.READ, fields: Any = None, options: Any = None, **functions: Any
) -> tuple[Platform, MemoryObjects]:
    """Return a platform with a bucket, and the bucket."""
    options = dict.fromkeys(functions, FunctionOptions(guard=guard)) | (options or {})
    platform, objects = Platform.of(chain(*states, **(fields or {})), options, **functions), MemoryObjects()
    platform.store = LargeItems(platform.memory, objects, "w")
    platform.options["own_address"] = "arn:aws:lambda:us-east-1:1:function:entry:7"
    return platform, objects


def delete_for_good(platform: Platform, name: str = "e") -> None:
    for _ in range(2):
        delete(platform.runtime(), name)
        platform.clock.ms += QUIET_MS
    platform.store = platform.store.in_delivery()


def by_event(rt: Runtime) -> None:
    begin_with(rt, "e", LARGE)


def by_name(rt: Runtime) -> None:
    entry_aliases.run(rt, start_event("e", LARGE), "request")


def by_answered_request(rt: Runtime) -> None:
    answer = entry_aliases.run(rt, run_request("e", {INPUT: LARGE}), "request")
    if isinstance(answer, dict) and answer.get("error") == "ExecutionAlreadyExists":
        raise ExecutionAlreadyExists(answer["message"])


@pytest.mark.parametrize("way", [by_event, by_name, by_answered_request])
@pytest.mark.parametrize("is_over", [False, True])
def test_late_copy_of_a_large_start_writes_no_object(way: Callable[[Runtime], None], *, is_over: bool) -> None:
    platform, objects = of("A", A=lambda event: event)
    platform.start("e", LARGE)
    platform.deliver_all()
    delete(platform.runtime(), "e")
    if is_over:
        delete_for_good(platform)
    assert objects._contents == {}
    with pytest.raises((ExecutionDeleted, ExecutionAlreadyExists), match="was deleted"):
        way(platform.runtime().in_delivery())
    assert (objects._contents, platform.sent) == ({}, [])


def test_late_fork_request_with_a_large_input_writes_no_object() -> None:
    platform, objects = of("A", "B", A=len, B=len)
    platform.start("e", "x")
    platform.deliver_all()
    request = ForkRequest(execution="e", name="f", node="B")
    fork(platform.runtime(), request)
    platform.deliver_all()
    delete_for_good(platform, "f")
    with pytest.raises(ExecutionAlreadyExists):
        fork(platform.runtime().in_delivery(), replace(request, value=Success(LARGE)))
    assert objects._contents == {}


def test_look_of_a_start_costs_one_read_of_large_inputs_alone() -> None:
    platform, objects = of("A", guard=Guard.COMMIT, A=lambda _event: None)
    for name, value, reads in (("small", "x", 0), ("large", LARGE, 1)):
        counting = CountingStore(platform.memory)
        platform.store = LargeItems(counting, objects, "w")
        platform.start(name, value)
        assert counting.calls["read"] == reads


@pytest.mark.parametrize("guard", Guard)
def test_late_event_whose_retry_is_too_large_writes_no_object(guard: Guard) -> None:
    def fail(event: Any) -> None:
        raise ValueError(event)

    retry = {"Retry": [{"ErrorEquals": ["ValueError"], "IntervalSeconds": 1}]}
    platform, objects = of("A", "B", guard=guard, fields={"B": retry}, A=lambda _event: "y", B=fail)
    platform.start("e", "x")
    (event,) = platform.sent
    platform.deliver_all()
    while platform.waiting:
        with suppress(RefusedDelivery):
            platform.deliver(platform.pass_to_next())
    delete_for_good(platform)
    # The retry has more fields than the event.
    platform.store = replace(platform.store, event_bytes=len(event.to_bytes()))
    with pytest.raises(ExecutionDeleted):
        platform.deliver(event)
    assert (objects._contents, platform.waiting) == ({}, [])


@pytest.mark.parametrize("is_deleted", [True, False])
def test_waiter_that_is_too_large_looks_before_its_object(*, is_deleted: bool) -> None:
    platform, objects = of("A", "B", guard=Guard.LEASE, A=lambda _event: "y", B=lambda event: event)
    platform.start("e", "x")
    (event,) = platform.sent
    platform.deliver_all()
    if is_deleted:
        delete_for_good(platform)
    platform.store = replace(platform.store, event_bytes=len(event.to_bytes()))
    held = LeaseHeldError("held")
    if is_deleted:
        with pytest.raises(ExecutionDeleted, match=exactly(deletion_text("w", "e"))):
            wait_for_result(platform.runtime(), event, held)
    else:
        wait_for_result(platform.runtime(), event, held)
    assert (len(objects._contents), len(platform.waiting)) == ((0, 0) if is_deleted else (1, 1))


def test_large_event_that_follows_one_on_time_reads_nothing() -> None:
    platform, objects = of("A", "B", A=lambda _event: "y", B=lambda event: event)
    platform.start("e", "x")
    (event,) = platform.sent
    counting = CountingStore(platform.memory)
    platform.store = LargeItems(counting, objects, "w", event_bytes=1)
    payload_of(platform.runtime(), event)
    assert (counting.calls, len(objects._contents)) == ({}, 1)


def test_store_that_does_not_answer_a_look_gets_no_object() -> None:
    platform, objects = of("A", "B", guard=Guard.LEASE, A=lambda _event: "y", B=lambda event: event)
    platform.start("e", "x")
    (event,) = platform.sent

    class Silent(CountingStore):
        def read(self, keys: Any) -> Any:
            raise StoreError(f"no answer for {[*keys]}")

    platform.store = LargeItems(Silent(platform.memory), objects, "w", event_bytes=1)
    with pytest.raises(StoreError, match="no answer"):
        wait_for_result(platform.runtime(), event, LeaseHeldError("held"))
    assert (objects._contents, platform.waiting) == ({}, [])


@pytest.mark.parametrize("after_s", [0, 60])
def test_task_after_one_without_a_commit_looks_before_its_object(after_s: int) -> None:
    functions: dict[str, Any] = {"A": lambda _event: "y", "B": lambda _event: "z", "C": lambda _event: LARGE}
    options = {"B": FunctionOptions(checkpoint=False), "C": FunctionOptions(guard=Guard.COMMIT)}
    platform, objects = of("A", "B", "C", options=options, **functions)
    platform.start("e", "x")
    (event,) = platform.sent
    platform.deliver_all()
    delete_for_good(platform)
    platform.deliver(event)
    (young,) = platform.sent
    platform.clock.pass_seconds(after_s)
    with pytest.raises(ExecutionDeleted):
        platform.deliver(young)
    assert objects._contents == {}


@pytest.mark.parametrize("after_s", [0, 3600])
def test_late_event_of_a_deleted_execution_writes_no_lease(after_s: int) -> None:
    platform, _ = of("A", "B", guard=Guard.LEASE, A=lambda event: event, B=lambda event: event)
    platform.start()
    (event,) = platform.sent
    platform.deliver_all()
    delete_for_good(platform)
    platform.clock.ms += after_s * 1000
    counting = CountingStore(platform.store)
    platform.store = counting
    with pytest.raises(RefusedDelivery):
        platform.deliver(event)
    assert counting.calls.keys() == {"read"}


def test_event_on_time_reads_once_under_its_lease() -> None:
    platform, _ = of("A", "B", guard=Guard.LEASE, A=lambda event: event, B=lambda event: event)
    platform.start()
    (event,) = platform.sent
    counting = CountingStore(platform.store)
    platform.store = counting
    platform.deliver(event)
    assert counting.calls["read"] == 1
