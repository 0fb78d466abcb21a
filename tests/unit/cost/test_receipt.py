"""Receipts of stored executions, beside what the same executions used when they ran."""

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.protocol.map_platform import around, deliver_all, deployed
from tests.unit.protocol.platform import chain
from unum_compiler import graph as g
from unum_compiler.cost.receipt import stored_receipt
from unum_compiler.definition import Definition
from unum_runtime.errors import ExecutionDoesNotExist
from unum_runtime.model.checkpoint import Status
from unum_runtime.model.ir import Collection
from unum_runtime.model.states import Guard, Json, Task
from unum_runtime.protocol.control.redrives.redrive import redrive
from unum_simulator.local import Function
from unum_simulator.memory_store import MemoryStore
from unum_simulator.metering import MeteredStore, Usage, meter

CHAIN = g.task("one") >> g.task("two") >> g.task("three")
MAPPED = g.task("make") >> g.map(g.task("first") >> g.task("second"), items=g.out) >> g.task("join")
LANES = g.task("make") >> g.map(g.task("work"), items=g.out, at_once=2) >> g.task("join")
TWO = g.parallel(g.task("a"), g.task("b")) >> g.task("join")
NESTED = g.map(g.map(g.task("work"), items=g.out), items=g.out) >> g.parallel(g.task("a"), g.task("b"))


@pytest.mark.parametrize("small_results", [None, True])
@pytest.mark.parametrize(
    ("flow", "value", "tasks"),
    [
        (CHAIN, "x" * 3_000, 3),
        (MAPPED, [1, "x" * 2_000], 6),
        (MAPPED, [], 2),
        (MAPPED, list(range(300)), 602),
        (NESTED, [[1, 2], [3]], 5),
        (LANES, list(range(20)), 22),
    ],
    ids=["chain", "map", "empty map", "shards", "nested", "lanes"],
)
def test_a_receipt_has_every_write_of_the_execution(
    flow: g.Piece,
    value: Json,
    tasks: int,
    small_results: bool | None,  # noqa: FBT001 - a parameter of the test
) -> None:
    workflow = replace(Definition.from_graph(flow).compile("w", None), small_results=small_results)
    functions = {task.function: lambda event, _: event for task in workflow.tasks}
    run = meter(workflow, functions, value)
    receipt = stored_receipt(run.store, "w", run.name)
    assert (receipt.writes, receipt.write_units) == (run.usage.writes, run.usage.write_units)
    assert receipt.tasks == tasks
    assert receipt.invocations == run.usage.invocations
    assert receipt.item_bytes <= run.usage.stored_bytes


@pytest.mark.parametrize("collection", Collection)
@pytest.mark.parametrize("guard", Guard)
@pytest.mark.parametrize("failing", ["a", "b", "join", "first", "second", None])
@pytest.mark.parametrize(("flow", "value"), [(TWO, 1), (MAPPED, list(range(300)))], ids=["parallel", "map"])
def test_a_receipt_never_has_more_than_was_used(
    flow: g.Piece, value: Json, failing: str | None, guard: Guard, collection: Collection
) -> None:
    compiled = Definition.from_graph(flow).compile("w", None)
    states = {
        name: replace(each, guard=guard) if isinstance(each, Task) else each for name, each in compiled.states.items()
    }
    workflow = replace(compiled, states=states, collection=collection)
    functions = {
        task.function: returns_all_but_299 if task.function == failing else (lambda event, _: event)
        for task in workflow.tasks
    }
    run = meter(workflow, functions, value)
    receipt, usage = stored_receipt(run.store, "w", run.name), run.usage
    assert receipt.writes <= usage.writes
    assert receipt.write_units <= usage.write_units
    assert receipt.invocations <= usage.invocations
    assert receipt.item_bytes <= usage.stored_bytes
    if guard is not Guard.LEASE and collection is Collection.TTL and failing in ("join", None):
        assert receipt.writes == usage.writes


def fails_for(*values: Json) -> Function:
    def work(event: Json, _context: object) -> Json:
        if event in values:
            raise ValueError("no")
        return event

    return work


def fails_once() -> Function:
    tried: list[Json] = []

    def work(event: Json, _context: object) -> Json:
        tried.append(event)
        if tried.count(2) == 1 and event == 2:
            raise ValueError("once")
        return event

    return work


def some_uneven() -> g.Piece:
    longer = g.task("first") >> g.task("second") >> g.task("third")
    return g.map(g.choose((g.out > 3, longer), default=g.task("short")), items=g.out).quorum(2)


