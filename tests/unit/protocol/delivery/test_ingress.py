"""Refusals of events without possible effect, with their reason."""

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.protocol.callback_platform import asking
from tests.unit.protocol.counting_store import CountingStore
from tests.unit.protocol.job_platform import LOOK_S, watching
from tests.unit.protocol.map_platform import around, mapped
from tests.unit.protocol.platform import Platform, chain, exactly
from unum_client.reading import stored_steps
from unum_compiler.options import FunctionOptions
from unum_runtime.errors import NotOurEvent, OutcomeCollected, RefusedDelivery, StoreError
from unum_runtime.model.checkpoint import Failure
from unum_runtime.model.envelope import Stored
from unum_runtime.model.ir import Collection
from unum_runtime.model.naming import checkpoint_key
from unum_runtime.model.states import SIGNAL, Guard
from unum_runtime.protocol.control.stop import stop
from unum_runtime.protocol.delivery.deliver import step
from unum_runtime.protocol.delivery.ingress import is_unguarded, may_be_late
from unum_runtime.protocol.waiting.callback import NUDGE
from unum_runtime.store.large_items import LEAST_BYTES, LargeItems
from unum_simulator.memory_store import MemoryObjects


def echo(event: Any) -> Any:
    return event


def test_after_a_stop() -> None:
    platform = Platform.of(mapped("A", "B"), A=echo, B=echo)
    platform.start(value=[1])
    record = stored_steps.start_record(platform.memory, "w", "e")
    stop(platform.runtime(), record.name.execution, Failure("Stopped", None))
    (event,) = platform.sent
    with pytest.raises(RefusedDelivery, match=exactly(f"{event.name}: the execution was stopped")):
        platform.deliver(event)
    assert platform.calls == {}


def test_after_the_fan_out_has_failed() -> None:
    def fail(event: Any) -> Any:
        if event == 1:
            raise ValueError
        return event

    caught = around(chain("A"), after="B", Catch=[{"ErrorEquals": ["States.ALL"], "Next": "B"}])
    platform = Platform.of(caught, A=fail, B=echo)
    platform.start(value=[1, 2])
    first, second = platform.sent
    platform.deliver(first)
    with pytest.raises(
        RefusedDelivery, match=exactly(f"{second.name}: a fan-out around it is settled without this branch")
    ):
        platform.deliver(second)
    assert platform.calls["A"] == 1


def test_a_part_of_a_wide_fan_out_after_a_stop() -> None:
    platform = Platform.of(mapped("A"), A=echo)
    platform.options["most_begun"] = 2
    platform.start(value=[1, 2, 3, 4, 5])
    record = stored_steps.start_record(platform.memory, "w", "e")
    stop(platform.runtime(), record.name.execution, Failure("Stopped", None))
    assert platform.sent
    for part in platform.sent:
        with pytest.raises(RefusedDelivery, match=exactly(f"{part.name}: the execution was stopped")):
            platform.deliver(part)
    assert platform.calls == {}


def test_of_another_version() -> None:
    platform = Platform.of(chain("A", "B"), A=echo, B=echo)
    platform.start()
    event = replace(platform.sent[0], digest="other")
    own = (platform.workflow.name, platform.workflow.digest)
    said = f"expected an event of workflow and IR {own}, got {('w', 'other')}"
    with pytest.raises(NotOurEvent, match=exactly(said)):
        platform.deliver(event)


def test_with_an_input_in_a_bucket_that_the_function_does_not_know() -> None:
    platform = Platform.of(chain("A", "B"), A=echo, B=echo)
    platform.start()
    event = replace(platform.sent[0], input=Stored("place", 0, None))
    said = "object place: an event refers to it, but this function knows no bucket for payloads"
    with pytest.raises(StoreError, match=exactly(said)):
        platform.deliver(event)


def test_unguarded_event_with_collected_input_continues_from_its_outcome() -> None:
    definition = mapped("A", after="B")
    definition["States"]["B"] = {"Type": "Task", "Resource": "B", "Next": "C"}
    definition["States"]["C"] = {"Type": "Task", "Resource": "C", "End": True}
    platform = Platform.of(definition, {"B": FunctionOptions(guard=Guard.COMMIT)}, A=echo, B=echo, C=echo)
    platform.collection = Collection.EAGER
    platform.start(value=[1, 2])
    for _ in range(2):
        platform.deliver(platform.sent.pop(0))
    (event,) = platform.sent
    platform.deliver(event)
    following = platform.sent.pop()
    platform.sent.clear()
    platform.deliver(event)
    assert [each.name for each in platform.sent] == [following.name]
    assert platform.calls == {"A": 2, "B": 1}


