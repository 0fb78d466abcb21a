"""Conditions for a delivery to run its next invocation itself: enough time, and an event that certainly fits."""

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.protocol.map_platform import around
from tests.unit.protocol.platform import Platform, chain
from unum_compiler import graph as g
from unum_compiler.definition import Definition
from unum_runtime.model.checkpoint import Checkpoint, Phase, Success
from unum_runtime.model.envelope import Envelope, Results, Value
from unum_runtime.model.ir import Collection
from unum_runtime.model.naming import Execution, Frame, Name, Scope
from unum_runtime.model.states import Guard, Pattern, Task
from unum_runtime.protocol.delivery.delivery_state import DeliveryState
from unum_runtime.protocol.delivery.fusion import Fusion, fits, is_first, may_fuse
from unum_runtime.protocol.delivery.perform import _fuse
from unum_runtime.protocol.planning.plan import MAX_OUTCOME_BYTES
from unum_runtime.protocol.runtime import Runtime
from unum_runtime.store.large_items import LargeItems
from unum_simulator.memory_store import MemoryObjects, MemoryStore


def event(**task: Any) -> tuple[Runtime, Envelope, Task]:
    platform = Platform.of(chain("A", "B", B=task), A=lambda event: event, B=lambda event: event)
    platform.start()
    (sent,) = platform.sent
    state = platform.workflow.states["B"]
    assert isinstance(state, Task)
    return platform.runtime(), sent, state


@pytest.mark.parametrize(
    ("task", "needed_ms"),
    [
        ({}, 7_500),
        ({"TimeoutSeconds": 2}, 3_000),
        ({"TimeoutSeconds": 60}, 7_500),
        ({"TimeoutSecondsPath": "$"}, 7_500),
    ],
)
def test_a_task_needs_its_time_limit_or_most_of_a_delivery(task: dict[str, Any], needed_ms: int) -> None:
    _, sent, state = event(**task)
    for address, remaining_ms, fuses in (("F:1", 0, True), ("F:1", -1, False), ("F:2", 0, False)):
        fusion = Fusion("F:1", lambda more=remaining_ms: needed_ms + more, 10_000)  # type: ignore[misc]  # bound now
        assert fusion(address, sent, state) is fuses


def sized(sent: Envelope, size: int, **variables: Any) -> Envelope:
    return sent.with_input(Value(Success("x" * (size - 2)), 0, variables))


def test_an_event_fits_up_to_the_size_of_an_outcome_with_its_variables() -> None:
    rt, sent, _ = event()
    assert fits(rt, sized(sent, MAX_OUTCOME_BYTES))
    assert not fits(rt, sized(sent, MAX_OUTCOME_BYTES + 1))
    with_variables = len('{"v":"é"}'.encode())
    assert fits(rt, sized(sent, MAX_OUTCOME_BYTES - with_variables, v="é"))
    assert not fits(rt, sized(sent, MAX_OUTCOME_BYTES - with_variables + 1, v="é"))


def test_event_of_any_size_fits_a_bucket_and_empty_ones_always_fit() -> None:
    rt, sent, _ = event()
    large = replace(rt, store=LargeItems(MemoryStore(), MemoryObjects(), "w"))
    assert fits(large, sized(sent, MAX_OUTCOME_BYTES + 1))
    assert fits(rt, sent.with_input(Results(Scope(sent.name.execution, (), "M", 1, 0, 2))))


E = Execution("e", 0)
FLOW = chain("A", "M", "B")
FLOW["States"]["M"] = {**around(chain("C", "D"), MaxConcurrency=1)["States"]["M"], "Next": "B"}
del FLOW["States"]["M"]["End"]
REGION = g.dag(
    {"a": g.task("a"), "b": g.task("b"), "one": g.task("one").after("a"), "two": g.task("two").after("a", "b")}
)


def runtime(definition: Any = None) -> Runtime:
    if definition is None:
        return Platform.of(FLOW, None, **dict.fromkeys("ABCD", lambda event: event)).runtime()
    return Platform(Definition.from_graph(definition).compile("w", None), {}).runtime()


def at(step: int, *frames: Frame) -> Name:
    return Name(E, frames, step)


def frame(index: int, state: str = "M", iteration: int = 2) -> Frame:
    return Frame(state, iteration, 0, index, 4)


def delivered(before: Name) -> DeliveryState:
    """Return a delivery that has committed `before`."""
    delivery = DeliveryState({}, may_continue=True)
    delivery.created.append(
        Checkpoint(name=before, state="A", phase=Phase.LEFT, outcome=Success(1), digest="", committed_ms=0)
    )
    return delivery


def fuses(before: Name, after: Name, state: str, definition: Any = None, **task: Any) -> bool:
    rt = runtime(definition)
    return may_fuse(rt, delivered(before), after, replace(rt.workflow.task(state), **task))


