"""Reads of a branch about the fan-out around it: the outcome that opened it exists and fits."""

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.protocol.counting_store import CountingStore
from tests.unit.protocol.map_platform import around, mapped
from tests.unit.protocol.platform import Platform, chain
from unum_runtime.errors import InconsistentHistory, StoreError
from unum_runtime.model.checkpoint import Failure, Phase, Success
from unum_runtime.model.naming import Key, Name, Scope, checkpoint_key
from unum_runtime.model.states import Guard
from unum_runtime.protocol.control.stop import stop
from unum_runtime.protocol.delivery.commit import create, draft
from unum_runtime.protocol.fanout import lanes
from unum_runtime.protocol.fanout.lanes import Lanes, next_in_lane, read_origin
from unum_runtime.protocol.fanout.packing import commit_packed, place_of
from unum_runtime.protocol.planning.plan import Commit, Invoke, plan


def opened(value: Any) -> tuple[Platform, Scope, Key]:
    """Return a platform whose Map has begun, its scope, and the key of the outcome that opened it."""
    first = {"A": {"Type": "Task", "Resource": "A", "Next": "M"}}
    definition = {"StartAt": "A", "States": first | mapped("B")["States"]}
    platform = Platform.of(definition, A=lambda event: event, B=lambda event: event)
    platform.start("e", value)
    name = platform.sent[0].name
    scope = Scope.around(name.execution, name.frames)
    return platform, scope, checkpoint_key("w", scope.origin)


def test_the_fan_out_is_as_its_origin_committed_it() -> None:
    platform, scope, _ = opened([4, 5])
    found = read_origin(platform.runtime(), scope)
    assert found.scope == scope
    assert found.scope.size == 2


def serial(*names: str, small_results: bool = False) -> Platform:
    """Return a platform on which a Map with one branch at a time has begun in each of two branches of an outer Map."""
    inner = mapped(*names, MaxConcurrency=1)
    definition = {"StartAt": "Outer", "States": {"Outer": {"Type": "Map", "ItemProcessor": inner, "End": True}}}
    platform = Platform.of(definition, None, **dict.fromkeys(names, lambda event: event))
    platform.workflow = replace(platform.workflow, small_results=small_results or None)
    platform.start("e", [[1, 2], [3, 4]])
    return platform


def scopes(platform: Platform) -> list[Scope]:
    return [Scope.around(event.name.execution, event.name.frames) for event in platform.sent]


def settle(platform: Platform, scope: Scope) -> None:
    """Commit a failure of the outer Map."""
    outer = Scope.around(scope.execution, scope.frames)
    settled = draft(platform.runtime(), Commit(outer.join, "Outer", Phase.LEFT, Failure("E", None)))
    create(platform.runtime(), settled)


@pytest.mark.parametrize("is_first", [True, False], ids=["first of the delivery", "later"])
def test_no_branch_begins_in_a_settled_scope_unless_it_has_an_outcome(*, is_first: bool) -> None:
    platform = serial("B")
    scope, lanes = scopes(platform)[0], Lanes()
    rt = platform.runtime()
    (begun,) = next_in_lane(rt, scope, 0, Lanes())
    assert isinstance(begun, Invoke)
    if not is_first:
        next_in_lane(rt, scope, 0, lanes)
    settle(platform, scope)
    assert next_in_lane(rt, scope, 0, lanes) == []
    create(rt, draft(rt, Commit(begun.name, "B", Phase.LEFT, Success(2))))
    assert next_in_lane(rt, scope, 0, lanes) == [begun]


def test_a_branch_whose_outcome_is_in_a_pack_is_not_new() -> None:
    platform = serial("B", small_results=True)
    scope, lanes, rt = scopes(platform)[0], Lanes(), platform.runtime()
    next_in_lane(rt, scope, 0, lanes)
    (begun,) = next_in_lane(rt, scope, 0, lanes)
    assert isinstance(begun, Invoke)
    assert begun.is_new
    made = draft(rt, Commit(begun.name, "B", Phase.LEFT, Success(2)))
    place = place_of(rt.workflow, "B", begun.name)
    assert place is not None
    commit_packed(rt, place, made, plan(rt.workflow, made))
    assert next_in_lane(rt, scope, 0, lanes) == [replace(begun, is_new=False)]


def test_the_end_of_a_lane_is_no_check_of_the_scopes_around() -> None:
    platform = serial("B")
    scope, lanes, rt = scopes(platform)[0], Lanes(), platform.runtime()
    next_in_lane(rt, scope, 0, lanes)
    checked_ms = lanes.checked_ms
    platform.clock.pass_seconds(5)
    assert next_in_lane(rt, scope, 1, lanes) == []
    assert lanes.checked_ms == checked_ms
    next_in_lane(rt, scope, 0, lanes)
    assert lanes.checked_ms == platform.clock.ms