def test_a_join_that_fails_in_the_delivery_of_its_task_fails_the_execution() -> None:
    definition = mapped("A", after="B", ResultSelector={"x.$": "States.StringToJson('{')"})
    platform = Platform.of(definition, A=echo, B=echo)
    ending = platform.run(value=[1, 2])
    assert ending is not None
    assert isinstance(ending.outcome, Failure)
    assert ending.outcome.error == "States.IntrinsicFailure"
    assert platform.calls == {"A": 2}


def test_collected_input_without_a_later_outcome_is_shown_as_collected() -> None:
    platform = Platform.of(mapped("A", after="B"), {"B": FunctionOptions(guard=Guard.COMMIT)}, A=echo, B=echo)
    platform.collection = Collection.EAGER
    platform.start(value=[1])
    platform.deliver(platform.sent.pop())
    (event,) = platform.sent
    platform.deliver(event)
    del platform.memory._items[checkpoint_key("w", event.name)]
    with pytest.raises(OutcomeCollected, match="was collected"):
        platform.deliver(event)


def test_a_second_delivery_finds_an_outcome_in_its_pack() -> None:
    platform = Platform.of(mapped("A", after="B"), A=echo, B=echo)
    platform.workflow = replace(platform.workflow, small_results=True)
    platform.start(value=[1, 2])
    for _ in range(2):
        platform.deliver(platform.sent[0])
    assert platform.calls == {"A": 1}


def test_without_a_guard_only_a_task_that_has_waited_reads_its_outcome() -> None:
    waits = asking(guard=Guard.COMMIT, TimeoutSeconds=60)
    event = waits.event()
    waits.platform.store = store = CountingStore(waits.platform.memory)
    waits.platform.deliver(event)
    assert store.calls == {"create": 1}
    ((_, check),) = waits.later
    waits.answered(waits.tokens[-1])
    said = f"{check.name}: has a result already, so a check of its time has no effect"
    assert waits.deliver(check) == said


def test_without_a_guard_a_poll_of_a_job_does_not_read_its_outcome() -> None:
    platform = watching()
    states = {task.name: replace(task, guard=Guard.COMMIT) for task in platform.workflow.tasks}
    platform.workflow = replace(platform.workflow, states={**platform.workflow.states, **states})
    look = platform.begun()
    platform.store = store = CountingStore(platform.memory)
    platform.clock.pass_seconds(LOOK_S)
    platform.deliver(look)
    assert store.calls == {}


@pytest.mark.parametrize(
    ("fields", "after_s", "late"),
    [({}, 29, False), ({}, 30, True), ({"due_ms": 1}, 0, True), ({"retries": (1,)}, 0, True)],
)
def test_only_old_delayed_or_retried_events_may_be_late(fields: dict[str, Any], after_s: int, *, late: bool) -> None:
    platform = Platform.of(chain("A", "B"), A=echo, B=echo)
    platform.start()
    (event,) = platform.sent
    platform.clock.pass_seconds(after_s)
    assert may_be_late(platform.runtime(), replace(event, **fields)) is late


def test_wait_for_a_signal_reads_its_outcome_whatever_its_guard() -> None:
    platform = Platform.of(chain("A", "B"), A=echo, B=echo)
    platform.start()
    (event,) = platform.sent
    task = replace(platform.workflow.task("B"), guard=Guard.COMMIT)
    assert is_unguarded(event, task)
    assert not is_unguarded(event, replace(task, resource=f"{SIGNAL}go"))


def test_event_after_a_response_reads_its_outcome_whatever_its_guard() -> None:
    platform = Platform.of(chain("A", "B"), A=echo, B=echo)
    platform.start()
    (event,) = platform.sent
    task = replace(platform.workflow.task("B"), guard=Guard.COMMIT)
    assert not is_unguarded(replace(event, job={**NUDGE}), task)
    assert is_unguarded(replace(event, job={"handle": "job", "since": 1}), task)


@pytest.mark.parametrize(
    ("guard", "after_s", "fresh", "reads"),
    [
        (Guard.COMMIT, 0, False, 0),
        (Guard.COMMIT, 60, False, 1),
        (Guard.COMMIT, 60, True, 0),
        (Guard.READ, 60, False, 1),
    ],
)
def test_late_unguarded_event_alone_looks_before_an_object(
    guard: Guard, after_s: int, reads: int, *, fresh: bool
) -> None:
    platform = Platform.of(chain("A", "B"), {"B": FunctionOptions(guard=guard)}, A=echo, B=lambda _: "x" * LEAST_BYTES)
    platform.start()
    (event,) = platform.sent
    platform.clock.pass_seconds(after_s)
    counting = CountingStore(platform.memory)
    platform.store = LargeItems(counting, MemoryObjects(), "w")
    step(platform.runtime(), event, fresh=fresh)
    assert counting.calls["read"] == reads
