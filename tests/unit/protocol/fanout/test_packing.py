"""Cost of results in packs, their histories, and Tasks with places in packs."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.unit.protocol.map_platform import around, deployed
from tests.unit.protocol.platform import Platform, chain
from unum_client.reading import stored_steps
from unum_compiler import compile_workflow
from unum_compiler import graph as g
from unum_compiler.definition import Definition as Source
from unum_compiler.options import FunctionOptions
from unum_runtime.errors import ExecutionDeleted, InconsistentHistory
from unum_runtime.model.checkpoint import TOMBSTONE, Checkpoint, Failure, Item, Phase, Success
from unum_runtime.model.ir import Collection, Workflow
from unum_runtime.model.naming import PACK_SIZE, Key, aside_key, checkpoint_key
from unum_runtime.model.pack import MAX_ENTRY_BYTES, is_full, marked
from unum_runtime.model.states import Guard, Json, Task
from unum_runtime.protocol.control.deletions.deletion_marks import marker
from unum_runtime.protocol.delivery.commit import draft
from unum_runtime.protocol.fanout.packing import (
    Place,
    commit_packed,
    find_packed,
    own_keys,
    packed_tasks,
    place_of,
    uncollected,
)
from unum_runtime.protocol.planning.plan import BranchFailed, Commit, plan
from unum_simulator.memory_store import MemoryStore
from unum_simulator.metering import Metered, meter

JOB = "arn:aws:states:::ecs:runTask.sync"
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


def test_a_full_pack_of_hundred_byte_results_makes_one_unit() -> None:
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


def test_eager_collection_leaves_a_tombstone_for_each_pack_and_no_value() -> None:
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
        ([("A", task()), ("P", {"Type": "Pass"}), ("W", {"Type": "Wait", "Seconds": 1})], []),
        ([("A", task()), ("M", {"Type": "Map", "ItemProcessor": chain("B")})], []),
        ([("M", {"Type": "Map", "ItemProcessor": chain("B")}), ("C", task())], []),
        ([("A", task(Catch=[{"ErrorEquals": ["States.ALL"], "Next": "C"}], End=True)), ("C", task())], ["C"]),
        ([("A", task(Resource="arn:aws:states:::sqs:sendMessage.waitForTaskToken", Parameters=MESSAGE))], []),
        ([("A", task(Resource=JOB, Parameters={"TaskDefinition": "t"}))], ["A"]),
        ([("A", task(Resource=JOB, Parameters={"TaskDefinition.$": "$$.Task.Token"}))], []),
    ],
    ids=[
        "alone",
        "second of two",
        "before a Pass",
        "before a Wait",
        "before a Pass and a Wait",
        "before a Map",
        "joins a Map",
        "caught by a Task",
        "waits for a responder",
        "waits for a job",
        "waits for a job or a responder",
    ],
)
def test_places_in_packs_are_for_tasks_after_which_the_branch_ends(
    states: list[tuple[str, Json]], places: list[str]
) -> None:
    assert list(packed_tasks(mapped(*states)).get("Each", ())) == places


def drawn(flow: g.Piece) -> Workflow:
    return replace(Source.from_graph(flow).compile("w", None), small_results=True)


def test_branches_of_a_parallel_have_places_for_each_of_their_tasks() -> None:
    assert packed_tasks(drawn(g.parallel(g.task("a"), g.task("b")))) == {"parallel": ("a", "b")}


@pytest.mark.parametrize(
    "flow",
    [
        g.map(g.task("encode") >> g.task("meet").meets_previous(), items=g.out),
        g.map(g.task("encode") >> g.task("rebase").after_previous("rebase"), items=g.out),
        g.map(g.task("encode") >> g.task("rebase").after_previous("encode"), items=g.out),
        g.map(g.task("encode") >> g.task("rebase").after_previous("tail") >> g.task("tail"), items=g.out),
        g.dag({"a": g.task("a"), "b": g.task("b").after("a")}),
    ],
    ids=[
        "neighbour join",
        "own result of the previous branch",
        "another result",
        "result for the next branch",
        "region",
    ],
)
def test_tasks_that_other_branches_look_at_have_no_places(flow: g.Piece) -> None:
    assert packed_tasks(drawn(flow)) == {}


def test_a_task_that_commits_for_another_has_no_place() -> None:
    workflow = compile_workflow(
        around(chain("A", "B")), name="w", functions=None, options={"A": FunctionOptions(checkpoint=False)}
    )
    assert packed_tasks(replace(workflow, small_results=True)) == {}


def test_every_path_behind_a_task_is_followed_and_each_state_once() -> None:
    def which(*following: str) -> Json:
        rules = [{"Variable": "$", "IsNull": True, "Next": each} for each in following[:-1]]
        return {"Type": "Choice", "Choices": rules, "Default": following[-1]}

    passing, end = {"Type": "Pass", "Next": "W"}, {"Type": "Pass", "End": True}
    several = {"A": task(Next="W"), "W": which("T", "P", "P"), "P": end, "T": task(End=True)}
    loop = {"A": task(Next="W"), "W": which("P", "Q"), "P": passing, "Q": end}
    default = {"A": task(Next="W"), "W": which("P", "T"), "P": end, "T": task(End=True)}
    inner = {"StartAt": "I", "States": {"I": {"Type": "Pass", "End": True}}}
    pure = {"A": task(Next="N"), "N": {"Type": "Map", "ItemProcessor": inner, "End": True}}
    for states, places in ((several, ["T"]), (loop, ["A"]), (default, ["T"]), (pure, ["A"])):
        workflow = compile_workflow(around({"StartAt": "A", "States": states}), name="w", functions=None)
        assert list(packed_tasks(replace(workflow, small_results=True)).get("M", ())) == places


LARGE = "x" * MAX_ENTRY_BYTES


def placed(*, tolerates: bool = False, collection: Collection = Collection.TTL) -> tuple[Platform, Place, Checkpoint]:
    """Return a platform with a Map of one branch, the branch's place, and an outcome of it."""
    distributed = {"ProcessorConfig": {"Mode": "DISTRIBUTED"}}
    definition = around(chain("B") | distributed, ToleratedFailureCount=1) if tolerates else around(chain("B"))
    platform = deployed(definition)
    platform.workflow, platform.collection = replace(platform.workflow, small_results=True), collection
    platform.start("e", [1])
    name = platform.sent[0].name
    place = place_of(platform.workflow, "B", name)
    assert place is not None
    return platform, place, draft(platform.runtime(), Commit(name, "B", Phase.LEFT, Success(5)))