@pytest.mark.parametrize(
    ("guard", "seconds", "reads"), [(Guard.COMMIT, 0, 0), (Guard.COMMIT, 5, 1), (Guard.READ, 0, 1)]
)
def test_a_recent_check_stands_for_another_where_no_guard_looks(guard: Guard, seconds: int, reads: int) -> None:
    platform = serial("B")
    states = platform.workflow.states
    platform.workflow = replace(
        platform.workflow, states={**states, "B": replace(platform.workflow.task("B"), guard=guard)}
    )
    scope, lanes, rt = scopes(platform)[0], Lanes(), platform.runtime()
    next_in_lane(rt, scope, 0, lanes)
    platform.clock.pass_seconds(seconds)
    platform.store = store = CountingStore(platform.memory)
    assert len(next_in_lane(platform.runtime(), scope, 0, lanes)) == 1
    assert store.calls["read"] == reads


def test_a_branch_that_begins_with_a_wait_has_no_guard() -> None:
    wait = {"Type": "Wait", "Seconds": 60, "End": True}
    inner = around({"StartAt": "W", "States": {"W": wait}}, MaxConcurrency=1)
    platform = Platform.of({"StartAt": "O", "States": {"O": {"Type": "Map", "ItemProcessor": inner, "End": True}}})
    platform.start("e", [[1, 2]])
    (_, event), *_ = platform.waiting
    scope, lanes = Scope.around(event.name.execution, event.name.frames), Lanes()
    for _ in range(2):
        (begun,) = next_in_lane(platform.runtime(), scope, 0, lanes)
        assert begun.state == "W"


def test_of_each_depth_one_fan_out_is_kept() -> None:
    platform = serial("B")
    first, second = (read_origin(platform.runtime(), scope) for scope in scopes(platform))
    outer = read_origin(platform.runtime(), Scope.around(first.scope.execution, first.scope.frames))
    lanes = Lanes()
    for each in (outer, first, second):
        lanes.keep(each)
    kept = [lanes.opened(each.scope) for each in (outer, first, second)]
    assert kept == [outer, None, second]


def test_an_origin_that_is_gone_is_named() -> None:
    platform, scope, key = opened([4, 5])
    del platform.memory._items[key]
    with pytest.raises(StoreError) as error:
        read_origin(platform.runtime(), scope)
    assert str(error.value) == f"{scope.origin}: the checkpoint that opened 'M' is missing; has it expired?"


def test_an_origin_that_opens_another_fan_out_is_named() -> None:
    platform, scope, key = opened([4, 5])
    item, expires_at_s = platform.memory._items[key]
    platform.memory._items[key] = ({**item, "value": "[1,2,3]"}, expires_at_s)
    with pytest.raises(InconsistentHistory) as error:
        read_origin(platform.runtime(), scope)
    assert str(error.value).startswith(f"{scope.origin}: expected that it opens {scope}, found OpenScope(")


def test_an_origin_that_opens_no_fan_out_is_named() -> None:
    platform = Platform.of(chain("A", "B"), A=lambda event: event, B=lambda event: event)
    platform.start("e", 1)
    execution = platform.sent[0].name.execution
    scope = Scope(execution, (), "M", 2, 0, 2)
    assert scope.origin == platform.steps()[0].name
    with pytest.raises(InconsistentHistory, match="expected that it opens"):
        read_origin(platform.runtime(), scope)


def test_next_branch_may_begin_with_a_commit() -> None:
    platform, scope, _ = opened([1, 2])
    begins = Commit(Name(scope.execution, scope.branch(1), 0), "B", Phase.ENTERED, Success(1))
    assert lanes._unless_settled(platform.runtime(), begins) == [begins]


def test_no_branch_of_a_stopped_execution_begins_even_with_an_outcome() -> None:
    platform = serial("B")
    scope, lanes, rt = scopes(platform)[0], Lanes(), platform.runtime()
    (begun,) = next_in_lane(rt, scope, 0, lanes)
    create(rt, draft(rt, Commit(begun.name, "B", Phase.LEFT, Success(2))))
    assert len(next_in_lane(rt, scope, 0, lanes)) == 1
    stop(rt, scope.execution, Failure("Stopped", None))
    assert next_in_lane(rt, scope, 0, lanes) == []
    assert next_in_lane(rt, scope, 0, Lanes()) == []
