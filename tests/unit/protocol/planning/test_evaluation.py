"""The evaluation context: what expressions see of an execution, equal on every delivery."""

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.protocol.platform import chain
from unum_compiler import compile_workflow
from unum_runtime.model.ir import Home, Workflow
from unum_runtime.model.naming import Execution
from unum_runtime.model.states import Json
from unum_runtime.protocol.planning.evaluation import (
    CHILD,
    INPUT,
    REDRIVEN_AT,
    REDRIVES,
    EvaluationContext,
    deadline,
    of_execution,
    timestamp,
    without_redrives,
)

BEGUN_MS = 1_800_000_000_123
ENTERED_MS = BEGUN_MS + 5_000
EXECUTION = Execution("e", BEGUN_MS)
TIMES = {"begun": "2027-01-15T08:00:00.123Z", "entered": "2027-01-15T08:00:05.123Z"}


def workflow(**fields: Any) -> Workflow:
    home = Home("aws", "eu-west-1", "123456789012", "arn:aws:iam::123456789012:role/r")
    return replace(compile_workflow(chain("A", "B"), name="w", functions={"A", "B"}), home=home, **fields)


def context(variables: dict[str, Json] | None = None, **fields: Any) -> EvaluationContext:
    return EvaluationContext(workflow(), EXECUTION, ENTERED_MS, "seed", variables or {}, **fields)


def expected(**execution: Json) -> dict[str, Json]:
    home = workflow().home
    common = {
        "Id": home.arn("execution:w:e"),
        "Name": "e",
        "StartTime": TIMES["begun"],
        "RoleArn": home.role_arn,
        "RedriveCount": 0,
    }
    return {
        "Execution": common | execution,
        "State": {"Name": "A", "EnteredTime": TIMES["entered"]},
        "StateMachine": {"Id": home.arn("stateMachine:w"), "Name": "w"},
    }


def test_the_context_object() -> None:
    assert context().context_of("A").context_object == expected()


@pytest.mark.parametrize(
    ("variables", "execution"),
    [
        ({REDRIVES: 2}, {"RedriveCount": 2}),
        ({REDRIVES: 1, REDRIVEN_AT: BEGUN_MS + 1000}, {"RedriveCount": 1, "RedriveTime": "2027-01-15T08:00:01.123Z"}),
        ({INPUT: {"a": 1}}, {"Input": {"a": 1}}),
        (
            {CHILD: ["/Label", "child", BEGUN_MS + 1000]},
            {
                "Id": workflow().home.arn("execution:w/Label:child"),
                "Name": "child",
                "StartTime": "2027-01-15T08:00:01.123Z",
            },
        ),
    ],
)
def test_own_variables_show_in_the_context_object(variables: dict[str, Json], execution: dict[str, Json]) -> None:
    assert context(variables).context_of("A").context_object == expected(**execution)


def test_a_task_is_told_its_retries_and_its_token() -> None:
    found = context().context_of("A", retries=(2, 1), token="secret").context_object
    assert found["State"]["RetryCount"] == 3
    assert found["Task"] == {"Token": "secret"}
    assert context().context_of("A", retries=()).context_object["State"]["RetryCount"] == 0


def test_the_time_is_that_of_the_entry_unless_a_later_one_is_given() -> None:
    assert context().context_of("A").now_ms == ENTERED_MS
    assert context().context_of("A", now_ms=7).now_ms == 7
    assert context().context_of("A", now_ms=0).now_ms == 0


def test_every_visit_and_each_of_its_parts_draws_other_random_numbers() -> None:
    first = context()
    second = first.after({})
    third = second.after({})
    seeds = [each.context_of(state).seed for each in (first, second, third) for state in "AB"]
    seeds += [first.context_of("A", part=" result").seed]
    assert len({*seeds}) == len(seeds)
    assert first.context_of("A").seed == context().context_of("A").seed


def test_next_state_has_new_variables_and_the_end_of_a_wait_as_its_time() -> None:
    first = context({"a": 1})
    assert first.after({"b": 2}) == replace(first, variables={"b": 2}, visited=1)
    assert first.after({}, entered_ms=9) == replace(first, variables={}, visited=1, entered_ms=9)
    assert first.after({}, entered_ms=0).entered_ms == 0


@pytest.mark.parametrize(("ms", "is_late"), [(BEGUN_MS + 9_999, False), (BEGUN_MS + 10_000, True)])
def test_an_execution_is_late_from_its_deadline_on(ms: int, *, is_late: bool) -> None:
    limited = replace(context(), workflow=workflow(timeout_s=10))
    assert limited.is_late_at(ms) is is_late
    assert replace(limited, entered_ms=ms).is_late is is_late
    assert not context().is_late_at(ms + 10**12)


def test_a_deadline_is_counted_from_the_start() -> None:
    assert deadline(workflow(timeout_s=10), EXECUTION) == BEGUN_MS + 10_000
    assert deadline(workflow(), EXECUTION) is None


def test_number_and_time_of_redrives_are_told_apart() -> None:
    variables = {REDRIVES: 1, REDRIVEN_AT: 5, "a": 2}
    assert of_execution(variables) == {REDRIVES: 1, REDRIVEN_AT: 5}
    assert without_redrives(variables) == {"a": 2}
    assert (of_execution({"a": 2}), without_redrives({})) == ({}, {})


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (7, "1970-01-01T00:00:00.007Z"),
        (BEGUN_MS, TIMES["begun"]),
        (951_782_400_000, "2000-02-29T00:00:00.000Z"),
    ],
)
def test_times_have_milliseconds(ms: int, text: str) -> None:
    assert timestamp(ms) == text
