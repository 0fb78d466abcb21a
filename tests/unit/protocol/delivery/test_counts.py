"""Store operations of whole executions: what DESIGN's table allows, with the guard that reads on and off."""

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.protocol.counting_store import CountingStore
from unum_compiler import compile_workflow
from unum_runtime.model.checkpoint import Ending, Status, Success
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Guard, Task
from unum_simulator.local import LocalWorkflow

RESULT_READS = 2
"""`LocalWorkflow.run` reads the start record and the ending, which an execution in Lambda does not."""


def workflow(definition: dict[str, Any], guard: Guard) -> Workflow:
    compiled = compile_workflow(definition, name="w", functions=["F"])
    states = {
        name: replace(state, guard=guard) if isinstance(state, Task) else state
        for name, state in compiled.states.items()
    }
    return Workflow(compiled.name, compiled.start_at, states)


def chain(length: int) -> dict[str, Any]:
    states: dict[str, Any] = {f"S{n}": {"Type": "Task", "Resource": "F", "Next": f"S{n + 1}"} for n in range(length)}
    states[f"S{length - 1}"] = {"Type": "Task", "Resource": "F", "End": True}
    return {"StartAt": "S0", "States": states}


def map_and_join() -> dict[str, Any]:
    task = {"Type": "Task", "Resource": "F"}
    items = {"StartAt": "Item", "States": {"Item": {**task, "End": True}}}
    return {
        "StartAt": "Source",
        "States": {
            "Source": {**task, "Next": "Each"},
            "Each": {"Type": "Map", "ItemProcessor": items, "Next": "Join"},
            "Join": {**task, "End": True},
        },
    }


def run(definition: dict[str, Any], guard: Guard, value: Any, *, fusion: bool = False) -> tuple[Any, CountingStore]:
    store = CountingStore()
    counted: Any = store
    local = LocalWorkflow(workflow(definition, guard), {"F": lambda event, _: event}, counted, fusion=fusion)
    ending = local.run("e", value)
    assert ending == Ending(Status.SUCCEEDED, Success(value))
    return ending, store


@pytest.mark.parametrize("length", [1, 5, 10, 50])
@pytest.mark.parametrize("guard", [Guard.READ, Guard.COMMIT])
def test_a_chain_costs_one_commit_a_node_and_the_start_record(length: int, guard: Guard) -> None:
    _, store = run(chain(length), guard, {"x": 1})
    reads = {Guard.COMMIT: 0, Guard.READ: length - 1}[guard]  # the first node knows that it is the first
    assert store.calls["create"] == length + 1
    assert store.calls.total() - RESULT_READS == length + 1 + reads


@pytest.mark.parametrize("guard", [Guard.READ, Guard.COMMIT])
def test_a_chain_in_one_function_needs_no_reads(guard: Guard) -> None:
    _, store = run(chain(10), guard, {"x": 1}, fusion=True)
    assert store.calls["create"] == store.calls.total() - RESULT_READS == 11


def test_a_lease_is_followed_by_a_read_in_one_function_too() -> None:
    _, store = run(chain(3), Guard.LEASE, {"x": 1}, fusion=True)
    assert store.calls["read"] - 1 == 2  # the other one is of `LocalWorkflow.run`


@pytest.mark.parametrize("branches", [1, 3, 100, 256, 257, 600])
def test_a_map_with_join_costs_two_writes_a_branch_and_two_calls_a_shard(branches: int) -> None:
    _, store = run(map_and_join(), Guard.COMMIT, list(range(branches)))
    shards = -(-branches // 256)
    writes = 1 + 2 + 2 * branches + (shards if shards > 1 else 0)
    assert store.calls["create"] + store.calls["add"] == writes
    assert store.calls.total() - RESULT_READS == writes + shards <= 2 * branches + 2 * shards + 4


def test_an_empty_map_costs_nothing() -> None:
    _, store = run(map_and_join(), Guard.COMMIT, [])
    assert store.calls["create"] == 3
    assert store.calls["add"] == 0


def nested(depth: int) -> dict[str, Any]:
    """A Task in `depth` Maps."""
    definition: dict[str, Any] = {"StartAt": "Item", "States": {"Item": {"Type": "Task", "Resource": "F", "End": True}}}
    for level in range(depth):
        around = {"Type": "Map", "ItemProcessor": definition, "End": True}
        definition = {"StartAt": f"Map{level}", "States": {f"Map{level}": around}}
    return definition


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_branch_is_looked_up_in_one_request_with_the_fan_outs_around_it(depth: int) -> None:
    value: Any = 7
    for _ in range(depth):
        value = [value]
    _, unguarded = run(nested(depth), Guard.COMMIT, value)
    _, store = run(nested(depth), Guard.READ, value)
    assert store.calls - unguarded.calls == {"read": 1}
    assert store.keys_read - unguarded.keys_read == 1 + depth


def lane(items: int) -> tuple[dict[str, Any], list[int]]:
    """Return a Map of one Task with MaxConcurrency 1, and its items."""
    definition = nested(1)
    definition["States"]["Map0"]["MaxConcurrency"] = 1
    return definition, [*range(items)]


def test_the_next_branch_in_a_lane_is_looked_up_in_one_request() -> None:
    definition, items = lane(3)
    _, store = run(definition, Guard.COMMIT, items)
    assert (store.calls["read"] - 1, store.keys_read - 1) == (2, 4)  # but for the start record, which the test reads


def test_a_delivery_that_goes_through_a_lane_reads_once_how_it_was_opened() -> None:
    """Then one request per branch checks that the branch may begin."""
    definition, items = lane(20)
    _, store = run(definition, Guard.READ, items, fusion=True)
    looks = {"the first": 1, "after the first": 1, "the second": 1, "before each other": 18}
    assert store.calls["read"] - 1 == sum(looks.values())