STEPS = g.task("first") >> g.task("second")
CAUGHT: list[Json] = [{"ErrorEquals": ["States.ALL"], "Next": "C"}]
RETRIED: list[Json] = [{"ErrorEquals": ["States.ALL"], "MaxAttempts": 1, "IntervalSeconds": 1}]
DISTRIBUTED = {"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}}
IN_PLACE: Json = {
    "StartAt": "Which",
    "States": {
        "Which": {
            "Type": "Choice",
            "Choices": [
                {"Variable": "$", "NumericEquals": 1, "Next": "Nothing"},
                {"Variable": "$", "NumericEquals": 2, "Next": "Later"},
            ],
            "Default": "A",
        },
        "Nothing": {"Type": "Pass", "End": True},
        "Later": {"Type": "Wait", "Seconds": 5, "End": True},
        "A": {"Type": "Task", "Resource": "A", "End": True},
    },
}
INNER: Json = {"StartAt": "N", "States": {"N": {"Type": "Map", "ItemProcessor": chain("A", "B"), "End": True}}}
Functions = dict[str, Function]

ENDED_DIFFERENTLY: dict[str, tuple[g.Piece | Json, Json, Functions]] = {
    "quorum": (g.map(STEPS, items=g.out).quorum(2) >> g.task("join"), [1, 2, 3, 4, 5], {}),
    "quorum of single Tasks": (g.map(g.task("first"), items=g.out).quorum(2), [1, 2, 3, 4, 5], {}),
    "quorum without a Task after it": (g.map(STEPS, items=g.out).quorum(2), [1, 2, 3, 4, 5], {}),
    "quorum of some": (g.map(STEPS, items=g.out).quorum(2), [1, 2, 3, 4, 5], {"second": fails_for(1, 2)}),
    "quorum of too few": (g.map(STEPS, items=g.out).quorum(4), [1, 2, 3, 4, 5], {"second": fails_for(1, 2)}),
    "quorum that leaves longer branches": (some_uneven(), [1, 5, 2, 6, 7], {}),
    "quorum of quorums": (g.map(g.map(STEPS, items=g.out).quorum(1), items=g.out).quorum(1), [[1, 2], [3, 4]], {}),
    "caught": (around(chain("A", "B"), after="C", Catch=CAUGHT), [1, 2, 3], {"B": fails_for(2)}),
    "retried": (around(chain("A", "B"), after="C", Retry=RETRIED), [1, 2, 3], {"B": fails_once()}),
    "retried, then caught": (
        around(chain("A", "B"), after="C", Retry=RETRIED, Catch=CAUGHT),
        [1, 2, 3],
        {"A": fails_for(2)},
    ),
    "lanes": (around(chain("A"), after="C", MaxConcurrency=3), list(range(300)), {}),
    "lanes that fail": (around(chain("A", "B"), MaxConcurrency=2), [1, 2, 3, 4, 5], {"A": fails_for(2)}),
    "tolerated": (
        around(chain("A", "B") | DISTRIBUTED, ToleratedFailureCount=2),
        [1, 2, 3, 4, 5],
        {"A": fails_for(1), "B": fails_for(2)},
    ),
    "tolerated, all last": (
        around(chain("A") | DISTRIBUTED, ToleratedFailureCount=9),
        list(range(20)),
        {"A": fails_for(1, 6, 7, 19)},
    ),
    "not tolerated": (
        around(chain("A", "B") | DISTRIBUTED, after="C", ToleratedFailureCount=1, Catch=CAUGHT),
        [1, 2, 3, 4, 5],
        {"A": fails_for(1, 2, 3)},
    ),
    "nested": (around(INNER, after="C"), [[1, 2], [3, 4]], {}),
    "nested, caught": (around(INNER, after="C", Catch=CAUGHT), [[1, 2], [3, 4]], {"B": fails_for(2)}),
    "branches in place": (around(IN_PLACE, after="C"), [1, 2, 3], {}),
    "large": (around(chain("A", "B"), after="C"), ["x" * 20_000, "y" * 30_000, 1], {}),
}


@pytest.mark.parametrize("small_results", [None, True])
@pytest.mark.parametrize("collection", Collection)
@pytest.mark.parametrize("guard", [Guard.READ, Guard.COMMIT])
@pytest.mark.parametrize("way", ENDED_DIFFERENTLY)
def test_a_receipt_knows_which_branches_ended(
    way: str,
    guard: Guard,
    collection: Collection,
    small_results: bool | None,  # noqa: FBT001 - a parameter of the test
) -> None:
    flow, value, given = ENDED_DIFFERENTLY[way]
    definition = Definition.from_asl(flow) if isinstance(flow, dict) else Definition.from_graph(flow)
    compiled = definition.compile("w", None)
    states = {
        name: replace(each, guard=guard) if isinstance(each, Task) else each for name, each in compiled.states.items()
    }
    workflow = replace(compiled, states=states, collection=collection, small_results=small_results)
    functions = {task.function: given.get(task.function, lambda event, _: event) for task in workflow.tasks}
    run = meter(workflow, functions, value, by_reference=way == "large")
    receipt, usage = stored_receipt(run.store, "w", run.name), run.usage
    assert receipt.writes <= usage.writes
    assert receipt.write_units <= usage.write_units
    assert receipt.invocations <= usage.invocations
    assert receipt.object_writes <= usage.object_writes
    assert receipt.item_bytes <= usage.stored_bytes
    if guard is Guard.READ and collection is Collection.TTL:
        assert (receipt.writes, receipt.write_units) == (usage.writes, usage.write_units)
        assert receipt.object_writes == usage.object_writes


def test_a_branch_without_a_task_takes_no_invocation_and_a_wait_takes_one() -> None:
    workflow = Definition.from_asl(around(IN_PLACE, after="C")).compile("w", None)
    run = meter(workflow, dict.fromkeys("AC", lambda event, _: event), [1, 2, 3])
    assert stored_receipt(run.store, "w", run.name).invocations == run.usage.invocations == 4


def returns_all_but_299(event: Json, _context: object) -> Json:
    if event in (1, 299) or isinstance(event, list):
        raise ValueError("no")
    return event


def test_what_is_collected_was_written_twice() -> None:
    workflow = replace(Definition.from_graph(CHAIN).compile("w", None), collection=Collection.EAGER)
    run = meter(workflow, {task.function: lambda event, _: event for task in workflow.tasks}, 1)
    receipt = stored_receipt(run.store, "w", run.name)
    assert (receipt.writes, receipt.write_units) == (6, 6) == (run.usage.writes, run.usage.write_units)


def test_what_a_redrive_copies_is_written_and_does_not_run_again() -> None:
    broken = {2}

    def fragile(event: Any) -> Any:
        if event in broken:
            raise ValueError(event)
        return event

    inner = {"Type": "Map", "ItemProcessor": chain("A", "B"), "End": True}
    platform = deployed(around({"StartAt": "N", "States": {"N": inner}}, after="C"), B=fragile)
    usage = Usage()
    platform.store = platform.memory = MeteredStore(platform.clock, usage=usage)
    platform.start("e", [[1, 2], [3]])
    deliver_all(platform)
    broken.clear()
    platform.clock.pass_seconds(60)
    redrive(platform.runtime(), "e")
    deliver_all(platform)
    ending = platform.ending()
    receipt = stored_receipt(platform.memory, "w", "e")
    assert ending is not None
    assert ending.status is Status.SUCCEEDED
    assert receipt.tasks == sum(platform.calls.values())
    assert receipt.writes <= usage.writes


def test_tasks_of_one_function_take_one_invocation() -> None:
    flow = g.seq(*(g.task(name, function="work") for name in "ABC"))
    run = meter(Definition.from_graph(flow).compile("w", None), {"work": lambda event, _: event}, 1)
    receipt = stored_receipt(run.store, "w", run.name)
    assert (receipt.tasks, receipt.invocations) == (3, 1) == (3, run.usage.invocations)


def test_a_receipt_counts_objects_and_not_what_is_in_them() -> None:
    workflow = Definition.from_graph(CHAIN).compile("w", None)
    functions = {task.function: lambda event, _: event for task in workflow.tasks}
    run = meter(workflow, functions, "x" * 500_000, by_reference=True)
    receipt = stored_receipt(run.store, "w", run.name)
    assert (receipt.writes, receipt.write_units) == (run.usage.writes, run.usage.write_units) == (4, 4)
    assert receipt.object_writes == run.usage.object_writes == 4
    inline = receipt.write_units * 0.625e-6 + receipt.tasks * 0.2e-6
    assert receipt.usd == pytest.approx(inline + 4 * 5e-6)


def test_an_execution_that_does_not_exist_has_no_receipt() -> None:
    with pytest.raises(ExecutionDoesNotExist):
        stored_receipt(MemoryStore(), "w", "nobody")


def test_what_is_too_large_for_an_event_took_no_invocation() -> None:
    several = {"Type": "Pass", "Parameters": {f"text{number}.$": "$" for number in range(6)}, "Next": "Two"}
    states = {
        "One": {"Type": "Task", "Resource": "one", "Next": "Several"},
        "Several": several,
        "Two": {"Type": "Task", "Resource": "two", "End": True},
    }
    workflow = Definition.from_asl({"StartAt": "One", "States": states}).compile("w", None)
    run = meter(workflow, dict.fromkeys(("one", "two"), lambda event, _: event), "x" * 200_000)
    assert run.ending.status is Status.FAILED
    assert stored_receipt(run.store, "w", run.name).invocations == run.usage.invocations == 1