def test_what_follows_in_a_branch_or_in_the_next_branch_of_a_lane_is_fused() -> None:
    assert fuses(at(1), at(2), "B")
    assert fuses(at(0, frame(0)), at(1, frame(0)), "D")
    assert fuses(at(1), at(0, frame(0)), "C")
    assert fuses(at(1, frame(0)), at(0, frame(1)), "C")
    assert not fuses(at(1, frame(0)), at(0, frame(1, iteration=5)), "C")


def test_a_task_that_waits_has_a_delivery_of_its_own() -> None:
    assert not fuses(at(1), at(2), "B", pattern=Pattern.CALLBACK)


def test_nothing_is_fused_where_outcomes_are_collected() -> None:
    rt = replace(runtime(), collection=Collection.EAGER)
    assert not may_fuse(rt, delivered(at(1)), at(2), rt.workflow.task("B"))


@pytest.mark.parametrize("waits", [{"meets_previous": True}, {"after_previous": "C"}])
def test_task_that_waits_for_another_branch_is_not_fused_after_that_branch(waits: dict[str, Any]) -> None:
    assert fuses(at(1, frame(0)), at(1, frame(1)), "D")
    assert not fuses(at(1, frame(0)), at(1, frame(1)), "D", **waits)
    assert fuses(at(0, frame(1)), at(1, frame(1)), "D", **waits)


@pytest.mark.parametrize(("index", "state", "is_fused"), [(2, "one", True), (3, "two", False)])
def test_a_node_with_several_sources_is_not_fused_after_one_of_them(index: int, state: str, *, is_fused: bool) -> None:
    region = runtime(REGION).workflow.start_at
    assert fuses(at(0, frame(0, region)), at(0, frame(index, region)), state, REGION) is is_fused


FIRST = {
    "next at the top": (at(1), at(2), True),
    "not next": (at(1), at(4), False),
    "into a branch": (at(1), at(2, frame(0)), False),
    "out of a branch": (at(1, frame(0)), at(2), False),
    "in a branch": (at(1, frame(0)), at(2, frame(0)), False),
}


def event_for(name: Name, state: str) -> Envelope:
    return Envelope(
        workflow="w", digest="", name=name, state=state, input=Value(Success(1), 0, {}), sent_s=0, routes={}
    )


@pytest.mark.parametrize("case", FIRST)
@pytest.mark.parametrize("leased", ["", "A", "B", "AB"])
def test_outcome_after_the_only_earlier_one_is_absent_without_a_lease(case: str, leased: str) -> None:
    before, after, is_absent = FIRST[case]
    rt = runtime()
    tasks = {name: replace(rt.workflow.task(name), guard=Guard.LEASE) for name in leased}
    rt = replace(rt, workflow=replace(rt.workflow, states={**rt.workflow.states, **tasks}))
    found = is_first(rt, delivered(before), event_for(before, "A"), event_for(after, "B"))
    assert found is (is_absent and not leased)
    delivery = delivered(before)
    delivery.is_new = True
    assert is_first(rt, delivery, event_for(before, "A"), event_for(after, "B")) is not bool(leased)


def test_only_a_delivery_with_its_own_outcomes_runs_the_next_step() -> None:
    rt, delivery = runtime(), delivered(at(1))
    task = rt.workflow.task("B")
    assert may_fuse(rt, delivery, at(2), task)
    delivery.found = [at(1)]
    assert not may_fuse(rt, delivery, at(2), task)
    delivery.found, delivery.may_continue = [], False
    assert not may_fuse(rt, delivery, at(2), task)
    nothing = DeliveryState({}, may_continue=True)
    assert not may_fuse(rt, nothing, at(2), task)


@pytest.mark.parametrize("first", [[], ["A"]])
def test_waits_are_neither_fused_nor_in_the_way_of_the_step_after_them(first: list[str]) -> None:
    definition = chain(*first, "W", "B")
    definition["States"]["W"] = {"Type": "Wait", "Seconds": 0, "Next": "B"}
    platform = Platform.of(definition, A=lambda event: event, B=lambda event: event)
    platform.options |= {"fuses": lambda *_: True, "own_address": "A"}
    ending = platform.run(value=1)
    assert ending is not None
    assert (ending.outcome, platform.calls["B"]) == (Success(1), 1)


def test_step_after_a_wait_takes_no_lease_for_the_wait() -> None:
    definition = chain("W", "B")
    definition["States"]["W"] = {"Type": "Wait", "Seconds": 1, "Next": "B"}
    rt = Platform.of(definition, B=lambda event: event).runtime()
    assert is_first(rt, delivered(at(1)), event_for(at(1), "W"), event_for(at(2), "B"))


def test_wait_that_is_due_already_is_not_fused() -> None:
    definition = chain("A", "W")
    definition["States"]["W"] = {"Type": "Wait", "Seconds": 1, "End": True}
    rt = replace(Platform.of(definition, A=lambda event: event).runtime(), fuses=lambda *_: True)
    assert not _fuse(rt, delivered(at(1)), event_for(at(2), "W"))
