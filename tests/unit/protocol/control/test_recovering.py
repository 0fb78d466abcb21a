"""Retry, Catch, Wait, variables and time limits, through the real ingress, step, plan and perform."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from unum_client.reading import stored_steps
from unum_compiler import compile_workflow
from unum_runtime.model.checkpoint import Checkpoint, Ending, Failure, Phase, Status, Success
from unum_runtime.protocol.runtime import JobPending
from unum_simulator.local import Function, LocalWorkflow

EVER = {"ErrorEquals": ["States.ALL"], "MaxAttempts": 9}
DISTRIBUTED = {"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}}
EXCEEDED = "States.ExceedToleratedFailureThreshold"


class Flaky(Exception):
    pass


class Broken(Exception):
    pass


def machine(**states: Any) -> dict[str, Any]:
    return {"StartAt": next(iter(states)), "States": states}


def task(function: str = "F", following: str | None = None, **fields: Any) -> dict[str, Any]:
    continuation = {"Next": following} if following else {"End": True}
    return {"Type": "Task", "Resource": function, **continuation, **fields}


def local(definition: dict[str, Any], **functions: Function) -> LocalWorkflow:
    return LocalWorkflow(compile_workflow(definition, name="w", functions=functions), functions)


def run(definition: dict[str, Any], value: Any = None, **functions: Function) -> Ending:
    return local(definition, **functions).run("e", value)


def steps(workflow: LocalWorkflow) -> list[Checkpoint]:
    record = stored_steps.start_record(workflow.store, "w", "e")
    return list(stored_steps.steps(workflow.store, "w", record.name.execution))


def fails_with(*errors: Exception | None) -> Callable[[Any, Any], Any]:
    """Raises each of `errors` in turn, and then returns its event."""
    left = list(errors)

    def function(event: Any, _context: Any) -> Any:
        error = left.pop(0) if left else None
        if error is not None:
            raise error
        return event

    return function


def succeeded(value: Any) -> Ending:
    return Ending(Status.SUCCEEDED, Success(value))


def error(ending: Ending) -> str | None:
    assert isinstance(ending.outcome, Failure)
    return ending.outcome.error


def same(event: Any, _context: Any) -> Any:
    return event


def test_a_failed_task_is_tried_again_as_the_same_invocation() -> None:
    seen = []

    def function(event: Any, context: Any) -> Any:
        seen.append((context.unum.idempotency_key, context.unum.attempt, event))
        if len(seen) < 3:
            raise Flaky
        return "done"

    definition = machine(A=task(Retry=[EVER], Parameters={"count.$": "$$.State.RetryCount"}))
    workflow = local(definition, F=function)
    assert workflow.run("e", None) == succeeded("done")
    key = seen[0][0]
    assert seen == [(key, attempt, {"count": attempt}) for attempt in range(3)]
    assert [step.attempt for step in steps(workflow)] == [2], "nothing is committed of the tries before"


def test_the_tries_are_as_far_apart_as_the_retrier_says() -> None:
    workflow = local(
        machine(
            A=task(Retry=[{"ErrorEquals": ["Flaky"], "IntervalSeconds": 2, "BackoffRate": 3, "MaxDelaySeconds": 5}])
        ),
        F=fails_with(Flaky(), Flaky(), Flaky()),
    )
    begun_ms = workflow.clock.now_ms()
    workflow.run("e", None)
    assert 12_000 <= workflow.clock.now_ms() - begun_ms < 60_000


def test_each_retrier_counts_for_itself() -> None:
    retriers = [{"ErrorEquals": ["Flaky"], "MaxAttempts": 1}, {"ErrorEquals": ["Broken"], "MaxAttempts": 1}]
    definition = machine(A=task(Retry=retriers))
    assert run(definition, 1, F=fails_with(Flaky(), Broken())) == succeeded(1)
    assert error(run(definition, 1, F=fails_with(Flaky(), Broken(), Flaky()))) == "Flaky"


def test_the_first_retrier_for_an_error_decides_alone() -> None:
    definition = machine(A=task(Retry=[{"ErrorEquals": ["Flaky"], "MaxAttempts": 0}, EVER]))
    assert error(run(definition, 1, F=fails_with(Flaky()))) == "Flaky"


def test_data_flow_that_fails_is_not_caught() -> None:
    definition = machine(
        A=task(Parameters={"x.$": "$.missing"}, Catch=[{"ErrorEquals": ["States.ALL"], "Next": "B"}]),
        B={"Type": "Pass", "Result": "caught", "End": True},
    )
    assert error(run(definition, {}, F=same)) == "States.Runtime", "which no rule is for"


def test_what_is_not_retried_any_more_is_caught() -> None:
    catch = {"ErrorEquals": ["Flaky"], "ResultPath": "$.error", "Next": "B", "Assign": {"name.$": "$.Error"}}
    definition = machine(
        A=task("F", "C", Retry=[{"ErrorEquals": ["Flaky"], "MaxAttempts": 1}], Catch=[catch]),
        B=task("G", Parameters={"input.$": "$.n", "error.$": "$.error.Error", "name.$": "$name"}),
        C={"Type": "Fail"},
    )
    expected = {"input": 1, "error": "Flaky", "name": "Flaky"}
    assert run(definition, {"n": 1}, F=fails_with(Flaky(), Flaky()), G=same) == succeeded(expected)


def test_a_wait_before_a_task_costs_no_step_of_its_own() -> None:
    definition = machine(
        W={"Type": "Wait", "Seconds": 600, "Next": "A"}, A=task(Parameters={"at.$": "$$.State.EnteredTime"})
    )
    workflow = local(definition, F=same)
    begun_ms = workflow.clock.now_ms()
    workflow.run("e", None)
    assert workflow.clock.now_ms() - begun_ms >= 600_000
    assert [step.state for step in steps(workflow)] == ["A"]


def test_a_wait_that_no_task_follows_is_a_step() -> None:
    definition = machine(A=task("F", "W"), W={"Type": "Wait", "SecondsPath": "$.s", "Next": "D"}, D={"Type": "Succeed"})
    workflow = local(definition, F=same)
    assert workflow.run("e", {"s": 60}) == succeeded({"s": 60})
    first, second = steps(workflow)
    assert (first.state, second.state) == ("A", "W")
    assert second.committed_ms - first.committed_ms >= 60_000


def test_nothing_waits_for_a_time_that_has_passed() -> None:
    definition = machine(W={"Type": "Wait", "Timestamp": "2020-01-01T00:00:00Z", "Next": "A"}, A=task())
    workflow = local(definition, F=same)
    begun_ms = workflow.clock.now_ms()
    assert workflow.run("e", 1) == succeeded(1)
    assert workflow.clock.now_ms() - begun_ms < 60_000


def test_a_wait_for_longer_than_items_are_kept_fails_by_name() -> None:
    definition = machine(W={"Type": "Wait", "Seconds": 30 * 86_400, "Next": "A"}, A=task())
    ending = run(definition, 1, F=same)
    assert isinstance(ending.outcome, Failure)
    assert ending.outcome.error == "States.Runtime"
    assert "raise the retention" in str(ending.outcome.cause)


def test_fan_outs_see_variables_and_branches_keep_theirs() -> None:
    definition = machine(
        A=task("F", "M", Assign={"who.$": "$.name"}),
        M={
            "Type": "Map",
            "ItemsPath": "$.items",
            "ItemProcessor": machine(
                B=task("F", "C", Assign={"own.$": "$"}), C=task(Parameters={"who.$": "$who", "own.$": "$own"})
            ),
            "Assign": {"results.$": "$"},
            "Next": "D",
        },
        D=task(Parameters={"who.$": "$who", "results.$": "$results"}),
    )
    results = [{"who": "x", "own": 1}, {"who": "x", "own": 2}]
    ending = run(definition, {"name": "x", "items": [1, 2]}, F=same)
    assert ending == succeeded({"who": "x", "results": results})


def test_the_input_of_the_execution_is_known_where_it_is_asked_for() -> None:
    definition = machine(A=task("F", "B"), B=task(Parameters={"input.$": "$$.Execution.Input"}))
    assert run(definition, {"n": 1}, F=lambda event, _: event if "input" in event else {}) == succeeded(
        {"input": {"n": 1}}
    )


def parallel(**fields: Any) -> dict[str, Any]:
    return {"Type": "Parallel", "Branches": [machine(B=task("F")), machine(C=task("G"))], "End": True, **fields}


def test_a_failed_fan_out_begins_anew_in_branches_of_its_own() -> None:
    names: list[str] = []

    def function(event: Any, context: Any) -> Any:
        names.append(context.unum.invocation.partition("/")[2])
        return event

    both = {**parallel(Retry=[EVER]), "Branches": [machine(C=task("G")), machine(B=task("F"))]}
    workflow = local(machine(P=both), F=fails_with(Flaky()), G=function)
    assert workflow.run("e", 7) == succeeded([7, 7])
    assert names == ["P@2.0[0]#0", "P@4.1[0]#0"]
    of_p = [(step.phase, step.outcome, step.continuation.retries) for step in steps(workflow) if step.state == "P"]
    assert of_p == [
        (Phase.ENTERED, Success(7), ()),
        (Phase.RETRIED, Success(7), (1,)),
        (Phase.ENTERED, Success(7), (1,)),
        (Phase.LEFT, Success([7, 7]), ()),
    ]


def test_a_failed_fan_out_is_caught() -> None:
    definition = machine(
        P=parallel(Catch=[{"ErrorEquals": ["Flaky"], "Next": "D", "ResultPath": "$.error"}]),
        D=task("G", Parameters={"n.$": "$.n", "error.$": "$.error.Error"}),
    )
    ending = run(definition, {"n": 1}, F=fails_with(Flaky()), G=same)
    assert ending == succeeded({"n": 1, "error": "Flaky"})


def test_a_fan_out_is_retried_as_often_as_its_retrier_says_and_then_caught() -> None:
    retrier, catcher = {"ErrorEquals": ["Flaky"], "MaxAttempts": 2}, {"ErrorEquals": ["States.ALL"], "Next": "D"}
    definition = machine(P=parallel(Retry=[retrier], Catch=[catcher]), D={"Type": "Pass", "Result": "D", "End": True})
    workflow = local(definition, F=fails_with(Flaky(), Flaky(), Flaky()), G=same)
    assert workflow.run("e", 1) == succeeded("D")
    assert [step.phase for step in steps(workflow)].count(Phase.RETRIED) == 2


@pytest.mark.parametrize(
    ("tolerated", "expected"),
    [
        ({"ToleratedFailureCount": 1}, [1, 3]),
        ({"ToleratedFailurePercentage": 34}, [1, 3]),
        ({"ToleratedFailurePercentage": 33}, None),
        ({"ToleratedFailureCount": 0}, None),
        ({}, None),
    ],
)
def test_a_map_may_tolerate_failures(tolerated: dict[str, int], expected: Any) -> None:
    processor = {**machine(B=task()), **DISTRIBUTED}
    ending = run(
        machine(M={"Type": "Map", "ItemProcessor": processor, "End": True, **tolerated}),
        [1, 2, 3],
        F=lambda event, _: {1: 1, 3: 3}[event],
    )
    if expected is None:
        assert error(ending) == EXCEEDED
    else:
        assert ending == succeeded(expected)


@pytest.mark.parametrize("branch", [task(), {"Type": "Fail", "Error": "Broken"}])
@pytest.mark.parametrize(("mode", "name"), [(DISTRIBUTED, EXCEEDED), ({}, "Broken")])
def test_errors_of_branches_that_are_executions_of_their_own_stay_theirs(
    branch: dict[str, Any], mode: dict[str, Any], name: str
) -> None:
    state = {"Type": "Map", "ItemProcessor": {**machine(B=branch), **mode}, "End": True}
    state["Catch"] = [{"ErrorEquals": [name], "Next": "D"}]
    definition = machine(M=state, D={"Type": "Pass", "End": True})
    ending = run(definition, [1], F=fails_with(Broken()))
    assert isinstance(ending.outcome, Success)
    assert ending.outcome.value["Error"] == name


def test_an_execution_that_waits_for_too_long_times_out() -> None:
    ran = []
    definition = machine(W={"Type": "Wait", "Seconds": 600, "Next": "A"}, A=task())
    ending = run({**definition, "TimeoutSeconds": 60}, 1, F=lambda event, _: ran.append(event))
    assert (ending.status, error(ending)) == (Status.TIMED_OUT, "States.Timeout")
    assert ran == []


def test_an_execution_is_over_in_all_its_branches() -> None:
    catchers = [{"ErrorEquals": ["States.ALL"], "Next": "D"}]
    definition = machine(P=parallel(Retry=[EVER | {"IntervalSeconds": 40}], Catch=catchers), D={"Type": "Succeed"})
    workflow = local({**definition, "TimeoutSeconds": 60}, F=fails_with(*[Flaky()] * 20), G=same)
    begun_ms = workflow.clock.now_ms()
    ending = workflow.run("e", 1)
    assert (ending.status, error(ending)) == (Status.TIMED_OUT, "States.Timeout")
    assert 60_000 <= workflow.clock.now_ms() - begun_ms < 100_000


def test_a_task_that_takes_too_long_has_timed_out_and_may_be_tried_again() -> None:
    definition = machine(A=task(TimeoutSeconds=10, Retry=[{"ErrorEquals": ["States.Timeout"]}]))
    slow: list[LocalWorkflow] = []

    def function(_event: Any, context: Any) -> Any:
        if not context.unum.attempt:
            slow[0].clock.skip_to(slow[0].clock.now_ms() + 11_000)
        return context.unum.attempt

    slow.append(local(definition, F=function))
    assert slow[0].run("e", 1) == succeeded(1)


def test_a_task_that_is_not_done_is_asked_again_with_its_job() -> None:
    def function(_event: Any, context: Any) -> Any:
        jobs.append(context.unum.job)
        return JobPending("job 1", delay_ms=30_000) if len(jobs) < 3 else "done"

    jobs: list[Any] = []
    workflow = local(machine(A=task()), F=function)
    begun_ms = workflow.clock.now_ms()
    assert workflow.run("e", 1) == succeeded("done")
    assert jobs == [None, "job 1", "job 1"]
    assert workflow.clock.now_ms() - begun_ms >= 60_000


def test_what_a_catcher_makes_is_bounded_like_any_outcome() -> None:
    catcher = {"ErrorEquals": ["States.ALL"], "Next": "B", "ResultPath": "$.error"}
    workflow = local(machine(A=task("F", "B", Catch=[catcher]), B=task()), F=fails_with(Flaky("x" * 100)))
    small = replace(workflow, workflow=replace(workflow.workflow, payload_limit=50))
    assert error(small.run("e", {"n": 1})) == "States.DataLimitExceeded"
