"""Arrivals of `advance` and the states that it visits on the way, as a table."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest

from tests.unit.protocol.platform import Platform, chain
from unum_compiler import compile_workflow
from unum_runtime.asl.program import StateOutput
from unum_runtime.cold_start.records import replace
from unum_runtime.model.checkpoint import Failure, Success
from unum_runtime.model.envelope import Value
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import Execution, Scope
from unum_runtime.model.states import FanOut, Json, Map
from unum_runtime.protocol.planning.advance import (
    MAX_PURE_STEPS,
    Arrival,
    AtFanOut,
    AtTask,
    AtWait,
    Ended,
    Failed,
    Onward,
    Visit,
    Visits,
    advance,
    branch_evaluation,
    exceeded,
    join,
    too_many_failed,
)
from unum_runtime.protocol.planning.evaluation import INPUT, EvaluationContext
from unum_runtime.protocol.planning.plan import Invoke, begin_branch

STARTED = 100_000
"""Start of the execution and time of entering the first state, in milliseconds since 1970."""

T = {"Type": "Task", "Resource": "T", "End": True}
CATCH = [{"ErrorEquals": ["States.ALL"], "ResultPath": "$.error", "Next": "H"}]
RAISE = {"Type": "Fail", "Error": "Boom", "Cause": "why"}
LIMITED = {"TimeoutSeconds": 30}


def do_pass(then: str | None = None, **fields: Json) -> Json:
    return {"Type": "Pass", **_next(then), **fields}


def choice(default: str = "T", **targets: str) -> Json:
    rules = [{"Variable": "$", "StringEquals": value, "Next": target} for value, target in targets.items()]
    return {"Type": "Choice", "Choices": rules, "Default": default}


def wait(then: str | None = None, seconds: int = 60, **fields: Json) -> Json:
    return {"Type": "Wait", "Seconds": seconds, **_next(then), **fields}


def each(inside: Json, then: str | None = None, mode: str = "INLINE", **fields: Json) -> Json:
    config = {"Mode": mode} | ({"ExecutionType": "STANDARD"} if mode == "DISTRIBUTED" else {})
    processor = {"ProcessorConfig": config, "StartAt": next(iter(inside)), "States": inside}
    return {"Type": "Map", "ItemProcessor": processor, **_next(then), **fields}


def parallel(*branches: Json, then: str | None = None, **fields: Json) -> Json:
    scopes = [{"StartAt": next(iter(states)), "States": states} for states in branches]
    return {"Type": "Parallel", "Branches": scopes, **_next(then), **fields}


def _next(then: str | None) -> dict[str, Json]:
    return {"End": True} if then is None else {"Next": then}


@dataclass(frozen=True)
class Row:
    """A call of `advance`.

    Attributes:
        states: the definition, entered at its first state.
        value: the input of that state.
        arrival: kind of the arrival, its state, and what there is to say of it; see `shown`.
        passed: the visits; see `shown_visit`.
        top: further fields of the definition.
        entered_ms: time of entering the first state.
    """

    states: dict[str, Json]
    value: Json
    arrival: tuple[Any, ...]
    passed: list[Any]
    top: dict[str, Json] | None = None
    entered_ms: int = STARTED


ROWS: dict[str, Row] = {
    "a Task": Row({"T": T}, 1, ("task", "T", 1, None), ["T ."]),
    "a Pass": Row({"P": do_pass("T"), "T": T}, 1, ("task", "T", 1, None), ["P > T", "T ."]),
    "a Pass with a result": Row(
        {"P": do_pass("T", Result=2, ResultPath="$.r"), "T": T},
        {"n": 1},
        ("task", "T", {"n": 1, "r": 2}, None),
        ["P > T", "T ."],
    ),
    "a last Pass": Row({"P": do_pass(Result=2)}, 1, ("ended", "P", 2), ["P > end"]),
    "a failing Pass": Row({"P": do_pass(InputPath="$.no")}, {}, ("failed", "P", "States.Runtime"), ["P !"]),
    "a Choice with a match": Row(
        {"C": choice(a="P"), "P": do_pass("T"), "T": T}, "a", ("task", "T", "a", None), ["C > P", "P > T", "T ."]
    ),
    "a Choice without a match": Row(
        {"C": choice(a="P"), "P": do_pass("T"), "T": T}, "b", ("task", "T", "b", None), ["C > T", "T ."]
    ),
    "a Succeed": Row({"S": {"Type": "Succeed", "InputPath": "$.a"}}, {"a": 1}, ("ended", "S", 1), ["S > end"]),
    "a Fail": Row({"P": do_pass("F"), "F": RAISE}, 1, ("failed", "F", "Boom"), ["P > F", "F !"]),
    "a Wait before a Task": Row(
        {"W": wait("P"), "P": do_pass("T"), "T": T},
        1,
        ("task", "T", 1, STARTED + 60_000),
        ["W > P", "P > T", "T ."],
    ),
    "a Wait before the end": Row({"W": wait()}, 1, ("wait", "W", 1, STARTED + 60_000), ["W ."]),
    "a Wait before a Pass that ends": Row(
        {"W": wait("P"), "P": do_pass()}, 1, ("wait", "W", 1, STARTED + 60_000), ["W ."]
    ),
    "a Wait before another": Row(
        {"V": wait("W", 5), "W": wait("T"), "T": T}, 1, ("wait", "V", 1, STARTED + 5_000), ["V ."]
    ),
    "a Wait that is over": Row(
        {"W": {"Type": "Wait", "Timestamp": "1970-01-01T00:00:00Z", "Next": "T"}, "T": T},
        1,
        ("task", "T", 1, None),
        ["W > T", "T ."],
    ),
    "a Wait beyond the deadline": Row(
        {"W": wait("T"), "T": T}, 1, ("wait", "W", 1, STARTED + 30_000), ["W ."], top=LIMITED
    ),
    "a Wait after the deadline": Row(
        {"W": wait("T"), "T": T}, 1, ("task", "T", 1, None), ["W > T", "T ."], top=LIMITED, entered_ms=STARTED + 30_000
    ),
    "a Wait with a failing exit": Row(
        {"W": wait("T", OutputPath="$.no"), "T": T}, {}, ("wait", "W", {}, STARTED + 60_000), ["W ."]
    ),
    "a Map with Tasks": Row({"M": each({"T": T})}, [1, 2], ("fan-out", "M", [1, 2], 2), ["M ."]),
    "a Map with a limit": Row(
        {"M": each({"T": T}, MaxConcurrency=2)}, [1, 2, 3], ("fan-out", "M", [1, 2, 3], 2), ["M ."]
    ),
    "a Map with a high limit": Row(
        {"M": each({"T": T}, MaxConcurrency=9)}, [1, 2], ("fan-out", "M", [1, 2], 2), ["M ."]
    ),
    "a Map without items": Row({"M": each({"X": T}, "T"), "T": T}, [], ("task", "T", [], None), ["M > T", "T ."]),
    "a pure Map": Row(
        {"M": each({"X": do_pass("Y"), "Y": do_pass(Result=0)}, "T"), "T": T},
        [1, 2],
        ("task", "T", [0, 0], None),
        [("M > T", [["X > Y", "Y > end"], ["X > Y", "Y > end"]]), "T ."],
    ),
    "a pure Map with a failing branch": Row(
        {"M": each({"C": choice("F", a="S"), "S": {"Type": "Succeed"}, "F": RAISE}, "T"), "T": T},
        ["a", "b"],
        ("failed", "M", "Boom"),
        [("M !", [["C > S", "S > end"], ["C > F", "F !"]])],
    ),
    "a pure Map that tolerates a failure": Row(
        {
            "M": each(
                {"C": choice("F", a="S"), "S": {"Type": "Succeed"}, "F": RAISE},
                "T",
                "DISTRIBUTED",
                ToleratedFailurePercentage=50,
            ),
            "T": T,
        },
        ["a", "b"],
        ("task", "T", ["a"], None),
        [("M > T", [["C > S", "S > end"], ["C > F", "F !"]]), "T ."],
    ),
    "a pure Map with more failures than it tolerates": Row(
        {
            "M": each(
                {"C": choice("F", a="S"), "S": {"Type": "Succeed"}, "F": RAISE},
                mode="DISTRIBUTED",
                ToleratedFailurePercentage=50,
            ),
        },
        ["a", "b", "b"],
        ("failed", "M", "States.ExceedToleratedFailureThreshold"),
        [("M !", [["C > S", "S > end"], ["C > F", "F !"], ["C > F", "F !"]])],
    ),
    "a pure Map with a catcher": Row(
        {"M": each({"F": RAISE}, "T", Catch=CATCH, ItemsPath="$.all"), "H": do_pass(OutputPath="$.error"), "T": T},
        {"all": [1]},
        ("ended", "H", {"Error": "Boom", "Cause": "why"}),
        [("M > H", [["F !"]]), "H > end"],
    ),
    "a pure Map with a tolerance in its input": Row(
        {
            "M": each(
                {"C": choice("F", a="S"), "S": {"Type": "Succeed"}, "F": RAISE},
                mode="DISTRIBUTED",
                ItemsPath="$.all",
                ToleratedFailureCountPath="$.n",
            ),
        },
        {"all": ["a", "b"], "n": 1},
        ("ended", "M", ["a"]),
        [("M > end", [["C > S", "S > end"], ["C > F", "F !"]])],
    ),
    "an invalid tolerance of a Map with Tasks": Row(
        {"M": each({"T": T}, mode="DISTRIBUTED", ItemsPath="$.all", ToleratedFailureCountPath="$.n")},
        {"all": [1], "n": "x"},
        ("failed", "M", "States.Runtime"),
        ["M !"],
    ),
    "a pure Map with a failing result and a catcher": Row(
        {
            "M": each(
                {"P": do_pass()}, Catch=CATCH, ItemsPath="$.all", ResultSelector={"x.$": "States.StringToJson('{')"}
            ),
            "H": T,
        },
        {"all": [1]},
        ("task", "H", {"all": [1], "error": "States.IntrinsicFailure"}, None),
        [("M > H", [["P > end"]]), "H ."],
    ),
    "a catcher with a failing result": Row(
        {"L": parallel({"X": T}, Catch=CATCH, Parameters={"x.$": "States.StringToJson($)"}), "H": T},
        "{",
        ("failed", "L", "States.ResultPathMatchFailure"),
        ["L !"],
    ),
    "a Map of no array": Row({"M": each({"T": T})}, 5, ("failed", "M", "States.Runtime"), ["M !"]),
    "a data-flow failure with a catcher": Row(
        {"L": parallel({"X": T}, Catch=CATCH, Parameters={"x.$": "States.StringToJson($.a)"}), "H": T},
        {"a": "{"},
        ("task", "H", {"a": "{", "error": "States.IntrinsicFailure"}, None),
        ["L > H", "H ."],
    ),
    "States.Runtime, which no catcher of States.ALL takes": Row(
        {"M": each({"X": T}, Catch=CATCH, ItemsPath="$.a"), "H": T},
        {"a": 1},
        ("failed", "M", "States.Runtime"),
        ["M !"],
    ),
    "a catcher after the deadline": Row(
        {"L": parallel({"X": T}, Catch=CATCH, Parameters={"x.$": "States.StringToJson($.a)"}), "H": T},
        {"a": "{"},
        ("failed", "L", "States.IntrinsicFailure"),
        ["L !"],
        top=LIMITED,
        entered_ms=STARTED + 30_000,
    ),
    "a Parallel with Tasks": Row({"L": parallel({"A": do_pass()}, {"T": T})}, 1, ("fan-out", "L", [1, 1], 2), ["L ."]),
    "a pure Parallel": Row(
        {"L": parallel({"A": do_pass(Result=1)}, {"B": do_pass(Result=2)}, then="P"), "P": do_pass()},
        0,
        ("ended", "P", [1, 2]),
        [("L > P", [["A > end"], ["B > end"]]), "P > end"],
    ),
    "a pure Parallel in a pure Map": Row(
        {"M": each({"L": parallel({"A": do_pass()}, {"B": do_pass()})})},
        [7],
        ("ended", "M", [[7, 7]]),
        [("M > end", [[("L > end", [["A > end"], ["B > end"]])]])],
    ),
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())
def test_arrival_and_visits(row: Row) -> None:
    visits: Visits = []
    arrival = advanced(row, visits)
    assert (shown(arrival), [shown_visit(visit) for visit in visits]) == (row.arrival, row.passed)
    assert shown(advanced(row, None)) == row.arrival


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())
def test_each_visit_begins_with_the_exit_before_it(row: Row) -> None:
    visits: Visits = []
    arrival = advanced(row, visits)
    assert (visits[0].given.value, visits[0].evaluation.entered_ms) == (row.value, row.entered_ms)
    for before, after in pairwise(visits):
        assert isinstance(before.end, Onward)
        assert (before.end.target, before.end.value) == (after.state.name, after.given.value)
        assert before.end.evaluation == after.evaluation
    last = visits[-1]
    assert last.failure == (arrival.failure if isinstance(arrival, Failed) else None)
    assert last.exit is not None if isinstance(arrival, Ended) else last.exit is None


def test_a_task_behind_a_wait_is_entered_when_the_wait_ends() -> None:
    arrival = advanced(ROWS["a Wait before a Task"], None)
    assert isinstance(arrival, AtTask)
    assert arrival.evaluation.entered_ms == STARTED + 60_000


def test_a_loop_without_a_task_ends_with_an_error() -> None:
    loop = Row({"P": do_pass("C"), "C": choice("P", stop="T"), "T": T}, "x", (), [])
    visits: Visits = []
    arrival = advanced(loop, visits)
    assert shown(arrival) == ("failed", "P", "States.Runtime")
    assert isinstance(arrival, Failed)
    assert str(MAX_PURE_STEPS) in str(arrival.failure.cause)
    # The limit failed, no visit did: readers tell a limit from the data by this.
    assert (len(visits), visits[-1].failure) == (MAX_PURE_STEPS, None)


def advanced(row: Row, visits: Visits | None) -> Arrival:
    definition = {"StartAt": next(iter(row.states)), "States": row.states, **(row.top or {})}
    workflow = compile_workflow(definition, name="w", functions=None, options={})
    evaluation = EvaluationContext(workflow, Execution("e", STARTED), row.entered_ms, "seed")
    return advance(workflow.start_at, Success(row.value), evaluation, visits)


def shown(arrival: Arrival) -> tuple[Any, ...]:
    match arrival:
        case AtTask(task, given, _, due_ms):
            return ("task", task.name, without_cause(given.value), due_ms)
        case AtWait(state, value, _, until_ms):
            return ("wait", state.name, value, until_ms)
        case AtFanOut(state, _, _, inputs, width):
            return ("fan-out", state.name, [*inputs], width)
        case Ended(name, given):
            return ("ended", name, given.value)
        case Failed(name, failure):
            return ("failed", name, failure.error)


def without_cause(value: Json) -> Json:
    """Return `value` with the name of a caught error in place of the error."""
    return {**value, "error": value["error"]["Error"]} if isinstance(value, dict) and "error" in value else value


def shown_visit(visit: Visit) -> Any:
    """Name and end of `visit`: "A > B" was left for B, "A ." stopped control, "A !" failed; then any branches."""
    end = f"> {visit.exit.target or 'end'}" if visit.exit else "!" if visit.failure else "."
    text = f"{visit.state.name} {end}"
    branches = [[shown_visit(inner) for inner in inside] for inside in visit.branches]
    return (text, branches) if branches else text


def fan_out(top: Json = None, **fields: Json) -> tuple[Workflow, FanOut]:
    """Return a workflow with one Map, and the Map."""
    definition = {"StartAt": "M", "States": {"M": each({"T": T}, **fields)}}
    workflow = compile_workflow({**definition, **(top or {})}, name="w", functions=None, options={})
    return workflow, workflow.fan_out("M")


def evaluation(workflow: Workflow, **variables: Json) -> EvaluationContext:
    return EvaluationContext(workflow, Execution("e", STARTED), STARTED, "seed", variables)


READER = {
    "Resource": "arn:aws:states:::s3:getObject",
    "ReaderConfig": {"InputType": "JSON"},
    "Parameters": {"Bucket": "b", "Key": "k"},
}


def test_a_map_with_a_reader_begins_with_what_was_read() -> None:
    workflow, _ = fan_out(mode="DISTRIBUTED", ItemReader=READER)
    arrival = advance("M", Success({"raw": 1}), evaluation(workflow, **{"$items": [5, 6]}))
    assert shown(arrival) == ("fan-out", "M", [5, 6], 2)


def test_child_execution_sees_its_own_input_and_no_variables() -> None:
    workflow, state = fan_out(mode="DISTRIBUTED")
    assert branch_evaluation(state, 0, 7, evaluation(workflow, v=1)).variables == {}
    assert branch_evaluation(state, 0, 7, evaluation(workflow, v=1, **{INPUT: 5})).variables == {INPUT: 7}
    begun = begin_branch(state, Scope(Execution("e", 0), (), "M", 1, 0, 1), 0, 7, evaluation(workflow, **{INPUT: 5}))
    assert isinstance(begun, Invoke)
    assert begun.input.own() == Value(Success(7), STARTED, {INPUT: 7})
    workflow, state = fan_out()
    assert branch_evaluation(state, 0, 7, evaluation(workflow, v=1, **{INPUT: 5})).variables == {"v": 1, INPUT: 5}


@pytest.mark.parametrize(("fields", "output"), [({}, [3]), ({"ResultPath": "$.r"}, {"a": 1, "r": [3]})])
def test_a_join_keeps_variables_without_what_was_read(fields: Json, output: Json) -> None:
    workflow, state = fan_out(**fields)
    found = join(state, {"a": 1}, [3], evaluation(workflow, v=1, **{"$items": [5]}))
    assert found == StateOutput(output, {"v": 1})


def test_a_join_of_a_map_with_a_writer_is_its_input_beside_the_results() -> None:
    workflow, state = fan_out()
    assert isinstance(state, Map)
    found = join(replace(state, writes=True), {"a": 1}, [3], evaluation(workflow, v=1))
    assert found == StateOutput({"a": 1}, {"v": 1, "$results": [3]})


def test_too_many_failures_are_said_as_step_functions_says_them() -> None:
    text = "The specified tolerated failure threshold was exceeded"
    assert exceeded() == Failure("States.ExceedToleratedFailureThreshold", text)


def test_a_loop_without_a_task_ends_with_its_state_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unum_runtime.protocol.planning.advance.MAX_PURE_STEPS", 10)
    definition = chain("A")
    definition["States"]["A"] = {**definition["States"]["A"], "Next": "P"}
    del definition["States"]["A"]["End"]
    definition["States"] |= {
        "P": {"Type": "Pass", "Next": "C"},
        "C": {"Type": "Choice", "Choices": [{"Variable": "$", "IsNull": False, "Next": "P"}], "Default": "S"},
        "S": {"Type": "Succeed"},
    }
    platform = Platform.of(definition, A=lambda event: event)
    ending = platform.run(value=1)
    assert ending is not None
    assert ending.outcome in [
        Failure("States.Runtime", f"state {name!r}: 10 states since the last Task; a loop without a Task must end")
        for name in ("P", "C")
    ]
    del definition["States"]["A"]
    without_a_task = Platform.of({**definition, "StartAt": "P"})
    without_a_task.run(value=1)
    assert without_a_task.steps()[-1].state in ("P", "C")


def ended_with(states: Json, value: Json = None, **functions: Any) -> Any:
    """The outcome of an execution in JSONata."""
    definition = {"StartAt": next(iter(states)), "QueryLanguage": "JSONata", "States": states}
    ending = Platform.of(definition, T=functions.get("T", lambda event: event)).run(value=value)
    assert ending is not None
    return ending.outcome


def fails_below(limit: int) -> Any:
    def function(event: Any) -> Any:
        if event < limit:
            raise ValueError(event)
        return event

    return function


@pytest.mark.parametrize(("tolerated", "is_success"), [(2, True), (1, False)])
def test_limits_of_a_map_are_expressions_over_its_input(tolerated: int, *, is_success: bool) -> None:
    called: list[int] = []

    def function(event: Any) -> Any:
        called.append(event)
        return fails_below(3)(event)

    limits = {"ToleratedFailureCount": "{% $states.input.tolerated %}", "MaxConcurrency": "{% $states.input.width %}"}
    states = {"M": each({"T": T}, mode="DISTRIBUTED", Items="{% $states.input.items %}", **limits), "E": do_pass()}
    states["M"] |= {"Next": "E"}
    states["M"].pop("End", None)
    given = {"items": [1, 2, 3, 4], "tolerated": tolerated, "width": 1}
    outcome = ended_with(states, given, T=function)
    assert called == [1, 2, 3, 4]
    assert outcome == Success([3, 4]) if is_success else outcome.error == "States.ExceedToleratedFailureThreshold"


def test_a_wait_of_no_time_computes_its_output_and_assigns() -> None:
    seconds = {"Type": "Wait", "Seconds": 0, "Assign": {"a": "{% $states.input.x %}"}, "Next": "P"}
    states = {
        "W": {**seconds, "Output": {"y": "{% $states.input.x %}"}},
        "P": do_pass(Output={"input": "{% $states.input %}", "a": "{% $a %}"}),
    }
    assert ended_with(states, {"x": 5}) == Success({"input": {"y": 5}, "a": 5})


def test_a_wait_keeps_its_input_for_its_output() -> None:
    waits = {"Type": "Wait", "Seconds": 5, "Output": "{% [$states.input.x] %}", "End": True}
    definition = {"StartAt": "W", "QueryLanguage": "JSONata", "States": {"W": waits}}
    platform = Platform.of(definition)
    platform.start(value={"x": 5})
    platform.deliver(platform.pass_to_next())
    ending = platform.ending()
    assert ending is not None
    assert ending.outcome == Success([5])


@pytest.mark.parametrize(
    ("limits", "failed", "is_too_many"),
    [
        ({}, 0, False),
        ({}, 1, True),
        ({"ToleratedFailurePercentage": 50}, 2, False),
        ({"ToleratedFailurePercentage": 50}, 3, True),
        ({"ToleratedFailurePercentage": 25, "ToleratedFailureCount": 3}, 2, True),
        ({"ToleratedFailurePercentage": 100, "ToleratedFailureCount": 1}, 2, True),
        ({"ToleratedFailurePercentage": 75, "ToleratedFailureCount": 3}, 3, False),
    ],
)
def test_either_tolerance_is_exceeded(limits: dict[str, Any], failed: int, *, is_too_many: bool) -> None:
    states = {"M": each({"T": T}, mode="DISTRIBUTED", **limits)}
    workflow = compile_workflow({"StartAt": "M", "States": states}, name="w", functions=["T"])
    evaluation = EvaluationContext(workflow, Execution("e", STARTED), STARTED, "e/0", {})
    assert too_many_failed(workflow.fan_out("M"), [1, 2, 3, 4], failed, 4, evaluation) is is_too_many


def test_a_map_without_tasks_has_its_results_beside_its_input() -> None:
    states = {"M": each({"P": do_pass()}, "A", ItemsPath="$.l", ResultPath="$.r"), **chain("A")["States"]}
    platform = Platform.of({"StartAt": "M", "States": states}, A=lambda event: event)
    ending = platform.run(value={"l": [1, 2]})
    assert ending is not None
    assert ending.outcome == Success({"l": [1, 2], "r": [1, 2]})
