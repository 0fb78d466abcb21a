"""Progress of an execution in its graph, from stored items."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.unit.protocol.platform import Platform
from unum_client.reading import stored_steps
from unum_client.reading.progress import Progress, Reach, progress
from unum_compiler import compile_workflow
from unum_runtime.errors import ClientError
from unum_runtime.model.checkpoint import Checkpoint, Collected, Failure
from unum_runtime.model.ir import Workflow
from unum_runtime.protocol.control.redrives.redrive import redrive
from unum_runtime.protocol.control.stop import stop
from unum_simulator.local import LocalWorkflow

PASS: dict[str, Any] = {"Type": "Pass"}


def task(function: str, **fields: Any) -> dict[str, Any]:
    return {"Type": "Task", "Resource": function, **fields}


def machine(**states: Any) -> dict[str, Any]:
    return {"StartAt": next(iter(states)), "States": states}


def executed(definition: dict[str, Any], value: Any, **functions: Any) -> tuple[Workflow, list[Checkpoint]]:
    """The workflow, and start record and steps of an execution in the order of their commits."""
    handlers = {"same": lambda event, _: event, "crash": crash, **functions}
    local = LocalWorkflow(compile_workflow(definition, name="w", functions=handlers), handlers)
    local.run("e", value)
    record = stored_steps.start_record(local.store, "w", "e")
    return local.workflow, [record, *stored_steps.steps(local.store, "w", record.name.execution)]


def crash(_event: Any, _context: Any) -> Any:
    raise ValueError


def reached(workflow: Workflow, checkpoints: list[Checkpoint]) -> dict[str, str]:
    return {name: state.reach.value for name, state in progress(workflow, checkpoints).items()}


def counts(found: Progress) -> tuple[int, int, int]:
    return found.succeeded, found.failed, found.running


CHOOSING = machine(
    Prepare={**PASS, "Next": "Work"},
    Work=task("same", Next="Choose"),
    Choose={
        "Type": "Choice",
        "Choices": [{"Variable": "$.n", "NumericEquals": 1, "Next": "One"}],
        "Default": "Other",
    },
    One={**PASS, "Next": "Last"},
    Other={**PASS, "Next": "Last"},
    Last=task("same", End=True),
)


def test_states_without_user_code_are_seen_to_be_passed() -> None:
    assert reached(*executed(CHOOSING, {"n": 1})) == {
        "Prepare": "succeeded",
        "Work": "succeeded",
        "Choose": "succeeded",
        "One": "succeeded",
        "Other": "not reached",
        "Last": "succeeded",
    }


def test_what_is_invoked_and_not_committed_runs() -> None:
    workflow, checkpoints = executed(CHOOSING, {"n": 1})
    start, work, last = checkpoints
    assert reached(workflow, [start])["Work"] == "running"
    assert reached(workflow, [start, work]) | {"Last": "running"} == reached(workflow, [start, work])
    assert reached(workflow, [start, work, last])["Last"] == "succeeded"


def test_a_choice_without_match_failed() -> None:
    definition = machine(
        Work=task("same", Next="Choose"),
        Choose={"Type": "Choice", "Choices": [{"Variable": "$", "NumericEquals": 1, "Next": "Last"}]},
        Last=task("same", End=True),
    )
    assert reached(*executed(definition, 2)) == {"Work": "succeeded", "Choose": "failed", "Last": "not reached"}


def test_a_fail_state_failed_also_where_nothing_ran_before() -> None:
    definition = machine(First={**PASS, "Next": "No"}, No={"Type": "Fail", "Error": "E"})
    assert reached(*executed(definition, 2)) == {"First": "succeeded", "No": "failed"}


def test_rounds_of_a_loop_are_counted() -> None:
    definition = machine(
        Work=task("more", Next="Enough"),
        Enough={
            "Type": "Choice",
            "Choices": [{"Variable": "$", "NumericLessThan": 5, "Next": "Work"}],
            "Default": "End",
        },
        End={"Type": "Succeed"},
    )
    found = progress(*executed(definition, 0, more=lambda event, _: event + 1))
    assert [counts(found[name]) for name in ("Work", "Enough", "End")] == [(5, 0, 0), (5, 0, 0), (1, 0, 0)]


SPREAD = machine(
    Split=task("same", Next="Spread"),
    Spread={
        "Type": "Map",
        "MaxConcurrency": 2,
        "ItemProcessor": machine(Before={**PASS, "Next": "Each"}, Each=task("same", End=True)),
        "Next": "Between",
    },
    Between={**PASS, "Next": "Join"},
    Join=task("same", End=True),
)


def test_a_map_is_counted_by_branches_and_its_join() -> None:
    found = progress(*executed(SPREAD, [1, 2, 3, 4, 5]))
    assert {name: counts(state) for name, state in found.items()} == {
        "Split": (1, 0, 0),
        "Spread": (1, 0, 0),
        "Before": (5, 0, 0),
        "Each": (5, 0, 0),
        "Between": (1, 0, 0),
        "Join": (1, 0, 0),
    }


@pytest.mark.parametrize(
    ("committed", "each", "spread", "join"),
    [(0, (0, 0, 2), (0, 0, 1), (0, 0, 0)), (3, (3, 0, 2), (0, 0, 1), (0, 0, 0)), (5, (5, 0, 0), (1, 0, 0), (0, 0, 1))],
)
def test_under_max_concurrency_as_many_branches_run_as_may(
    committed: int, each: tuple[int, ...], spread: tuple[int, ...], join: tuple[int, ...]
) -> None:
    workflow, (start, split, *branches, _join) = executed(SPREAD, [1, 2, 3, 4, 5])
    found = progress(workflow, [start, split, *branches[:committed]])
    assert (counts(found["Each"]), counts(found["Spread"]), counts(found["Join"])) == (each, spread, join)


def test_a_failed_branch_fails_the_fan_out_and_stops_what_still_runs() -> None:
    definition = machine(
        Both={
            "Type": "Parallel",
            "Branches": [machine(Bad=task("crash", End=True)), machine(Good=task("same", End=True))],
            "Next": "Last",
        },
        Last=task("same", End=True),
    )
    workflow, checkpoints = executed(definition, 2)
    assert reached(workflow, checkpoints)["Both"] == "failed"
    assert reached(workflow, checkpoints)["Last"] == "not reached"
    unfinished = [checkpoint for checkpoint in checkpoints if checkpoint.state != "Good"]
    assert reached(workflow, unfinished) == {
        "Both": "failed",
        "Bad": "failed",
        "Good": "stopped",
        "Last": "not reached",
    }


def test_a_failure_in_a_branch_without_user_code_is_placed() -> None:
    inner = machine(
        Which={
            "Type": "Choice",
            "Choices": [{"Variable": "$", "NumericLessThan": 2, "Next": "Fine"}],
            "Default": "Bad",
        },
        Fine={**PASS, "End": True},
        Bad={"Type": "Fail", "Error": "E"},
    )
    definition = machine(
        Work=task("same", Next="Pure"),
        Pure={"Type": "Map", "ItemProcessor": inner, "Next": "Last"},
        Last=task("same", End=True),
    )
    found = progress(*executed(definition, [1, 2, 3]))
    assert {name: counts(state) for name, state in found.items()} == {
        "Work": (1, 0, 0),
        "Pure": (0, 1, 0),
        "Which": (3, 0, 0),
        "Fine": (1, 0, 0),
        "Bad": (0, 2, 0),
        "Last": (0, 0, 0),
    }


@pytest.mark.parametrize("values", [[1, 2], [2, 1]])
def test_a_failure_is_placed_wherever_it_is_among_the_branches(values: list[int]) -> None:
    inner = machine(
        Which={
            "Type": "Choice",
            "Choices": [{"Variable": "$", "NumericLessThan": 2, "Next": "Fine"}],
            "Default": "Bad",
        },
        Fine={**PASS, "End": True},
        Bad={"Type": "Fail", "Error": "E"},
    )
    definition = machine(Pure={"Type": "Map", "ItemProcessor": inner, "End": True})
    found = reached(*executed(definition, values))
    assert found == {"Pure": "failed", "Which": "succeeded", "Fine": "succeeded", "Bad": "failed"}


def test_a_failure_that_was_caught_shows_and_so_does_where_it_led() -> None:
    definition = machine(
        Risky=task("crash", Catch=[{"ErrorEquals": ["States.ALL"], "Next": "Mend"}], Next="Last"),
        Mend={**PASS, "Next": "Last"},
        Last=task("same", End=True),
    )
    assert reached(*executed(definition, 1)) == {"Risky": "failed", "Mend": "succeeded", "Last": "succeeded"}


def test_a_wait_is_passed() -> None:
    definition = machine(
        Rest={"Type": "Wait", "Seconds": 3, "Next": "Spread"},
        Spread={"Type": "Map", "ItemProcessor": machine(Each=task("same", End=True)), "Next": "Pause"},
        Pause={"Type": "Wait", "Seconds": 3, "Next": "Last"},
        Last=task("same", End=True),
    )
    assert set(reached(*executed(definition, [1, 2])).values()) == {"succeeded"}


def test_an_empty_map_is_passed() -> None:
    found = reached(*executed(SPREAD, []))
    assert (found["Spread"], found["Each"], found["Join"]) == ("succeeded", "not reached", "succeeded")


def test_durations_are_summed_and_the_slowest_is_kept() -> None:
    workflow, checkpoints = executed(SPREAD, [1, 2])
    timed = [replace(checkpoint, duration_ms=10 * place) for place, checkpoint in enumerate(checkpoints)]
    each = progress(workflow, timed)["Each"]
    assert (each.duration_ms, each.slowest_ms) == (50, 30)


def test_another_version_of_the_workflow_is_refused() -> None:
    _, checkpoints = executed(CHOOSING, {"n": 1})
    other = compile_workflow(SPREAD, name="w", functions=None)
    with pytest.raises(ClientError, match="but this is version"):
        progress(other, checkpoints)


def test_nothing_is_reached_before_the_start() -> None:
    workflow = compile_workflow(CHOOSING, name="w", functions=None)
    assert {state.reach for state in progress(workflow, []).values()} == {Reach.NOT_REACHED}


def test_what_was_collected_counts_as_far_as_the_definition_alone_tells() -> None:
    workflow, checkpoints = executed(CHOOSING, {"n": 1})
    start, work, last = checkpoints
    found = reached(workflow, [start, replace(work, outcome=Collected()), last])
    assert found == {
        "Prepare": "succeeded",
        "Work": "succeeded",
        "Choose": "succeeded",
        "One": "not reached",
        "Other": "not reached",
        "Last": "succeeded",
    }


def test_a_collected_fan_out_has_been_joined() -> None:
    workflow, (start, *steps, join) = executed(SPREAD, [1, 2])
    found = progress(workflow, [start, *(replace(step, outcome=Collected()) for step in steps), join])
    assert [counts(found[name]) for name in ("Split", "Spread", "Each", "Join")] == [
        (1, 0, 0),
        (1, 0, 0),
        (2, 0, 0),
        (1, 0, 0),
    ]


def transitions(workflow: Workflow, checkpoints: list[Checkpoint]) -> dict[str, set[str | None]]:
    return {name: {*state.followed_by} for name, state in progress(workflow, checkpoints).items() if state.followed_by}


SKIPPING = machine(
    Work=task("same", Next="Choose"),
    Choose={"Type": "Choice", "Choices": [{"Variable": "$.n", "NumericEquals": 1, "Next": "One"}], "Default": "Last"},
    One=task("same", Next="Pause"),
    Pause={"Type": "Wait", "Seconds": 1, "Next": "Last"},
    Last={**PASS, "End": True},
)


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (1, {"Work": {"Choose"}, "Choose": {"One"}, "One": {"Pause"}, "Pause": {"Last"}, "Last": {None}}),
        (2, {"Work": {"Choose"}, "Choose": {"Last"}, "Last": {None}}),
    ],
)
def test_only_what_control_went_on_to_is_followed(number: int, expected: dict[str, set[str | None]]) -> None:
    assert transitions(*executed(SKIPPING, {"n": number})) == expected


def test_nothing_is_followed_that_was_not_planned() -> None:
    workflow, checkpoints = executed(SKIPPING, {"n": 1})
    assert transitions(workflow, checkpoints[:1]) == {}
    assert transitions(workflow, checkpoints[:2]) == {"Work": {"Choose"}, "Choose": {"One"}}


def test_caught_failure_leads_to_its_catcher_and_others_to_nothing() -> None:
    catch = [{"ErrorEquals": ["ValueError"], "Next": "Mend"}]
    states = {"Last": task("same", End=True), "Mend": task("crash", Next="Last")}
    found = transitions(*executed(machine(Try=task("crash", Next="Last", Catch=catch), **states), {}))
    assert found == {"Try": {"Mend"}}


@pytest.mark.parametrize("first", [{}, {"First": task("same", Next="Each")}])
def test_ways_inside_of_a_map_and_after_it(first: dict[str, Any]) -> None:
    one = machine(Odd={"Type": "Choice", "Choices": [ODD], "Default": "Even"}, Work=task("same", End=True), Even=END)
    each = {"Type": "Map", "ItemProcessor": one, "ItemsPath": "$.items", "Next": "After"}
    definition = machine(**first, Each=each, After=task("same", End=True))
    assert transitions(*executed(definition, {"items": [1, 3]})) == {
        **{name: {"Each"} for name in first},
        "Each": {"After"},
        "Odd": {"Work"},
        "Work": {None},
        "After": {None},
    }
    both = transitions(*executed(definition, {"items": [1, 2]}))
    assert (both["Odd"], both["Even"]) == ({"Work", "Even"}, {None})


ODD = {"Or": [{"Variable": "$", "NumericEquals": 1}, {"Variable": "$", "NumericEquals": 3}], "Next": "Work"}
END = {**PASS, "End": True}


Counts = Callable[[], dict[str, tuple[int, int, int]]]


def waiting(definition: dict[str, Any], value: Any, *, is_delivered: bool = True) -> tuple[Platform, Counts]:
    """An execution that has got as far as it could without time passing, and the counts of its states now."""
    functions = {"same": lambda event: event}
    platform = Platform(compile_workflow(definition, name="w", functions=functions), functions)
    platform.start(value=value)
    if is_delivered:
        platform.deliver_all()

    def now() -> dict[str, tuple[int, int, int]]:
        found = progress(platform.workflow, platform.steps(), now_ms=platform.clock.now_ms())
        return {name: counts(state) for name, state in found.items()}

    return platform, now


PAUSING = machine(
    A=task("same", Next="Pause"),
    Pause={"Type": "Wait", "Seconds": 60, "Next": "Shape"},
    Shape={**PASS, "Next": "B"},
    B=task("same", End=True),
)


def test_control_is_at_a_wait_until_it_is_over() -> None:
    platform, now = waiting(PAUSING, 1)
    assert now() == {"A": (1, 0, 0), "Pause": (0, 0, 1), "Shape": (0, 0, 0), "B": (0, 0, 0)}
    found = progress(platform.workflow, platform.steps(), now_ms=platform.clock.now_ms())
    assert {name: {*state.followed_by} for name, state in found.items() if state.followed_by} == {"A": {"Pause"}}
    event = platform.pass_to_next()
    assert now() == {"A": (1, 0, 0), "Pause": (1, 0, 0), "Shape": (1, 0, 0), "B": (0, 0, 1)}
    platform.deliver(event)
    platform.deliver_all()
    assert now() == {"A": (1, 0, 0), "Pause": (1, 0, 0), "Shape": (1, 0, 0), "B": (1, 0, 0)}


def test_each_branch_is_at_its_wait() -> None:
    each = {"Type": "Map", "ItemProcessor": PAUSING, "End": True}
    platform, now = waiting(machine(Each=each), [1, 2])
    assert (now()["A"], now()["Pause"], now()["B"], now()["Each"]) == ((2, 0, 0), (0, 0, 2), (0, 0, 0), (0, 0, 1))
    platform.clock.pass_seconds(60)
    assert (now()["Pause"], now()["B"]) == ((2, 0, 0), (0, 0, 2))


def test_an_execution_that_was_stopped_at_a_wait_stays_there() -> None:
    platform, now = waiting(PAUSING, 1)
    stop(platform.runtime(), platform.steps()[0].name.execution, Failure(None, None))
    platform.clock.pass_seconds(3600)
    found = progress(platform.workflow, platform.steps())
    assert (found["Pause"].reach, found["B"].reach) == (Reach.STOPPED, Reach.NOT_REACHED)
    assert now()["Pause"] == (0, 0, 1)


def test_after_a_redrive_control_is_at_the_task_that_the_wait_delays() -> None:
    platform, now = waiting(PAUSING, 1)
    stop(platform.runtime(), platform.steps()[0].name.execution, Failure(None, None))
    redrive(platform.runtime(), "e")
    assert (now()["Pause"], now()["Shape"], now()["B"]) == ((1, 0, 0), (1, 0, 0), (0, 0, 1))


def stopped_and_redriven(platform: Platform) -> None:
    stop(platform.runtime(), platform.steps()[0].name.execution, Failure(None, None))
    platform.sent.clear()
    platform.waiting.clear()
    redrive(platform.runtime(), "e")


@pytest.mark.parametrize("times", [1, 2])
def test_what_a_stop_has_ended_counts_once_after_a_redrive(times: int) -> None:
    platform, now = waiting(PAUSING, 1)
    for _ in range(times):
        stopped_and_redriven(platform)
    platform.clock.pass_seconds(60)
    passed = {"A": (1, 0, 0), "Pause": (1, 0, 0), "Shape": (1, 0, 0)}
    assert now() == {**passed, "B": (0, 0, 1)}
    platform.deliver(platform.pass_to_next())
    platform.deliver_all()
    assert now() == {**passed, "B": (1, 0, 0)}


def test_a_task_that_a_stop_has_ended_counts_once_after_a_redrive() -> None:
    platform, now = waiting(machine(A=task("same", Next="B"), B=task("same", End=True)), 1, is_delivered=False)
    assert now()["B"] == (0, 0, 1)
    stopped_and_redriven(platform)
    assert now()["B"] == (0, 0, 1)
    platform.deliver_all()
    assert now() == {"A": (1, 0, 0), "B": (1, 0, 0)}


def test_a_fan_out_that_a_stop_has_ended_counts_once_after_a_redrive() -> None:
    each = {"Type": "Map", "ItemProcessor": PAUSING, "End": True}
    platform, now = waiting(machine(Each=each), [1, 2])
    stopped_and_redriven(platform)
    platform.deliver_all()
    assert (now()["Each"], now()["Pause"], now()["B"]) == ((0, 0, 1), (0, 0, 2), (0, 0, 0))
    platform.clock.pass_seconds(60)
    assert (now()["Each"], now()["Pause"], now()["B"]) == ((0, 0, 1), (2, 0, 0), (0, 0, 2))
    while platform.waiting:
        platform.deliver(platform.pass_to_next())
        platform.deliver_all()
    assert (now()["Each"], now()["Pause"], now()["B"]) == ((1, 0, 0), (2, 0, 0), (2, 0, 0))


def test_a_wait_that_a_redrive_has_planned_anew_counts_once() -> None:
    old, _ = waiting(PAUSING, 1)
    stop(old.runtime(), old.steps()[0].name.execution, Failure(None, None))
    functions = {"same": lambda event: event}
    changed = machine(**{**PAUSING["States"], "B": task("same", Next="C"), "C": task("same", End=True)})
    new = Platform(compile_workflow(changed, name="w", functions=functions), functions)
    new.clock, new.memory, new.store = old.clock, old.memory, old.memory
    redrive(new.runtime(), "e", old=old.workflow)
    new.clock.pass_seconds(60)
    new.deliver(new.pass_to_next())
    new.deliver_all()
    found = progress(new.workflow, new.steps(), [old.workflow], now_ms=new.clock.now_ms())
    assert {name: counts(state) for name, state in found.items()} == dict.fromkeys(
        ("A", "Pause", "Shape", "B", "C"), (1, 0, 0)
    )
