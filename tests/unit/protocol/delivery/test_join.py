"""Joins of fan-outs with too few results: they fail loudly, and commit nothing."""

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.protocol.map_platform import mapped
from tests.unit.protocol.platform import Platform, exactly
from unum_compiler import graph as g
from unum_constructs import Definition
from unum_runtime.errors import InconsistentHistory
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.naming import Scope, checkpoint_key
from unum_runtime.protocol.delivery.join import join_results


def completed(platform: Platform, value: Any) -> tuple[Platform, Scope, Envelope]:
    """Return the platform, the scope and the event of the join of an execution whose branches have ended."""
    platform.start("e", value)
    scope = Scope.around(platform.sent[0].name.execution, platform.sent[0].name.frames)
    while platform.sent[0].name.frames:
        platform.deliver(platform.sent.pop(0))
    return platform, scope, platform.sent[0]


def lose(platform: Platform, scope: Scope, index: int) -> None:
    name = replace(scope.join, frames=scope.branch(index), step=0)
    del platform.memory._items[checkpoint_key("w", name)]


@pytest.mark.parametrize("index", [0, 2])
def test_a_branch_without_a_result_is_named(index: int) -> None:
    plain = Platform.of(mapped("A", after="B"), A=lambda event: event, B=lambda event: event)
    platform, scope, event = completed(plain, [1, 2, 3])
    lose(platform, scope, index)
    said = f"{scope.join}: expected 3 results of 'M', but branch {index} has none"
    with pytest.raises(InconsistentHistory, match=exactly(said)):
        platform.deliver(event)
    assert platform.ending() is None


def quorum_of_two() -> tuple[Platform, Scope]:
    flow = g.map(g.task("half"), items=g.out).quorum(2)
    platform = Platform(Definition.from_graph(flow).compile("w", None), {"half": lambda n: n / 2})
    platform.start("e", [2, 4, 6])
    scope = Scope.around(platform.sent[0].name.execution, platform.sent[0].name.frames)
    return platform, scope


def test_a_quorum_without_enough_results_is_an_error() -> None:
    platform, scope = quorum_of_two()
    platform.deliver(platform.sent[2])
    said = f"{scope.join}: expected 2 results of {scope.state!r}, found 1"
    with pytest.raises(InconsistentHistory, match=exactly(said)):
        join_results(platform.runtime(), scope)


def test_a_quorum_joins_its_results_in_the_order_of_branches() -> None:
    platform, scope = quorum_of_two()
    for index in (2, 0):
        platform.deliver(platform.sent[index])
        platform.clock.pass_seconds(1)
    outcome = join_results(platform.runtime(), scope).outcome
    assert outcome.value == [1, 3]
