"""Additions that complete the sets of a fan-out, and repeats that complete them again."""

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.protocol.platform import Platform
from unum_runtime.model.naming import PACK_SIZE, SHARD_SIZE, Execution, Scope
from unum_runtime.model.states import FanOut
from unum_runtime.protocol.fanout.completion import add_completed, add_completed_again, add_failed
from unum_runtime.protocol.runtime import Runtime

MAP = {
    "StartAt": "M",
    "States": {
        "M": {
            "Type": "Map",
            "ItemProcessor": {"StartAt": "X", "States": {"X": {"Type": "Task", "Resource": "f", "End": True}}},
            "End": True,
        }
    },
}
SIZES = [1, 2, PACK_SIZE, PACK_SIZE + 1, SHARD_SIZE, SHARD_SIZE + 1, 2 * SHARD_SIZE + PACK_SIZE]


def runtime(*, quorum: int | None = None, small_results: bool = False) -> Runtime:
    platform = Platform.of(MAP, f=lambda event: event)
    states: dict[str, Any] = {**platform.workflow.states}
    assert isinstance(states["M"], FanOut)
    states["M"] = replace(states["M"], quorum=quorum)
    platform.workflow = replace(platform.workflow, states=states, small_results=small_results or None)
    return platform.runtime()


def scope(size: int) -> Scope:
    return Scope(Execution("e", 0), (), "M", iteration=2, generation=0, size=size)


@pytest.mark.parametrize("small_results", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_the_last_branch_completes_the_scope(size: int, *, small_results: bool) -> None:
    rt = runtime(small_results=small_results)
    completes = [add_completed(rt, scope(size), index) for index in reversed(range(size))]
    assert completes == [False] * (size - 1) + [True]


@pytest.mark.parametrize("small_results", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_of_a_complete_scope_every_addition_tells_it(size: int, *, small_results: bool) -> None:
    """A delivery that sees the scope complete may die, and any repeated one must be able to take its place."""
    rt = runtime(small_results=small_results)
    for index in range(size):
        add_completed(rt, scope(size), index)
    assert all(add_completed(rt, scope(size), index) for index in range(size))


@pytest.mark.parametrize("small_results", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_a_second_addition_of_one_branch_does_not_count(size: int, *, small_results: bool) -> None:
    rt = runtime(small_results=small_results)
    completes = [add_completed(rt, scope(size), index) for index in [*range(size - 1)] * 2]
    assert not any(completes)


@pytest.mark.parametrize("small_results", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_additions_that_were_lost_are_repeated_together(size: int, *, small_results: bool) -> None:
    rt = runtime(small_results=small_results)
    assert not add_completed_again(rt, scope(size), range(size - 1))
    assert add_completed_again(rt, scope(size), range(size))


@pytest.mark.parametrize("small_results", [False, True])
@pytest.mark.parametrize("size", SIZES[1:])
def test_additions_that_were_repeated_count_for_those_that_follow(size: int, *, small_results: bool) -> None:
    rt = runtime(small_results=small_results)
    add_completed_again(rt, scope(size), range(size - 1))
    assert add_completed(rt, scope(size), size - 1)


def test_a_quorum_completes_the_scope_and_so_does_each_branch_after_it() -> None:
    rt = runtime(quorum=2)
    assert [add_completed(rt, scope(4), index) for index in (3, 3, 0, 1, 2)] == [False, False, True, True, True]


def test_a_quorum_is_missed_when_too_few_branches_are_left() -> None:
    rt = runtime(quorum=2)
    assert [add_failed(rt, scope(4), index, 2) for index in (1, 1, 2, 0, 0)] == [False, False, False, True, True]


def test_scopes_do_not_share_their_sets() -> None:
    rt = runtime()
    assert not add_completed(rt, scope(2), 0)
    assert not add_completed(rt, replace(scope(2), generation=1), 1)
    assert not add_completed(rt, replace(scope(2), iteration=3), 1)