def committed(platform: Platform, place: Place, checkpoint: Checkpoint) -> tuple[Item | None, Item]:
    return commit_packed(platform.runtime(), place, checkpoint, plan(platform.workflow, checkpoint))


def aside(checkpoint: Checkpoint) -> Key:
    return aside_key(checkpoint_key("w", checkpoint.name))


def test_an_entry_has_the_result_and_few_other_facts() -> None:
    platform, place, checkpoint = placed()
    assert committed(platform, place, checkpoint) == (None, {"state": "B", "e0": "0 0 0 0", "v0": "5"})


@pytest.mark.parametrize("tolerates", [False, True])
def test_a_failed_branch_fills_its_pack_only_if_its_map_tolerates_failures(*, tolerates: bool) -> None:
    platform, place, checkpoint = placed(tolerates=tolerates)
    winner, pack = committed(platform, place, replace(checkpoint, outcome=Failure("E", None)))
    assert (winner, is_full(pack, 1)) == (None, tolerates)


def test_a_result_after_which_the_branch_fails_does_not_count() -> None:
    platform, place, checkpoint = placed()
    failed = BranchFailed(checkpoint.name.execution, checkpoint.name.frames, Failure("E", None))
    _, pack = commit_packed(platform.runtime(), place, checkpoint, failed)
    assert not is_full(pack, 1)


def test_marks_of_deletions_are_found_in_packs_and_beside_them() -> None:
    platform, place, checkpoint = placed()
    platform.memory.create(aside(checkpoint), marker(5), expires_at_s=10**12)
    with pytest.raises(ExecutionDeleted):
        committed(platform, place, replace(checkpoint, outcome=Success(LARGE)))
    platform.memory.create(place.key, {**marker(5), "e0": "-"}, expires_at_s=10**12)
    with pytest.raises(ExecutionDeleted):
        committed(platform, place, checkpoint)


