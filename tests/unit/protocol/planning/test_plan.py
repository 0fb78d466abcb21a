"""The effects that follow from each kind of checkpoint, as a table."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, get_args

import pytest

from tests.unit.protocol.planning.plan_records import (
    BOOM,
    NOW,
    STARTED,
    E,
    at,
    committed,
    entered,
    frame,
    left,
    retried,
    value,
)
from tests.unit.protocol.planning.plan_workflows import (
    ASSIGN,
    BUDGETED,
    CAUGHT,
    CHAIN,
    ECHO,
    FAIL,
    JOINED,
    LANES,
    MAP,
    MAP_FIRST,
    NEIGHBOURS,
    PASS,
    PURE_MAP,
    QUORUM,
    SKIPPED,
    TIMED,
    TIMED_FAIL,
    TIMED_MAP,
    WAIT,
    WAIT_THEN_TASK,
    choice,
    do_pass,
    each,
    flow,
    task,
)
from unum_runtime.errors import OutcomeCollected
from unum_runtime.model.checkpoint import (
    Checkpoint,
    Collected,
    Continuation,
    Ending,
    Failure,
    Outcome,
    Phase,
    Status,
    Success,
    start_record,
    stop_record,
)
from unum_runtime.model.envelope import Value
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import Frame, Scope
from unum_runtime.model.states import Json
from unum_runtime.protocol.planning.evaluation import INPUT
from unum_runtime.protocol.planning.plan import (
    MAX_OUTCOME_BYTES,
    BranchFailed,
    Commit,
    CompleteBranch,
    Effect,
    FeedNext,
    Finish,
    Invoke,
    JoinNeighbour,
    OpenScope,
    evaluation_of,
    plan,
)

if TYPE_CHECKING:
    from unum_runtime.protocol.planning.advance import Visit

LATE = Failure("States.Timeout", "the execution took longer than its TimeoutSeconds, 2 s")
LARGE = "x" * 200_000
"""A value of which two do not fit into one item."""
LARGEST = "x" * (MAX_OUTCOME_BYTES - 2)
USED_UP = Failure(
    "Unum.HopBudgetExceeded", "more than 1 steps; does a loop never end? Raise hop_budget where this many are meant"
)


@dataclass(frozen=True)
class Opened:
    """An `OpenScope` in short."""

    scope: Scope
    inputs: tuple[Json, ...]
    width: int
    retries: tuple[int, ...] = ()
    variables: dict[str, Json] = field(default_factory=dict)


def shown(effect: Effect) -> Effect | Opened:
    if not isinstance(effect, OpenScope):
        return effect
    arrival = effect.arrival
    return Opened(effect.scope, arrival.inputs, arrival.width, effect.retries, {**arrival.evaluation.variables})


def finished(status: Status, outcome: Outcome) -> Finish:
    return Finish(E, Ending(status, outcome))


def m_of(size: int, *, generation: int = 0) -> Scope:
    """The scope of the Map M behind the Task A."""
    return Scope(E, (), "M", 2, generation, size)


IN_M = frame(0, 2)
IN_QUORUM = Frame("map", 2, 0, 0, 3)

ROWS: dict[str, tuple[Workflow, Checkpoint, Effect | Opened]] = {
    # What a success leads to.
    "start record, then a Task": (CHAIN, start_record(E, 0), Invoke(at(1), "A", value(0, STARTED))),
    "start record, then the end": (
        flow(P=do_pass(Result="p")),
        start_record(E, 0),
        Commit(at(1), "P", Phase.LEFT, Success("p")),
    ),
    "start record, then a failure": (
        flow(F={"Type": "Fail", "Error": "Boom", "Cause": "why"}),
        start_record(E, 0),
        Commit(at(1), "F", Phase.LEFT, BOOM),
    ),
    "start record that failed": (
        CHAIN,
        start_record(E, 0).saying(outcome=BOOM),
        Commit(at(1), "A", Phase.LEFT, BOOM),
    ),
    "start record, then a fan-out: its size is committed first": (
        MAP_FIRST,
        start_record(E, [5]),
        Commit(at(1), "M", Phase.ENTERED, Success([5])),
    ),
    "start record of a workflow that keeps its input, then a fan-out": (
        flow(M=each(B=task(Parameters={"in.$": "$$.Execution.Input"}))),
        start_record(E, [5]),
        Commit(at(1), "M", Phase.ENTERED, Success([5]), Continuation(variables={INPUT: [5]})),
    ),
    "start record that failed, of a workflow that keeps its input": (
        ECHO,
        start_record(E, 0).saying(outcome=BOOM),
        Commit(at(1), "A", Phase.LEFT, BOOM),
    ),
    "success, then a Task": (CHAIN, left("A", Success(1)), Invoke(at(2), "B", value(1))),
    "success with variables, then a Task": (
        ASSIGN,
        left("A", Success(1), variables={"v": 3}),
        Invoke(at(2), "B", value(1, v=3)),
    ),
    "input is kept from the start record alone": (
        ECHO,
        left("A", Success(1), variables={INPUT: 0}),
        Invoke(at(2), "B", Value(Success(1), NOW, {INPUT: 0})),
    ),
    "start record of a workflow that keeps its input": (
        ECHO,
        start_record(E, 0),
        Invoke(at(1), "A", Value(Success(0), STARTED, {INPUT: 0})),
    ),
    "state entered, not left": (CHAIN, entered("A", 1), Invoke(at(2), "A", value(1))),
    "success at the end": (CHAIN, left("B", Success(1)), finished(Status.SUCCEEDED, Success(1))),
    "success, then pure states to the end": (PASS, left("A", Success(1)), finished(Status.SUCCEEDED, Success("p"))),
    "success, then a Fail state": (FAIL, left("A", Success(1)), finished(Status.FAILED, BOOM)),
    "ending that does not fit into the same item": (
        flow(A=task("P"), P=do_pass(Result=LARGE, ResultPath="$.p")),
        left("A", Success({"a": LARGE})),
        Commit(at(2), "P", Phase.LEFT, Success({"a": LARGE, "p": LARGE})),
    ),
    "failure that does not fit into the same item": (
        flow(A=task("F"), F={"Type": "Fail", "Error": "E", "CausePath": "$"}),
        left("A", Success(LARGE)),
        Commit(at(2), "F", Phase.LEFT, Failure("E", LARGE)),
    ),
    "ending as large, but equal to what is committed": (
        CHAIN,
        left("B", Success(LARGE * 2)),
        finished(Status.SUCCEEDED, Success(LARGE * 2)),
    ),
    # What a failure leads to.
    "failure": (CHAIN, left("A", BOOM), finished(Status.FAILED, BOOM)),
    "failure that was caught": (
        CAUGHT,
        left("A", Success({"Error": "Boom"}), goes_to="C", caught=BOOM),
        Invoke(at(2), "C", value({"Error": "Boom"})),
    ),
    "failure of a Task that is not committed itself": (
        SKIPPED,
        left("A", BOOM),
        Commit(at(1), "B", Phase.LEFT, BOOM),
    ),
    "success of a Task that is not committed itself": (SKIPPED, left("A", Success(1)), Invoke(at(1), "B", value(1))),
    "fan-out that is retried": (
        MAP,
        retried("M", [5], variables={"v": 1}, retries=(2,), until_ms=NOW + 9),
        Invoke(at(2), "M", value([5], v=1), NOW + 9, (2,)),
    ),
    "stop record": (
        CHAIN,
        stop_record(at(2), BOOM, NOW),
        finished(Status.ABORTED, BOOM),
    ),
    "stop record of another failure than its ending's": (
        CHAIN,
        stop_record(at(2), BOOM, NOW).saying(outcome=LATE),
        finished(Status.ABORTED, BOOM),
    ),
    "commit that ended the execution": (
        CHAIN,
        left("B", Success(1)).saying(ending=Ending(Status.FAILED, BOOM)),
        finished(Status.SUCCEEDED, Success(1)),
    ),
    # Waits.
    "Wait at the end": (
        WAIT,
        left("A", Success(1), variables={"v": 3}),
        Invoke(at(2), "W", value(1, v=3), NOW + 60_000),
    ),
    "Wait before a Task": (
        WAIT_THEN_TASK,
        left("A", Success(1)),
        Invoke(at(2), "B", value(1, NOW + 60_000), NOW + 60_000),
    ),
    "redrive of a Wait waits until the time that it had": (
        WAIT,
        entered("W", 1, until_ms=NOW + 9),
        Invoke(at(2), "W", value(1), NOW + 9),
    ),
    "redrive of a Task behind a Wait": (
        CHAIN,
        entered("A", 1, until_ms=NOW + 9),
        Invoke(at(2), "A", value(1, NOW + 9), NOW + 9),
    ),
    "redrive of a Task behind a Wait that is over": (
        CHAIN,
        entered("A", 1, until_ms=NOW - 9),
        Invoke(at(2), "A", value(1), NOW - 9),
    ),
    "time of another state than the one that waited": (
        CHAIN,
        left("A", Success(1), until_ms=NOW + 9),
        Invoke(at(2), "B", value(1)),
    ),
    # Fan-outs.
    "fan-out": (MAP, left("A", Success([5, 6])), Opened(m_of(2), (5, 6), 2)),
    "fan-out that was entered": (
        MAP,
        entered("M", [5, 6], retries=(2, 1), variables={"v": 1}),
        Opened(m_of(2, generation=3), (5, 6), 2, (2, 1), {"v": 1}),
    ),
    "fan-out behind a state that was retried": (
        MAP,
        entered("A", [5], retries=(2,)),
        Invoke(at(2), "A", value([5])),
    ),
    "fan-out does not count the retries of what leads to it": (
        flow(P=do_pass("M"), M=each(B=task())),
        entered("P", [5], retries=(2,)),
        Opened(m_of(1), (5,), 1),
    ),
    "fan-out does not count the retries of its last round": (
        flow(M=each("C", B=task()), C=choice(0, "P", "M"), P=do_pass()),
        left("M", Success([5]), retries=(2,)),
        Opened(m_of(1), (5,), 1),
    ),
    "fan-out without branches": (MAP, left("A", Success([])), finished(Status.SUCCEEDED, Success([]))),
    "fan-out without branches, then a Task": (JOINED, left("A", Success([])), Invoke(at(2), "J", value([]))),
    "fan-out without branches that was entered, then a Task": (
        JOINED,
        entered("M", []),
        Invoke(at(2), "J", value([])),
    ),
    "fan-out that is left to the Task that joins it": (JOINED, left("M", Success([])), Invoke(at(1), "J", value([]))),
    "fan-out without Tasks": (PURE_MAP, left("A", Success([5, 6])), finished(Status.SUCCEEDED, Success([7, 7]))),
    "lanes": (LANES, left("A", Success([5, 6, 7])), Opened(m_of(3), (5, 6, 7), 2)),
    "quorum": (QUORUM, left("a", Success([5, 6, 7])), Opened(Scope(E, (), "map", 2, 0, 3), (5, 6, 7), 3)),
    "quorum of all": (QUORUM, left("a", Success([5, 6])), Opened(Scope(E, (), "map", 2, 0, 2), (5, 6), 2)),
    "quorum of the most branches": (
        QUORUM,
        left("a", Success([0] * 256)),
        Opened(Scope(E, (), "map", 2, 0, 256), (0,) * 256, 256),
    ),
    "quorum of more branches than a shard has": (
        QUORUM,
        left("a", Success([0] * 257)),
        finished(
            Status.FAILED,
            Failure("States.Runtime", "state 'map': expected 2 to 256 branches, of which 2 are enough; got 257"),
        ),
    ),
    "quorum of more branches than there are": (
        QUORUM,
        left("a", Success([5])),
        finished(
            Status.FAILED,
            Failure(
                "States.Runtime",
                "state 'map': expected 2 to 256 branches, of which 2 are enough; got 1",
            ),
        ),
    ),
    # Branches.
    "Task in a branch": (LANES, left("B", Success(1), name=at(0, IN_M)), Invoke(at(1, IN_M), "C", value(1))),
    "branch ends": (MAP, left("B", Success(1), name=at(0, IN_M)), CompleteBranch(E, (IN_M,), Success(1))),
    "branch ends behind pure states": (
        flow(A=task("M"), M=each(B=task("P"), P=do_pass(Result="p"))),
        left("B", Success(1), name=at(0, IN_M)),
        CompleteBranch(E, (IN_M,), Success("p")),
    ),
    "branch of a quorum ends": (
        QUORUM,
        left("b", Success(1), name=at(0, IN_QUORUM)),
        CompleteBranch(E, (IN_QUORUM,), Success(1)),
    ),
    "branch of a lane ends": (
        LANES,
        left("C", Success(1), name=at(1, IN_M)),
        CompleteBranch(E, (IN_M,), Success(1)),
    ),
    "branch fails": (MAP, left("B", BOOM, name=at(0, IN_M)), BranchFailed(E, (IN_M,), BOOM)),
    "step 0 of a branch is no start record": (
        MAP,
        entered("B", 5, name=at(0, IN_M)),
        Invoke(at(1, IN_M), "B", value(5)),
    ),
    "fan-out in a branch": (
        flow(A=task("M"), M=each(B=task("N"), N=each(C=task()))),
        left("B", Success([5]), name=at(0, IN_M)),
        Opened(Scope(E, (IN_M,), "N", 1, 0, 1), (5,), 1),
    ),
    "Task that meets the branch before": (
        NEIGHBOURS,
        left("b", Success(1), name=at(0, Frame("map", 1, 0, 1, 2))),
        JoinNeighbour(Invoke(at(1, Frame("map", 1, 0, 1, 2)), "c", value(1))),
    ),
    # Limits.
    "time is over": (TIMED, left("A", Success(1)), finished(Status.TIMED_OUT, LATE)),
    "time is over beside a large outcome": (TIMED, left("A", Success(LARGEST)), Commit(at(2), "A", Phase.LEFT, LATE)),
    "time is over at the end": (TIMED, left("B", Success(1)), finished(Status.TIMED_OUT, LATE)),
    "time is over at a failure": (TIMED_FAIL, left("A", Success(1)), finished(Status.TIMED_OUT, LATE)),
    "time is not over": (
        TIMED,
        left("A", Success(1)).saying(committed_ms=STARTED + 1_999),
        Invoke(at(2), "B", value(1, STARTED + 1_999)),
    ),
    "time is over in a branch": (
        TIMED_MAP,
        left("B", Success(1), name=at(0, IN_M)),
        BranchFailed(E, (IN_M,), LATE),
    ),
    "time is over in a branch that failed": (
        TIMED_MAP,
        left("B", BOOM, name=at(0, IN_M)),
        BranchFailed(E, (IN_M,), BOOM),
    ),
    "steps are used up": (
        BUDGETED,
        left("A", Success(1)),
        finished(Status.FAILED, USED_UP),
    ),
    "steps are used up beside a large outcome": (
        BUDGETED,
        left("A", Success(LARGEST)),
        Commit(at(2), "A", Phase.LEFT, USED_UP),
    ),
    "steps are used up at the end": (BUDGETED, left("B", Success(1)), finished(Status.SUCCEEDED, Success(1))),
    "steps are used up at a failure": (BUDGETED, left("A", BOOM), finished(Status.FAILED, BOOM)),
}


@pytest.mark.parametrize("case", ROWS)
def test_plan(case: str) -> None:
    workflow, checkpoint, expected = ROWS[case]
    effect = plan(workflow, checkpoint)
    assert shown(effect) == expected
    if isinstance(effect, CompleteBranch):
        assert (effect.step, effect.ended_ms) == (checkpoint.name.step, NOW)


def test_the_table_has_every_kind_of_effect() -> None:
    found = {OpenScope if isinstance(each, Opened) else type(each) for *_, each in ROWS.values()}
    assert found == {*get_args(Effect)} - {FeedNext}, "which stands beside the effect of the plan"


@pytest.mark.parametrize("phase", Phase)
def test_nothing_is_planned_from_a_collected_outcome(phase: Phase) -> None:
    with pytest.raises(OutcomeCollected, match=r"e:186a0#1: was collected"):
        plan(CHAIN, committed("A", phase, Collected(), at(1)))


def test_random_numbers_derive_from_the_checkpoint() -> None:
    assert [evaluation_of(CHAIN, left("A", Success(1), name=at(step))).seed for step in (1, 2)] == [
        "e:186a0#1",
        "e:186a0#2",
    ]


@pytest.mark.parametrize("phase", Phase)
def test_no_phase_or_state_of_a_start_record_leads_into_the_middle(phase: Phase) -> None:
    forged = start_record(E, 0).saying(phase=phase, state="B", continuation=Continuation(goes_to="B", retries=(1,)))
    assert plan(CHAIN, forged) == plan(CHAIN, start_record(E, 0))


def test_states_behind_a_commit_are_collected_for_readers() -> None:
    visits: list[Visit] = []
    plan(PASS, left("A", Success(1)), visits)
    assert [visit.state.name for visit in visits] == ["P"]
