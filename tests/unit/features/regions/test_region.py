"""Nodes of a region: what begins each, with which input, time and random numbers."""

from typing import TYPE_CHECKING

import pytest

from tests.unit.protocol.planning.plan_workflows import graph
from unum_compiler import graph as g
from unum_runtime.features.regions.arrivals import begin, begin_node
from unum_runtime.model.checkpoint import Checkpoint, Failure, Outcome, Phase, Success
from unum_runtime.model.naming import Execution, Name, Scope
from unum_runtime.protocol.history.timeline import started_branches
from unum_runtime.protocol.planning.plan import CompleteBranch, Invoke, OpenScope, branch, plan

if TYPE_CHECKING:
    from unum_runtime.protocol.planning.advance import Visit

WORKFLOW = graph(g.dag({"a": g.task("a"), "b": g.task("b"), "ab": g.task("ab").after("a", "b")}))
E = Execution("e", 100_000)


def opened(step: int) -> OpenScope:
    """Return the region, opened by the commit with this number."""
    entered = Checkpoint(
        name=Name(E, (), step),
        state=WORKFLOW.start_at,
        phase=Phase.ENTERED,
        outcome=Success(1),
        digest="",
        committed_ms=103_000,
    )
    effect = plan(WORKFLOW, entered)
    assert isinstance(effect, OpenScope)
    return effect


def ends(scope: Scope) -> dict[int, CompleteBranch]:
    return {
        index: CompleteBranch(E, scope.branch(index), Success(name), ended_ms=104_000 + index)
        for index, name in enumerate("ab")
    }


def test_a_node_without_sources_begins_as_a_branch() -> None:
    region = opened(1)
    assert begin(region, 1, lambda _: None) == branch(region, 1)
    assert begin(region, 2, lambda _: None) is None


@pytest.mark.parametrize(
    ("phase", "outcome"), [(Phase.ENTERED, Success(1)), (Phase.LEFT, Failure("E", None))], ids=["running", "failed"]
)
def test_a_node_waits_for_a_source_without_result(phase: Phase, outcome: Outcome) -> None:
    region = opened(1)
    sources = [
        Checkpoint(
            name=Name(E, region.scope.branch(index), 0), state=name, phase=at, outcome=last, digest="", committed_ms=1
        )
        for index, (name, at, last) in enumerate((("a", Phase.LEFT, Success(1)), ("b", phase, outcome)))
    ]
    assert begin(region, 2, lambda index: sources[index]) is None


def test_nodes_begin_whose_sources_have_all_ended() -> None:
    region = opened(1)
    assert [started_branches(region, freed) for freed in ([], [1], [0, 1])] == [{0, 1}, {0, 1}, {0, 1, 2}]


def test_a_node_begins_when_its_last_source_has_ended() -> None:
    scope = opened(1).scope
    effect = begin_node(WORKFLOW, scope, 2, ends(scope), {})
    assert isinstance(effect, Invoke)
    assert effect.input.own().value == {"a": "a", "b": "b"}
    assert effect.input.own().entered_ms == 104_001


def test_a_node_draws_other_random_numbers_in_another_visit_of_the_region() -> None:
    seeds = []
    for step in (1, 5):
        visits: list[Visit] = []
        scope = opened(step).scope
        begin_node(WORKFLOW, scope, 2, ends(scope), {}, visits)
        seeds.append(visits[0].evaluation.seed)
    assert seeds == [f"e:186a0#{step}+0 {WORKFLOW.start_at}[2]" for step in (1, 5)]
