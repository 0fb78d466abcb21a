"""What deletions find and tell beside the steps of an execution: copies, tokens, completion sets, and waits."""

from typing import Any

import pytest

from tests.unit.protocol.control.test_delete import (
    PLACES,
    asking,
    delete_for_good,
    end,
    is_token,
    outer,
    rest,
    stopped,
)
from tests.unit.protocol.control.test_nudge import drawn
from tests.unit.protocol.cut_store import Died
from tests.unit.protocol.job_platform import watching
from tests.unit.protocol.map_platform import around, deployed, mapped
from tests.unit.protocol.platform import Platform, chain
from unum_compiler import compile_workflow
from unum_compiler import graph as g
from unum_compiler.options import FunctionOptions
from unum_runtime.cold_start.records import replace
from unum_runtime.errors import ExecutionNotDeletable, RefusedDelivery
from unum_runtime.model.checkpoint import Failure
from unum_runtime.model.naming import Execution, Key, Name, Scope, completion_key
from unum_runtime.model.states import Guard
from unum_runtime.protocol.control.deletions.delete import QUIET_MS, delete
from unum_runtime.protocol.control.forks.fork import ForkRequest, fork
from unum_runtime.protocol.control.redrives.redrive import redrive
from unum_runtime.protocol.control.stop import note_key, stop
from unum_runtime.protocol.history.start_records import start_record
from unum_runtime.protocol.requests.definition_records import write_definition
from unum_runtime.protocol.waiting.callback import try_partition


def test_copies_of_a_redrive_that_died_are_deleted() -> None:
    broken = [2]

    def fragile(event: Any) -> Any:
        if event in broken:
            raise ValueError(event)
        return event

    platform = deployed(mapped("A", "B"), B=fragile)
    platform.run("e", [1, 2])
    before = {*platform.memory._items}
    redriven_until_died(platform)
    assert {*platform.memory._items} - before
    delete_for_good(platform)
    assert rest(platform) == []


def redriven_until_died(platform: Platform) -> None:
    """Redrive; die after the last copy, before the step that leads to it."""
    create = platform.memory.create

    def dying(key: Key, item: Any, *, expires_at_s: int) -> Any:
        if item.get("phase") == "entered" and "list" in item:
            raise Died("create")
        return create(key, item, expires_at_s=expires_at_s)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(platform.memory, "create", dying)
        with pytest.raises(Died):
            redrive(platform.runtime(), "e")


def test_copies_of_a_fork_that_died_are_deleted() -> None:
    platform = deployed(mapped("A", after="C"))
    platform.run("f", [1, 2])
    original = {*rest(platform)}
    create = platform.memory.create

    def dying(key: Key, item: Any, *, expires_at_s: int) -> Any:
        if item.get("state") == "M" and "opens" in item:
            raise Died("create")
        return create(key, item, expires_at_s=expires_at_s)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(platform.memory, "create", dying)
        with pytest.raises(Died):
            fork(platform.runtime(), ForkRequest(execution="f", name="e", node="C"))
    stop(platform.runtime(), start_record(platform.memory, "w", "e").name.execution, Failure("Stop", None))
    delete_for_good(platform)
    assert {*rest(platform)} - original == set()


def test_first_deletion_leaves_no_token_of_a_first_step_of_a_branch() -> None:
    platform = stopped(around(asking("Ask")), [1])
    assert any(is_token(key) for key in rest(platform))
    delete(platform.runtime(), "e")
    assert not any(is_token(key) for key in rest(platform))


def test_steps_of_branches_are_gone_after_the_first_deletion() -> None:
    platform = deployed(mapped("A", "B"))
    platform.run("e", [1, 2])
    in_branches = {key for key in platform.memory._items if "~" in key.partition}
    assert len(in_branches) == 4
    delete(platform.runtime(), "e")
    assert in_branches.isdisjoint(platform.memory._items)


def test_late_end_of_a_branch_is_deleted_in_the_end() -> None:
    platform = deployed(mapped("A"))
    platform.run("e", [1, 2])
    first = delete(platform.runtime(), "e")
    scope = Scope(Execution("e", platform.clock.ms), (), "M", 2, 0, 2)
    platform.memory.add(completion_key("w", scope, 0), 0, expires_at_s=10**12)
    assert rest(platform)
    platform.clock.ms = first.deleted_ms + QUIET_MS
    delete(platform.runtime(), "e")
    assert rest(platform) == []


def test_all_late_tokens_are_deleted_whatever_their_number() -> None:
    platform = stopped(asking("A", "Ask"), 1)
    given = {key: item for key, (item, _) in platform.memory._items.items() if is_token(key)}
    delete(platform.runtime(), "e")
    name = Name(Execution("e", platform.clock.ms), (), 2)
    partitions = [try_partition("w", name, "Ask", attempt) for attempt in range(4)]
    assert {key.partition for key in given} == {partitions[0]}
    for partition in partitions:
        for key, item in given.items():
            platform.memory.create(key._replace(partition=partition), item, expires_at_s=10**12)
    platform.clock.ms += QUIET_MS
    delete(platform.runtime(), "e")
    assert rest(platform) == []


