"""Calls that share results by a key of their arguments."""

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.client.called_tasks import World, new_world
from unum_runtime.errors import CallFailed, InvalidExecutionInput
from unum_runtime.features.memo import calling
from unum_runtime.model.variants import forced


@pytest.fixture
def keyed() -> World:
    return with_key(new_world())


def with_key(world: World) -> World:
    """Let the member `n` of the arguments identify the result of the Task, for an hour."""
    task = replace(world.platform.workflow.task("Resize"), memo_key=(("n",),), memo_lifetime_s=3_600)
    states = {**world.platform.workflow.states, "Resize": task}
    world.platform.workflow = replace(world.platform.workflow, states=states)
    return world


def runs(world: World) -> int:
    return sum("/calls~" in key.partition for key in world.platform.memory._items)


def test_calls_with_one_key_share_the_run_with_the_first_arguments(keyed: World) -> None:
    one, two = (keyed.client().begin_call("Resize", {"n": 1, "x": x}) for x in (1, 2))
    assert (one._answer, len(keyed.platform.sent)) == (two._answer, 1)
    assert one.result() == two.result() == {"got": {"n": 1, "x": 1}}
    assert keyed.client().call("Resize", {"n": 1, "x": 3}) == {"got": {"n": 1, "x": 1}}
    assert (keyed.platform.calls, runs(keyed)) == ({"Resize": 1}, 1)


def test_callers_that_begin_a_run_at_the_same_time_share_it_by_its_key(
    keyed: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second caller passes between the run's number and its start record, so its arguments are the run's."""
    create, second = calling.start_records.create_start, []

    def late(*arguments: Any, **options: Any) -> Any:
        monkeypatch.undo()
        second.append(keyed.client().begin_call("Resize", {"n": 1, "x": 2}))
        return create(*arguments, **options)

    monkeypatch.setattr(calling.start_records, "create_start", late)
    first = keyed.client().begin_call("Resize", {"n": 1, "x": 1})
    assert first.result() == second[0].result() == {"got": {"n": 1, "x": 2}}
    assert (keyed.platform.calls, runs(keyed)) == ({"Resize": 1}, 1)


def test_caller_resends_the_first_arguments_of_a_dead_call_with_its_key(keyed: World) -> None:
    keyed.client().begin_call("Resize", {"n": 1, "x": 1})
    keyed.platform.sent.clear()
    keyed.platform.clock.pass_seconds(61)
    assert keyed.client().call("Resize", {"n": 1, "x": 2}) == {"got": {"n": 1, "x": 1}}
    assert (keyed.platform.calls, runs(keyed)) == ({"Resize": 1}, 1)


def test_next_call_with_a_key_runs_its_own_arguments_after_a_failure(keyed: World) -> None:
    def fail_once(event: Any) -> Any:
        if event["x"] == 1:
            raise ValueError(event)
        return event

    keyed.platform.functions["F"] = fail_once
    one, two = (keyed.client().begin_call("Resize", {"n": 1, "x": x}) for x in (1, 2))
    for each in (one, two):
        with pytest.raises(CallFailed, match="'x': 1"):
            each.result()
    assert keyed.client().call("Resize", {"n": 1, "x": 3}) == {"n": 1, "x": 3}
    assert runs(keyed) == 2


def test_next_call_with_a_key_runs_its_own_arguments_after_expiry(keyed: World) -> None:
    assert keyed.client().call("Resize", {"n": 1, "x": 1}) == {"got": {"n": 1, "x": 1}}
    keyed.platform.clock.pass_seconds(3_601)
    one, two = (keyed.client().begin_call("Resize", {"n": 1, "x": x}) for x in (2, 3))
    assert one.result() == two.result() == {"got": {"n": 1, "x": 2}}
    assert (keyed.platform.calls, runs(keyed)) == ({"Resize": 2}, 2)


def test_a_forced_execution_replaces_what_calls_with_the_same_key_get(keyed: World) -> None:
    keyed.client().call("Resize", {"n": 1, "x": 1})
    underway = keyed.client().begin_call("Resize", {"n": 2, "x": 1})
    first, plain = keyed.platform.sent.pop(), keyed.platform.workflow
    keyed.platform.workflow = forced(plain)
    keyed.platform.run("f", [{"n": 1, "s": 1}, {"n": 2, "s": 1}])
    keyed.platform.sent, keyed.platform.workflow = [first], plain
    assert keyed.client().call("Resize", {"n": 1, "x": 2}) == {"got": {"n": 1}}
    assert keyed.client().call("Resize", {"n": 2, "x": 2}) == underway.result() == {"got": {"n": 2}}


def test_arguments_without_the_key_of_the_result_are_refused(keyed: World) -> None:
    world = keyed
    with pytest.raises(InvalidExecutionInput, match=r"arguments: the event has no value at \$\['n'\]"):
        world.client().call("Resize", {"m": 1})
    assert world.client().call("Resize", {"n": 1, "x": 1}) == world.client().call("Resize", {"n": 1, "x": 2})
