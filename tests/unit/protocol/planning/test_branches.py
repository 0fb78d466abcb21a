"""First step of each branch of a fan-out, and numbers of branches started at once and by one invocation."""

import pytest

from tests.unit.protocol.planning.plan_records import BOOM, NOW, E, at, frame, left, value
from tests.unit.protocol.planning.plan_workflows import LANES, MAP, choice, do_pass, each, flow, task, wait
from unum_runtime.cold_start.records import replace
from unum_runtime.model.checkpoint import Continuation, Phase, Success
from unum_runtime.model.envelope import Siblings
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Json
from unum_runtime.protocol.planning.advance import branch_evaluation
from unum_runtime.protocol.planning.evaluation import CHILD, EvaluationContext
from unum_runtime.protocol.planning.plan import (
    Commit,
    InlineCommit,
    Invoke,
    OpenScope,
    branch,
    parts,
    plan,
    started_after,
    started_at_once,
)

BRANCHES: dict[str, tuple[Json, Invoke | Commit]] = {
    "Task": ({"B": task()}, Invoke(at(0, frame(1, 2)), "B", value(6))),
    "Wait": ({"W": wait()}, Invoke(at(0, frame(1, 2)), "W", value(6), NOW + 60_000)),
    "fan-out": (
        {"P": do_pass("N", Result=[8], Assign={"v": 1}), "N": each(B=task())},
        Commit(at(0, frame(1, 2)), "N", Phase.ENTERED, Success([8]), Continuation(variables={"v": 1})),
    ),
    "end": (
        {"C": choice(6), "P": do_pass(Result="p"), "B": task()},
        InlineCommit(at(0, frame(1, 2)), "P", Phase.LEFT, Success("p")),
    ),
    "failure": (
        {"C": choice(6, "F"), "F": {"Type": "Fail", "Error": "Boom", "Cause": "why"}, "B": task()},
        InlineCommit(at(0, frame(1, 2)), "F", Phase.LEFT, BOOM),
    ),
}


@pytest.mark.parametrize("case", BRANCHES)
def test_a_branch_begins(case: str) -> None:
    states, expected = BRANCHES[case]
    found = branch(opened(flow(A=task("M"), M=each(**states)), 5, 6), 1)
    assert (type(found), found) == (type(expected), expected)


def test_each_branch_has_random_numbers_of_its_own() -> None:
    scope = opened(flow(A=task("M"), M=each(P=do_pass("B", Parameters={"id.$": "States.UUID()"}), B=task())), 5, 5)
    first, second = (branch(scope, index) for index in range(2))
    assert isinstance(first, Invoke)
    assert isinstance(second, Invoke)
    assert first.input != second.input


def test_only_branches_of_a_distributed_map_are_child_executions() -> None:
    inside = {"B": task(Parameters={"id.$": "$$.Execution.Id"})}
    far = each("N", **inside)
    far["ItemProcessor"]["ProcessorConfig"] = {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}
    workflow = flow(A=task("M"), M=far, N=each(C=task()))
    assert workflow.names_children
    evaluation = EvaluationContext(workflow, E, NOW, "seed")
    seen = [branch_evaluation(workflow.fan_out(state), 0, 5, evaluation).variables for state in "MN"]
    assert [CHILD in variables for variables in seen] == [True, False]


def test_branches_that_begin_at_once_and_after_another() -> None:
    lanes = opened(LANES, *range(5))
    assert started_at_once(lanes) == range(2)
    assert [[*started_after(lanes, index)] for index in range(5)] == [[2], [3], [4], [], []]
    assert started_at_once(replace(lanes, part=range(3, 5))) == range(3, 5)


@pytest.mark.parametrize(
    ("size", "most", "expected"),
    [
        (4, 2, [(0, 2), (2, 4)]),
        (5, 3, [(0, 3), (3, 5)]),
        (9, 3, [(0, 3), (3, 6), (6, 9)]),
        (10, 3, [(0, 9), (9, 10)]),
    ],
)
def test_parts_make_a_tree(size: int, most: int, expected: list[tuple[int, int]]) -> None:
    assert parts(opened(MAP, *range(size)), most) == [
        Invoke(at(0, frame(first, size)), "M", Siblings(stop)) for first, stop in expected
    ]


def opened(workflow: Workflow, *items: Json) -> OpenScope:
    effect = plan(workflow, left("A", Success([*items])))
    assert isinstance(effect, OpenScope)
    return effect