@pytest.mark.parametrize("outcome", [Success(LARGE), Failure("E", None)])
def test_an_outcome_that_was_set_aside_first_counts_as_it_is(outcome: Success | Failure) -> None:
    """Its delivery died before the entry; another one with another outcome writes the entry."""
    platform, place, checkpoint = placed()
    first = replace(checkpoint, outcome=outcome)
    platform.memory.create(aside(first), first.to_item(), expires_at_s=10**12)
    for other in (Success(LARGE + "y"), Failure("F", None)):
        winner, pack = committed(platform, place, replace(checkpoint, outcome=other))
        assert winner == first.to_item()
        assert is_full(pack, 1) is isinstance(outcome, Success)


@pytest.mark.parametrize("collection", Collection)
@pytest.mark.parametrize("first", [Success(5), Success(LARGE)], ids=["inside", "set aside"])
def test_only_what_no_entry_will_refer_to_is_collected(first: Success, collection: Collection) -> None:
    platform, place, checkpoint = placed(collection=collection)
    earlier, later = replace(checkpoint, outcome=first), replace(checkpoint, outcome=Success(LARGE + "y"))
    committed(platform, place, earlier)
    winner, _ = committed(platform, place, later)
    assert winner is not None
    assert Checkpoint.from_item(checkpoint.name, winner).outcome == first
    is_useless = first == Success(5)
    kept = platform.memory.read([aside(later)])[aside(later)]
    assert (TOMBSTONE in kept) is (is_useless and collection is Collection.EAGER)


def test_branch_that_ended_with_another_invocation_has_no_outcome_here() -> None:
    platform, place, checkpoint = placed()
    _, pack = committed(platform, place, checkpoint)
    for ended in (pack, marked(place.slot, counts=True)):
        with pytest.raises(InconsistentHistory, match="its branch has ended with another invocation"):
            find_packed(platform.runtime(), place, checkpoint.name.following, ended)
    assert find_packed(platform.runtime(), place, checkpoint.name, {}) is None


def test_stored_outcome_is_in_its_pack_or_beside_it_or_has_its_own_key() -> None:
    platform, place, checkpoint = placed()
    rt, large = platform.runtime(), replace(checkpoint, outcome=Success(LARGE))
    assert own_keys(rt, checkpoint) == [place.key]
    assert own_keys(rt, replace(checkpoint, outcome=Success("x" * 111))) == [place.key]
    assert own_keys(rt, large) == [place.key, aside(large)]
    origin = platform.steps()[0]
    assert own_keys(rt, origin) == [checkpoint_key("w", origin.name)]


def test_packs_and_items_beside_them_are_found_unless_they_are_collected() -> None:
    _, place, checkpoint = placed()
    own = checkpoint_key("w", checkpoint.name)
    items: dict[Key, Item] = {own: {}, place.key: {}, aside(checkpoint): {}}
    assert uncollected(items) == [place.key, aside(checkpoint)]
    assert uncollected({key: {TOMBSTONE: 1} for key in items}) == []


def test_a_quorum_has_no_packs() -> None:
    flow = g.parallel(g.task("a"), g.task("b")).quorum(1)
    assert packed_tasks(drawn(flow)) == {}


def test_without_the_option_nothing_is_packed() -> None:
    assert packed_tasks(mapped(("A", task()), small_results=False)) == {}


def test_a_fan_out_without_places_completes_beside_those_with_packs() -> None:
    waiting = mapped(("Work", task()), ("W", {"Type": "Wait", "Seconds": 1}))
    assert packed_tasks(waiting) == {}
    assert executed(waiting, 3, lambda event: event).usage.calls > START_AND_ENDS


def test_entry_whose_outcome_is_gone_is_an_error() -> None:
    platform, place, checkpoint = placed()
    committed(platform, place, replace(checkpoint, outcome=Success("x" * 1_000)))
    del platform.memory._items[aside(checkpoint)]
    with pytest.raises(InconsistentHistory, match="expected an outcome in"):
        committed(platform, place, replace(checkpoint, outcome=Success("small")))


def test_failed_branch_of_a_parallel_fails_it() -> None:
    branches = [{"StartAt": name, "States": {name: {"Type": "Task", "Resource": name, "End": True}}} for name in "AB"]
    definition = {"StartAt": "P", "States": {"P": {"Type": "Parallel", "Branches": branches, "End": True}}}

    def fail(event: Any) -> Any:
        raise ValueError(event)

    platform = Platform.of(definition, A=lambda event: event, B=fail)
    platform.workflow = replace(platform.workflow, small_results=True)
    ending = platform.run("e", 1)
    assert ending is not None
    assert isinstance(ending.outcome, Failure)
    assert ending.outcome.error == "ValueError"
