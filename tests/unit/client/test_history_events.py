"""An execution's history in the events of Step Functions, from what is stored of it."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import botocore.session
import pytest

from unum_client.events.history_events import events
from unum_client.events.journal import HistoryEvent, without_data
from unum_client.reading import stored_steps
from unum_compiler import compile_workflow
from unum_compiler.options import FunctionOptions
from unum_runtime.errors import ClientError
from unum_runtime.model.checkpoint import Checkpoint, Phase
from unum_runtime.model.ir import Collection, Workflow
from unum_runtime.model.states import Guard
from unum_simulator.local import LocalWorkflow

PASS: dict[str, Any] = {"Type": "Pass"}
OF_AWS = botocore.session.get_session().get_service_model("stepfunctions").shape_for("HistoryEvent").members  # type: ignore[attr-defined]  # a structure
"""The members of an event, and of each what it has."""


def task(function: str, **fields: Any) -> dict[str, Any]:
    return {"Type": "Task", "Resource": function, **fields}


def machine(**states: Any) -> dict[str, Any]:
    return {"StartAt": next(iter(states)), "States": states}


class Failing:
    """User code that fails a few times and then returns its event."""

    def __init__(self, times: int) -> None:
        self.left = times

    def __call__(self, event: Any, _context: Any) -> Any:
        self.left -= 1
        if self.left >= 0:
            raise ValueError(f"{self.left} more times")
        return event


def executed(
    definition: dict[str, Any],
    value: Any,
    *,
    collection: Collection = Collection.TTL,
    options: dict[str, FunctionOptions] | None = None,
    **functions: Any,
) -> tuple[Workflow, list[Checkpoint]]:
    """The workflow, and start record and steps of an execution."""
    handlers = {"same": lambda event, _: event, "crash": Failing(1_000), **functions}
    workflow = compile_workflow(definition, name="w", functions=handlers, options=options or {})
    local = LocalWorkflow(workflow, handlers, collection=collection)
    local.run("e", value)
    record = stored_steps.start_record(local.store, "w", "e")
    return workflow, [record, *stored_steps.steps(local.store, "w", record.name.execution)]


def reply(workflow: Workflow, checkpoints: Iterable[Checkpoint], now_ms: int = 0) -> list[HistoryEvent]:
    """Return events after asserting rules for all histories."""
    found = events(workflow, checkpoints, now_ms=now_ms)
    assert [event["id"] for event in found] == list(range(1, len(found) + 1))
    assert all(event["previousEventId"] < event["id"] for event in found)
    times = [event["timestamp"] for event in found[:-1]]
    assert times == sorted(times)
    for event in found:
        assert set(event) - {"unum"} <= set(OF_AWS)
        assert event["type"] in OF_AWS["type"].enum
        for member in (name for name in event if name.endswith("EventDetails")):
            assert set(event[member]) <= set(OF_AWS[member].members)
    return found


def details(event: HistoryEvent) -> Any:
    return next((event[member] for member in event if member.endswith("EventDetails")), {})


def lines(found: list[HistoryEvent]) -> list[str]:
    """Each event as its type and what it names."""
    return [" ".join(filter(None, (event["type"], details(event).get("name")))) for event in found]


def chain(found: list[HistoryEvent]) -> list[str]:
    """The types of the events that led to the last one, that one included."""
    by_id = {event["id"]: event for event in found}
    led = [found[-1]]
    while led[-1]["previousEventId"]:
        led.append(by_id[led[-1]["previousEventId"]])
    return lines(led[::-1])


def named(found: list[HistoryEvent], line: str) -> HistoryEvent:
    return found[lines(found).index(line)]


CHAIN = machine(
    Prepare={**PASS, "Assign": {"limit": 5}, "Next": "Work"},
    Work=task("same", ResultPath="$.done", Next="Choose"),
    Choose={
        "Type": "Choice",
        "Choices": [{"Variable": "$.n", "NumericEquals": 1, "Next": "Rest"}],
        "Default": "Rest",
    },
    Rest={"Type": "Wait", "Seconds": 3, "Next": "Last"},
    Last=task("same", Next="Done"),
    Done={"Type": "Succeed"},
)

WORK = ("LambdaFunctionScheduled", "LambdaFunctionStarted", "LambdaFunctionSucceeded")


def test_a_chain_is_told_as_step_functions_tells_it() -> None:
    found = reply(*executed(CHAIN, {"n": 1}))
    assert lines(found) == [
        "ExecutionStarted",
        *("PassStateEntered Prepare", "PassStateExited Prepare"),
        *("TaskStateEntered Work", *WORK, "TaskStateExited Work"),
        *("ChoiceStateEntered Choose", "ChoiceStateExited Choose"),
        *("WaitStateEntered Rest", "WaitStateExited Rest"),
        *("TaskStateEntered Last", *WORK, "TaskStateExited Last"),
        *("SucceedStateEntered Done", "SucceedStateExited Done"),
        "ExecutionSucceeded",
    ]
    assert [event["previousEventId"] for event in found] == [0, 0, *range(2, len(found))]


def test_inputs_outputs_and_variables_are_told_as_json_text() -> None:
    found = reply(*executed(CHAIN, {"n": 1}))
    assert details(named(found, "ExecutionStarted")) == {
        "input": '{"n":1}',
        "inputDetails": {"truncated": False},
    }
    assert details(named(found, "PassStateExited Prepare"))["assignedVariables"] == {"limit": "5"}
    assert json.loads(details(named(found, "TaskStateExited Work"))["output"]) == {"n": 1, "done": {"n": 1}}
    assert json.loads(details(named(found, "ChoiceStateEntered Choose"))["input"]) == {"n": 1, "done": {"n": 1}}
    assert details(found[-1])["output"] == details(named(found, "SucceedStateExited Done"))["output"]


def test_a_result_is_told_where_the_output_is_just_that() -> None:
    work, last = (event for event in reply(*executed(CHAIN, {"n": 1})) if event["type"] == WORK[-1])
    assert "output" not in details(work)
    assert json.loads(details(last)["output"]) == {"n": 1, "done": {"n": 1}}


def test_a_wait_takes_its_time_and_is_not_left_before() -> None:
    workflow, (start, work, _last) = executed(CHAIN, {"n": 1})
    running = reply(workflow, [start, work], work.committed_ms + 2_000)
    assert lines(running)[-1] == "WaitStateEntered Rest"
    later = reply(workflow, [start, work], work.committed_ms + 4_000)
    assert lines(later)[-3:] == ["WaitStateExited Rest", "TaskStateEntered Last", "LambdaFunctionScheduled"]
    entered, left = (named(later, f"WaitState{what} Rest")["timestamp"] for what in ("Entered", "Exited"))
    assert (left - entered).total_seconds() == 3


def test_times_that_nothing_tells_are_marked() -> None:
    found = reply(*executed(CHAIN, {"n": 1}))
    marked = {line for line, event in zip(lines(found), found, strict=True) if event.get("unum", {}).get("approximate")}
    assert {line.split()[-1] for line in marked} == {"Prepare", "Choose", "Done"}


def test_of_failed_tries_the_number_is_told() -> None:
    definition = machine(Try=task("flaky", Retry=[{"ErrorEquals": ["ValueError"]}], End=True))
    found = reply(*executed(definition, 1, flaky=Failing(2)))
    assert Counter(lines(found))["LambdaFunctionScheduled"] == 1
    assert named(found, "LambdaFunctionSucceeded")["unum"] == {"retries": 2}


def test_a_caught_failure_leaves_its_state() -> None:
    definition = machine(
        Risky=task("crash", Catch=[{"ErrorEquals": ["States.ALL"], "ResultPath": "$.e", "Next": "Mend"}], End=True),
        Mend={**PASS, "End": True},
    )
    found = reply(*executed(definition, {}))
    assert lines(found)[3:] == [
        "LambdaFunctionStarted",
        "LambdaFunctionFailed",
        "TaskStateExited Risky",
        "PassStateEntered Mend",
        "PassStateExited Mend",
        "ExecutionSucceeded",
    ]
    assert details(named(found, "LambdaFunctionFailed"))["error"] == "ValueError"


def test_a_fail_state_fails_the_execution() -> None:
    found = reply(*executed(machine(No={"Type": "Fail", "Error": "E", "Cause": "c"}), 1))
    assert lines(found) == ["ExecutionStarted", "FailStateEntered No", "ExecutionFailed"]
    assert details(found[-1]) == {"error": "E", "cause": "c"}


def test_data_flow_that_fails_before_the_work_schedules_none() -> None:
    found = reply(*executed(machine(Work=task("same", InputPath="$.none", End=True)), {}))
    assert lines(found) == ["ExecutionStarted", "TaskStateEntered Work", "ExecutionFailed"]


def test_an_expression_that_fails_has_an_event() -> None:
    work = {"Type": "Task", "Resource": "same", "QueryLanguage": "JSONata", "Output": "{% $error('no') %}", "End": True}
    found = reply(*executed(machine(Work=work), {}))
    assert lines(found)[-2:] == ["EvaluationFailed", "ExecutionFailed"]
    assert (details(found[-2])["state"], details(found[-2])["error"]) == ("Work", "States.QueryEvaluationError")


def test_an_execution_that_took_too_long() -> None:
    definition = {**machine(Rest={"Type": "Wait", "Seconds": 9, "Next": "W"}, W=task("same", End=True))}
    found = reply(*executed({**definition, "TimeoutSeconds": 5}, {}))
    assert lines(found)[-1] == "ExecutionTimedOut"
    assert details(found[-1])["error"] == "States.Timeout"
    assert "TaskStateEntered W" not in lines(found)


MAPS = machine(
    Outer={
        "Type": "Map",
        "ItemProcessor": machine(
            Inner={
                "Type": "Map",
                "MaxConcurrency": 1,
                "ItemProcessor": machine(Before={**PASS, "Next": "Each"}, Each=task("same", End=True)),
                "Next": "Row",
            },
            Row=task("same", End=True),
        ),
        "Next": "Between",
    },
    Between={**PASS, "Next": "Sum"},
    Sum=task("same", End=True),
)
ROWS = [[1, 2], [], [3]]


def test_maps_in_maps() -> None:
    found = reply(*executed(MAPS, ROWS))
    counted = Counter(lines(found))
    assert (counted["MapStateEntered Outer"], counted["MapIterationStarted Outer"]) == (1, 3)
    assert (counted["MapStateExited Inner"], counted["MapIterationSucceeded Inner"]) == (3, 3)
    assert (counted["TaskStateExited Each"], counted["TaskStateExited Row"], counted["MapStateSucceeded"]) == (3, 3, 4)
    assert chain(found)[-12:] == [
        *("TaskStateExited Row", "MapIterationSucceeded Outer", "MapStateSucceeded", "MapStateExited Outer"),
        *("PassStateEntered Between", "PassStateExited Between"),
        *("TaskStateEntered Sum", *WORK, "TaskStateExited Sum", "ExecutionSucceeded"),
    ]


def test_input_of_the_task_after_a_map_without_commit_is_shown() -> None:
    workflow, checkpoints = executed(MAPS, ROWS)
    assert ("Outer", Phase.LEFT) not in {(checkpoint.state, checkpoint.phase) for checkpoint in checkpoints}
    exited = named(reply(workflow, checkpoints), "MapStateExited Outer")
    assert json.loads(details(exited)["output"]) == ROWS


def test_events_in_branches_say_in_which() -> None:
    found = reply(*executed(MAPS, ROWS))
    each = {
        tuple(event["unum"]["index"]): details(event)["input"]
        for event in found
        if lines([event]) == ["TaskStateEntered Each"]
    }
    assert each == {(0, 0): "1", (0, 1): "2", (2, 0): "3"}
    assert "unum" not in named(found, "TaskStateEntered Sum")


def test_under_max_concurrency_an_iteration_follows_the_one_before() -> None:
    found = reply(*executed(MAPS, [[1, 2]]))
    _, second = (event for event in found if lines([event]) == ["MapIterationStarted Inner"])
    assert lines([found[second["previousEventId"] - 1]]) == ["MapIterationSucceeded Inner"]


@pytest.mark.parametrize(("tolerated", "started"), [(0, 1), (100, 3)])
def test_after_a_failure_no_iteration_begins_unless_that_is_tolerated(tolerated: int, started: int) -> None:
    definition = machine(
        Each={
            "Type": "Map",
            "MaxConcurrency": 1,
            "ToleratedFailurePercentage": tolerated,
            "ItemProcessor": {
                "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"},
                **machine(Bad=task("crash", End=True)),
            },
            "End": True,
        }
    )
    if not tolerated:
        del definition["States"]["Each"]["ToleratedFailurePercentage"]
    found = reply(*executed(definition, [1, 2, 3]))
    counted = Counter(lines(found))
    assert counted["MapIterationStarted Each"] == counted["MapIterationFailed Each"] == started
    assert counted["MapStateSucceeded"] == (tolerated > 0)


BOTH = machine(
    Both={
        "Type": "Parallel",
        "Branches": [machine(Good=task("same", End=True)), machine(Bad=task("crash", End=True))],
        "End": True,
    }
)


def test_a_branch_that_fails_fails_the_parallel() -> None:
    found = reply(*executed(BOTH, 1))
    assert chain(found) == [
        *("ParallelStateEntered Both", "ParallelStateStarted"),
        *("TaskStateEntered Bad", "LambdaFunctionScheduled", "LambdaFunctionStarted", "LambdaFunctionFailed"),
        *("ParallelStateFailed", "ExecutionFailed"),
    ]
    assert "TaskStateExited Good" in lines(found)
    assert lines(found)[-1] == "ExecutionFailed"


def test_iterations_that_came_to_no_end_are_aborted() -> None:
    definition = machine(Each={"Type": "Map", "ItemProcessor": BOTH["States"]["Both"]["Branches"][1], "End": True})
    workflow, checkpoints = executed(definition, [1, 2])
    found = reply(workflow, [each for each in checkpoints if [frame.index for frame in each.name.frames] != [1]])
    counted = Counter(lines(found))
    assert (counted["MapIterationFailed Each"], counted["MapIterationAborted Each"]) == (1, 1)


def test_a_map_that_is_tried_again_is_entered_once() -> None:
    definition = machine(
        Each={
            "Type": "Map",
            "ItemProcessor": machine(Work=task("flaky", End=True)),
            "Retry": [{"ErrorEquals": ["ValueError"]}],
            "End": True,
        }
    )
    found = reply(*executed(definition, [1], flaky=Failing(1)))
    assert [line for line in lines(found) if line.startswith("MapState")] == [
        "MapStateEntered Each",
        *("MapStateStarted", "MapStateFailed", "MapStateStarted", "MapStateSucceeded"),
        "MapStateExited Each",
    ]


@pytest.mark.parametrize(("items", "ends"), [([1, 1], "ExecutionSucceeded"), ([1, 2], "ExecutionFailed")])
def test_a_map_without_tasks_is_told_to_its_last_branch(items: list[int], ends: str) -> None:
    inner = machine(
        Which={
            "Type": "Choice",
            "Choices": [{"Variable": "$", "NumericEquals": 1, "Next": "Fine"}],
            "Default": "Bad",
        },
        Fine={**PASS, "End": True},
        Bad={"Type": "Fail", "Error": "E"},
    )
    found = reply(
        *executed(machine(Work=task("same", Next="M"), M={"Type": "Map", "ItemProcessor": inner, "End": True}), items)
    )
    counted = Counter(lines(found))
    assert (counted["MapIterationStarted M"], counted["ChoiceStateExited Which"]) == (2, 2)
    assert counted["MapIterationSucceeded M"] == counted["PassStateExited Fine"] == items.count(1)
    assert counted["MapIterationFailed M"] == counted["FailStateEntered Bad"] == items.count(2)
    assert lines(found)[-1] == ends


@pytest.mark.parametrize("definition", [CHAIN, MAPS, BOTH])
def test_collected_executions_are_told_without_what_was_collected(definition: dict[str, Any]) -> None:
    value = ROWS if definition is MAPS else {"n": 1}
    kept = reply(*executed(definition, value))
    collected = reply(*executed(definition, value, collection=Collection.EAGER))
    lost = Counter(lines(kept)) - Counter(lines(collected))
    # Where a Choice led to is not known, and an empty Map has left no trace.
    of_choice, of_map = (
        {"WaitStateEntered Rest", "WaitStateExited Rest"},
        {"Inner", "MapStateStarted", "MapStateSucceeded"},
    )
    assert all(line in of_choice or line.split()[-1] in of_map for line in lost)
    assert not Counter(lines(collected)) - Counter(lines(kept))
    assert details(collected[-1]).get("output") == details(kept[-1]).get("output")


RETRIED = machine(
    Each={
        "Type": "Map",
        "ItemProcessor": machine(Work=task("flaky", Next="Rest"), Rest={"Type": "Wait", "Seconds": 1, "End": True}),
        "Retry": [{"ErrorEquals": ["ValueError"]}],
        "Next": "Fine",
    },
    Fine={"Type": "Choice", "Choices": [{"Variable": "$", "IsPresent": True, "Next": "Last"}]},
    Last={**PASS, "End": True},
)


def test_a_map_that_was_tried_again_and_collected() -> None:
    kept = reply(*executed(RETRIED, [1], flaky=Failing(1)))
    collected = reply(*executed(RETRIED, [1], flaky=Failing(1), collection=Collection.EAGER))
    assert [line for line in lines(collected) if "Map" in line] == [line for line in lines(kept) if "Map" in line]
    assert lines(collected)[-5:] == lines(kept)[-5:]
    assert lines(kept).count("WaitStateExited Rest") == 1


def test_a_map_that_cannot_be_joined_fails_at_the_task_that_needs_it() -> None:
    definition = machine(
        Each={
            "Type": "Map",
            "ItemProcessor": machine(Work=task("same", End=True)),
            "ResultSelector": {"none.$": "$[7]"},
            "Next": "Last",
        },
        Last=task("same", End=True),
    )
    found = reply(*executed(definition, [1]))
    assert lines(found)[-3:] == ["MapIterationSucceeded Each", "MapStateFailed", "ExecutionFailed"]


def test_a_function_that_is_no_part_of_the_workflow_is_told_by_its_arn() -> None:
    arn = "arn:aws:lambda:us-east-1:123456789012:function:theirs"
    definition = machine(Call=task(arn, Credentials={"RoleArn": "arn:aws:iam::123456789012:role/r"}, End=True))
    found = reply(*executed(definition, {}, Call=lambda event, _: event))
    assert details(named(found, "LambdaFunctionScheduled"))["resource"] == arn


def test_a_token_is_not_told() -> None:
    resource = "arn:aws:states:::sqs:sendMessage.waitForTaskToken"
    parameters = {"QueueUrl": "q", "MessageBody": {"token.$": "$$.Task.Token"}}
    found = reply(*executed(machine(Ask=task(resource, Parameters=parameters, End=True)), {}, Ask=lambda _e, _c: 1))
    assert details(named(found, "TaskScheduled")) == {
        "resourceType": "sqs",
        "resource": "sendMessage.waitForTaskToken",
        "region": "local",
    }


def test_a_task_that_another_commits_for_is_told_without_its_result() -> None:
    definition = machine(A=task("light", Next="P"), P={**PASS, "Next": "B"}, B=task("same", End=True))
    options = {"light": FunctionOptions(checkpoint=False, guard=Guard.COMMIT)}
    found = reply(*executed(definition, 1, options=options, light=lambda event, _: event))
    assert lines(found)[1:-1] == [
        *("TaskStateEntered A", "LambdaFunctionScheduled", "LambdaFunctionSucceeded", "TaskStateExited A"),
        *("PassStateEntered P", "PassStateExited P"),
        *("TaskStateEntered B", *WORK, "TaskStateExited B"),
    ]
    assert details(named(found, "TaskStateExited A")) == {"name": "A"}


def test_services_and_activities_have_events_of_their_own() -> None:
    definition = machine(
        Put=task("arn:aws:states:::sqs:sendMessage", Parameters={"QueueUrl": "q", "MessageBody": "m"}, Next="Do"),
        Do=task("arn:aws:states:us-east-1:123456789012:activity:press", End=True),
    )
    found = reply(*executed(definition, 1, Put=lambda event, _: event, Do=lambda event, _: event))
    assert details(named(found, "TaskScheduled")) == {
        "resourceType": "sqs",
        "resource": "sendMessage",
        "region": "local",
        "parameters": '{"QueueUrl":"q","MessageBody":"m"}',
    }
    assert details(named(found, "TaskSucceeded"))["resourceType"] == "sqs"
    assert details(named(found, "ActivityScheduled"))["resource"].endswith(":activity:press")
    assert "ActivitySucceeded" in lines(found)


@pytest.mark.parametrize("definition", [CHAIN, MAPS, BOTH])
def test_every_part_of_an_execution_can_be_told(definition: dict[str, Any]) -> None:
    workflow, checkpoints = executed(definition, ROWS if definition is MAPS else {"n": 1})
    whole = Counter(lines(reply(workflow, checkpoints)))
    for count in range(1, len(checkpoints)):
        part = Counter(lines(reply(workflow, checkpoints[:count])))
        assert not {line for line in part - whole if "Aborted" not in line}


def test_data_can_be_left_out() -> None:
    found = [without_data(event) for event in reply(*executed(CHAIN, {"n": 1}))]
    assert '"n"' not in json.dumps(found, default=str)
    assert details(named(found, "TaskStateEntered Work")) == {"name": "Work"}


def test_another_version_of_the_workflow_is_refused() -> None:
    _, checkpoints = executed(CHAIN, {"n": 1})
    other = compile_workflow(BOTH, name="w", functions=None)
    with pytest.raises(ClientError, match="but this is version"):
        events(other, checkpoints, now_ms=0)


def test_clocks_that_differ_do_not_turn_causes_around() -> None:
    workflow, (start, work, last) = executed(CHAIN, {"n": 1})
    found = reply(workflow, [start, work, replace(last, committed_ms=start.committed_ms - 5_000)])
    assert lines(found)[-1] == "ExecutionSucceeded"
