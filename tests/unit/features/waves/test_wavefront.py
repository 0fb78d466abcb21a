"""Tasks that wait for a result of the previous branch: which results are recorded for them."""

import pytest

from tests.unit.protocol.planning.plan_workflows import graph
from unum_compiler import graph as g
from unum_runtime.errors import OutcomeCollected
from unum_runtime.features.waves.previous_results import begin_joined, result_of
from unum_runtime.model.checkpoint import Checkpoint, Collected, Failure, Outcome, Phase, Success
from unum_runtime.model.naming import Execution, Frame, Name
from unum_runtime.protocol.planning.plan import FeedNext, JoinNeighbour, fed_by, plan

WORKFLOW = graph(g.map(g.task("a") >> g.task("b").after_previous("a"), items=g.out))


def committed(index: int, outcome: Outcome | Collected, state: str = "a") -> Checkpoint:
    """Return the commit of `state` in branch `index` of three."""
    name = Name(Execution("e", 0), (Frame("map", 1, 0, index, 3),), 0)
    return Checkpoint(name=name, state=state, phase=Phase.LEFT, outcome=outcome, digest="", committed_ms=1)


@pytest.mark.parametrize("index", [0, 1])
def test_a_result_is_recorded_for_the_task_of_the_next_branch(index: int) -> None:
    result = committed(index, Success(1))
    assert fed_by(WORKFLOW, result) == [FeedNext(result, "b")]


def test_nothing_is_recorded_for_a_branch_that_does_not_exist() -> None:
    assert fed_by(WORKFLOW, committed(2, Success(1))) == []


def test_neither_a_failure_nor_another_result_is_recorded() -> None:
    assert fed_by(WORKFLOW, committed(0, Failure("E", None))) == []
    assert fed_by(WORKFLOW, committed(0, Success(1), "b")) == []


def test_a_task_does_not_begin_from_a_collected_result() -> None:
    own = plan(WORKFLOW, committed(1, Success(1)))
    assert isinstance(own, JoinNeighbour)
    with pytest.raises(OutcomeCollected, match=r"e:0/map@1\.0\[0\]#0: was collected, because the fan-out"):
        begin_joined(own, committed(0, Collected(None)))


def test_the_result_is_the_first_success_of_the_awaited_task() -> None:
    failed, first, second = (committed(0, outcome) for outcome in (Failure("E", None), Success(1), Success(2)))
    assert result_of([failed, committed(0, Success(0), "b"), first, second], "a") is first
    assert result_of([failed], "a") is None
