"""What results in packs cost, what is told of them, and which Tasks have places in packs."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from unum_compiler import compile_workflow
from unum_compiler import graph as g
from unum_compiler.definition import Definition
from unum_runtime.client.reading import stored_steps
from unum_runtime.model.checkpoint import Success
from unum_runtime.model.ir import Collection, Workflow
from unum_runtime.model.naming import PACK_SIZE
from unum_runtime.model.pack import MAX_ENTRY_BYTES
from unum_runtime.model.states import Guard, Json, Task
from unum_runtime.protocol.fanout.packing import packed_tasks
from unum_runtime.simulator.metering import Metered, meter
from unum_runtime.store.memory import MemoryStore

MESSAGE = {"QueueUrl": "q", "MessageBody.$": "$$.Task.Token"}

START_AND_ENDS = 4
"""Writes beside those of the branches: the start record, what opens the fan-out, and the Task that joins it, which is
read with one query."""


def mapped(*states: tuple[str, Json], small_results: bool = True, guard: Guard = Guard.COMMIT) -> Workflow:
    """A Map over the execution's input, of branches with `states`, and a Task that joins what they come to."""
    names = [name for name, _ in states]
    inside = {
        name: state if "End" in state else {**({"Next": following} if following else {"End": True}), **state}
        for (name, state), following in zip(states, [*names[1:], None], strict=True)
    }
    definition = {
        "StartAt": "Each",
        "States": {
            "Each": {"Type": "Map", "ItemProcessor": {"StartAt": names[0], "States": inside}, "Next": "Join"},
            "Join": task(End=True),
        },
    }
    workflow = compile_workflow(definition, name="w", functions=None)
    guarded = {
        name: replace(state, guard=guard) if isinstance(state, Task) else state
        for name, state in workflow.states.items()
    }
    return replace(workflow, states=guarded, small_results=small_results or None)


def task(**fields: Json) -> Json:
    return {"Type": "Task", "Resource": "f", **fields}


def executed(
    workflow: Workflow, width: int, result: Callable[[int], Json], collection: Collection = Collection.TTL
) -> Metered:
    functions = {state.name: lambda event, _: result(event) for state in workflow.tasks}
    functions["Join"] = lambda event, _: len(event)
    run = meter(workflow, functions, list(range(width)), collection=collection)
    assert run.ending.outcome == Success(width)
    return run


@pytest.mark.parametrize("width", [1, PACK_SIZE, PACK_SIZE + 1, 100, 256, 257, 500])
def test_small_results_are_committed_and_completed_in_one_write(width: int) -> None:
    shards = -(-width // 256)
    packs = (shards - 1) * 37 + -(-(width - (shards - 1) * 256) // PACK_SIZE)
    run = executed(mapped(("Work", task())), width, lambda event: event)
    assert run.usage.calls == START_AND_ENDS + shards - 1 + width + (packs if packs > 1 else 0)


def test_as_many_results_as_a_pack_has_places_make_one_unit_if_each_has_a_hundred_bytes() -> None:
    run = executed(mapped(("Work", task())), 100, lambda _: "x" * 98)
    assert run.usage.write_units == run.usage.writes == 119 - 1


def test_large_results_cost_a_write_more_for_each_pack() -> None:
    without = executed(mapped(("Work", task()), small_results=False), 100, lambda _: "x" * MAX_ENTRY_BYTES)
    run = executed(mapped(("Work", task())), 100, lambda _: "x" * MAX_ENTRY_BYTES)
    assert run.usage.writes == without.usage.writes + 15


def test_the_guard_reads_the_pack_instead_of_a_checkpoint() -> None:
    reads = {
        small: executed(mapped(("Work", task()), small_results=small, guard=Guard.READ), 10, lambda event: event)
        for small in (False, True)
    }
    assert reads[True].usage.reads == reads[False].usage.reads


def test_eager_collection_leaves_a_tombstone_for_each_pack_and_none_of_the_values() -> None:
    run = executed(mapped(("Work", task())), 10, lambda event: f"confidential {event}", Collection.EAGER)
    record = stored_steps.start_record(run.store, "w", run.name)
    steps = list(stored_steps.steps(run.store, "w", record.name.execution))
    assert [step.state for step in steps].count("Work") == 10, "who has committed is still told"
    assert "confidential" not in repr(steps)


@pytest.mark.parametrize("width", [1, PACK_SIZE + 1, 100, 257])
def test_eager_collection_empties_the_completion_sets_of_packs(width: int) -> None:
    run = executed(mapped(("Work", task())), width, lambda event: event, Collection.EAGER)
    assert isinstance(run.store, MemoryStore)
    assert [key for key, (members, _) in run.store._sets.items() if members] == []


def test_the_history_tells_of_results_in_packs_what_it_tells_of_others() -> None:
    shown = []
    for small in (False, True):
        workflow = mapped(("First", task()), ("Second", task()), small_results=small)
        run = executed(workflow, 9, lambda event: "x" * 200 if event == 3 else event)
        record = stored_steps.start_record(run.store, "w", run.name)
        steps = stored_steps.steps(run.store, "w", record.name.execution)
        shown.append([replace(step, digest="", opens=None) for step in steps])
    assert shown[0] == shown[1]
    assert [step.state for step in shown[1]].count("Second") == 9


@pytest.mark.parametrize(
    ("states", "places"),
    [
        ([("A", task())], ["A"]),
        ([("A", task()), ("B", task())], ["B"]),
        ([("A", task()), ("P", {"Type": "Pass"})], ["A"]),
        ([("A", task()), ("W", {"Type": "Wait", "Seconds": 1})], []),
        ([("A", task(Catch=[{"ErrorEquals": ["States.ALL"], "Next": "C"}], End=True)), ("C", task())], ["C"]),
        ([("A", task(Resource="arn:aws:states:::sqs:sendMessage.waitForTaskToken", Parameters=MESSAGE))], []),
    ],
    ids=["alone", "second of two", "before a Pass", "before a Wait", "caught by a Task", "waits for a holder"],
)
def test_places_in_packs_are_for_tasks_behind_which_the_branch_certainly_ends(
    states: list[tuple[str, Json]], places: list[str]
) -> None:
    assert list(packed_tasks(mapped(*states)).get("Each", ())) == places


def test_a_quorum_has_no_packs() -> None:
    flow = g.parallel(g.task("a"), g.task("b")).quorum(1)
    workflow = Definition.from_graph(flow).compile("w", None)
    assert packed_tasks(replace(workflow, small_results=True)) == {}


def test_without_the_option_nothing_is_packed() -> None:
    assert packed_tasks(mapped(("A", task()), small_results=False)) == {}


def test_a_fan_out_without_places_completes_beside_those_with_packs() -> None:
    waiting = mapped(("Work", task()), ("W", {"Type": "Wait", "Seconds": 1}))
    assert packed_tasks(waiting) == {}
    assert executed(waiting, 3, lambda event: event).usage.calls > START_AND_ENDS