@pytest.mark.parametrize("place", PLACES)
def test_stop_leaves_a_note_and_a_deletion_takes_it(place: str) -> None:
    platform = stopped(PLACES[place](asking("Ask")), [1])
    (last,) = [step for step in platform.steps() if step.is_stop]
    assert platform.memory.read([note_key("w", last.name)])
    delete_for_good(platform)
    assert not platform.memory.read([note_key("w", last.name)])


def test_late_event_of_an_unguarded_task_starts_no_job() -> None:
    platform = watching()
    job = replace(platform.workflow.task("Job"), guard=Guard.COMMIT)
    platform.workflow = replace(platform.workflow, states={**platform.workflow.states, "Job": job})
    platform.start("e", 1)
    (event,) = platform.sent
    platform.deliver_all()
    end(platform)
    first = delete(platform.runtime(), "e")
    for _ in range(2):
        with pytest.raises(RefusedDelivery):
            platform.deliver(event)
        assert len(platform.started) == 1
        platform.clock.ms = first.deleted_ms + QUIET_MS
        delete(platform.runtime(), "e")
    assert rest(platform) == []


def test_deletion_forgets_the_sizes_of_unguarded_fan_outs_in_the_end() -> None:
    definition = outer(around(chain("A")))
    platform = Platform.of(definition, {"A": FunctionOptions(guard=Guard.COMMIT)}, A=lambda event: event)
    platform.run("e", [[1, 2], [3]])
    delete_for_good(platform)
    assert rest(platform) == []


def test_two_deletions_at_once_tell_the_time_of_the_first() -> None:
    platform = deployed(chain("A"))
    platform.run("e", 1)
    create, reply = platform.memory.create, list[int]()

    def late(key: Key, item: Any, *, expires_at_s: int) -> Any:
        platform.memory.create = create
        platform.clock.ms -= 5
        reply.append(delete(platform.runtime(), "e").deleted_ms)
        platform.clock.ms += 5
        return create(key, item, expires_at_s=expires_at_s)

    platform.memory.create = late
    assert [delete(platform.runtime(), "e").deleted_ms] == reply == [platform.clock.ms - 5]


@pytest.mark.parametrize("deployed_now", ["the same", "another definition"])
def test_late_events_of_unguarded_branches_leave_nothing(deployed_now: str) -> None:
    platform = Platform.of(around(chain("A")), {"A": FunctionOptions(guard=Guard.COMMIT)}, A=lambda event: event)
    write_definition(platform.runtime())
    platform.start("e", [1, 2])
    events, own = platform.sent, platform.workflow
    platform.sent = []
    end(platform)
    if deployed_now == "another definition":
        platform.workflow = compile_workflow(chain("A", "B"), name="w", functions=["A", "B"])
    delete_for_good(platform)
    platform.workflow = own
    for event in events:
        with pytest.raises(RefusedDelivery):
            platform.deliver(event)
    assert [key for key in rest(platform) if not key.partition.startswith("definition:")] == []


def test_shared_results_without_a_lifetime_are_told_for_the_retention() -> None:
    platform = Platform.of(chain("A"), {"A": FunctionOptions(memoize=True)}, A=lambda event: event)
    platform.run("e", 1)
    reply = {each.what: each.until_ms for each in delete(platform.runtime(), "e").remains}
    until_ms = platform.clock.ms + platform.runtime().retention_s * 1000
    assert reply["results that its Tasks share with other executions (`memoize`)"] == until_ms


def test_redrive_that_is_faster_than_a_deletion_keeps_its_execution() -> None:
    platform = stopped(asking("A", "Ask"), 1)
    create = platform.memory.create

    def late(key: Key, item: Any, *, expires_at_s: int) -> Any:
        platform.memory.create = create
        redrive(platform.runtime(), "e")
        return create(key, item, expires_at_s=expires_at_s)

    platform.memory.create = late
    with pytest.raises(ExecutionNotDeletable):
        delete(platform.runtime(), "e")


FAN_OUTS = {
    "two parts": (g.map(g.task("A"), items=g.out), [*range(300)]),
    "neighbours": (g.map(g.task("A") >> g.task("B").meets_previous(), items=g.out), [1, 2, 3]),
}


@pytest.mark.parametrize("fan_out", FAN_OUTS)
def test_every_set_of_a_fan_out_is_deleted(fan_out: str) -> None:
    flow, value = FAN_OUTS[fan_out]
    platform = drawn(flow, A=lambda n: n, B=lambda both: both)
    platform.run("e", value)
    assert len(platform.memory._sets) > 1
    delete_for_good(platform)
    assert rest(platform) == []
