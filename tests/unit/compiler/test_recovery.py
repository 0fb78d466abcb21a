"""Retry, Catch, timeouts and Wait: what can be said about failures and time, and what cannot."""

from typing import Any

import pytest

from unum_compiler import compile_workflow
from unum_runtime.errors import DefinitionError, Problem


def machine(**state: Any) -> dict[str, Any]:
    own = {} if "Type" in state else {"Type": "Task", "Resource": "f"}
    return {"StartAt": "A", "States": {"A": {**own, "End": True, **state}}}


def problems(definition: dict[str, Any]) -> tuple[Problem, ...]:
    with pytest.raises(DefinitionError) as caught:
        compile_workflow(definition, name="w", functions=None)
    return caught.value.problems


def accepted(definition: dict[str, Any]) -> bool:
    return bool(compile_workflow(definition, name="w", functions=None).states)


def wait(**fields: Any) -> dict[str, Any]:
    return {"StartAt": "A", "States": {"A": {"Type": "Wait", "End": True, **fields}}}


ALL = {"ErrorEquals": ["States.ALL"]}

RETRIERS = {
    "no names": ({}, "", '"ErrorEquals" is missing'),
    "empty names": ({"ErrorEquals": []}, ".ErrorEquals", "at least one error name"),
    "name of another type": ({"ErrorEquals": [1]}, ".ErrorEquals[0]", "expected the name of an error, got 1"),
    "States.ALL among others": ({"ErrorEquals": ["States.ALL", "A"]}, ".ErrorEquals", "remove the other names"),
    "unknown field": ({**ALL, "Interval": 1}, ".Interval", 'did you mean "IntervalSeconds"?'),
    "interval": ({**ALL, "IntervalSeconds": 0}, ".IntervalSeconds", "from 1 to 99999999, got 0"),
    "broken interval": ({**ALL, "IntervalSeconds": 1.5}, ".IntervalSeconds", "expected an integer"),
    "attempts": ({**ALL, "MaxAttempts": -1}, ".MaxAttempts", "from 0 to 99999999, got -1"),
    "backoff": ({**ALL, "BackoffRate": 0.5}, ".BackoffRate", "a number ≥ 1, got 0.5"),
    "longest delay": ({**ALL, "MaxDelaySeconds": 0}, ".MaxDelaySeconds", "from 1 to 31622399, got 0"),
    "delay below interval": (
        {**ALL, "IntervalSeconds": 5, "MaxDelaySeconds": 5},
        ".MaxDelaySeconds",
        "more than the interval of 5 seconds",
    ),
    "jitter": ({**ALL, "JitterStrategy": "full"}, ".JitterStrategy", 'expected "FULL" or "NONE"'),
}


@pytest.mark.parametrize(("retrier", "field", "message"), RETRIERS.values(), ids=RETRIERS.keys())
def test_mistake_in_a_retrier(retrier: dict[str, Any], field: str, message: str) -> None:
    for state in (machine(Retry=[retrier]), machine(Type="Parallel", Branches=[machine()], Retry=[retrier])):
        found = [problem for problem in problems(state) if problem.path == f"$.States.A.Retry[0]{field}"]
        assert any(message in problem.message for problem in found)


def test_states_all_comes_last() -> None:
    rules = [ALL, {"ErrorEquals": ["A"]}]
    assert [problem.path for problem in problems(machine(Retry=rules))] == ["$.States.A.Retry[0].ErrorEquals"]
    catchers = [{**rule, "Next": "A"} for rule in rules]
    assert [problem.path for problem in problems(machine(Catch=catchers))] == ["$.States.A.Catch[0].ErrorEquals"]
    assert accepted(machine(Retry=rules[::-1], Catch=catchers[::-1]))


CATCHERS = {
    "no target": (ALL, "", '"Next" is missing'),
    "unknown target": ({**ALL, "Next": "B"}, ".Next", 'there is no state "B"'),
    "unknown field": ({**ALL, "Next": "A", "InputPath": "$"}, ".InputPath", "a catcher has no field"),
    "result path": ({**ALL, "Next": "A", "ResultPath": "$.a[*]"}, ".ResultPath", "reference path"),
    "of JSONata": ({**ALL, "Next": "A", "Output": "{% 1 %}"}, ".Output", "a catcher has no field"),
}


@pytest.mark.parametrize(("catcher", "field", "message"), CATCHERS.values(), ids=CATCHERS.keys())
def test_mistake_in_a_catcher(catcher: dict[str, Any], field: str, message: str) -> None:
    (problem,) = problems(machine(Catch=[catcher]))
    assert problem.path == f"$.States.A.Catch[0]{field}"
    assert message in problem.message


def test_rules_of_another_type_are_refused() -> None:
    assert [str(problem) for problem in problems(machine(Retry={}, Catch=[1]))] == [
        "$.States.A.Retry: expected an array, got {}",
        '$.States.A.Catch[0]: expected a catcher: an object with "ErrorEquals" and "Next", got 1',
    ]
    assert [problem.path for problem in problems(machine(Type="Pass", Retry=[]))] == ["$.States.A.Retry"]


LIMITS = {
    "no time at all": ({"TimeoutSeconds": 0}, ".TimeoutSeconds", "from 1 to 99999999"),
    "too long": ({"TimeoutSeconds": 100_000_000}, ".TimeoutSeconds", "from 1 to 99999999"),
    "both forms": ({"TimeoutSeconds": 1, "TimeoutSecondsPath": "$.t"}, "", "got both"),
    "path of another type": ({"HeartbeatSecondsPath": None}, ".HeartbeatSecondsPath", "expected a path"),
    "no reference path": ({"TimeoutSecondsPath": "$.t[*]"}, ".TimeoutSecondsPath", "reference path"),
    "heartbeat": (
        {"TimeoutSeconds": 5, "HeartbeatSeconds": 5},
        ".HeartbeatSeconds",
        "less than the TimeoutSeconds of 5",
    ),
    "expression": ({"TimeoutSeconds": "{% 1 %}"}, ".TimeoutSeconds", "JSONata needs"),
}


@pytest.mark.parametrize(("fields", "field", "message"), LIMITS.values(), ids=LIMITS.keys())
def test_mistake_in_the_limits_of_a_task(fields: dict[str, Any], field: str, message: str) -> None:
    (problem,) = problems(machine(**fields))
    assert problem.path == f"$.States.A{field}"
    assert message in problem.message


def test_limits_that_are_right() -> None:
    assert accepted(machine(TimeoutSeconds=2, HeartbeatSeconds=1))
    assert accepted(machine(TimeoutSecondsPath="$.t", HeartbeatSecondsPath="$limits.h"))
    assert accepted(machine(QueryLanguage="JSONata", TimeoutSeconds="{% 2 %}", HeartbeatSeconds=1))


def test_limit_of_the_machine() -> None:
    assert problems({**machine(), "TimeoutSeconds": "1"})[0].path == "$.TimeoutSeconds"


WAITS = {
    "nothing": ({}, "", "exactly one of"),
    "two": ({"Seconds": 1, "SecondsPath": "$.s"}, "", "exactly one of"),
    "negative": ({"Seconds": -1}, ".Seconds", "from 0 to 99999999"),
    "text": ({"Seconds": "1"}, ".Seconds", "expected an integer"),
    "day before month": ({"Timestamp": "31-12-2026T10:00:00Z"}, ".Timestamp", "RFC 3339"),
    "no zone": ({"Timestamp": "2026-12-31T10:00:00"}, ".Timestamp", "RFC 3339"),
    "no path": ({"TimestampPath": "t"}, ".TimestampPath", "$"),
}


@pytest.mark.parametrize(("fields", "field", "message"), WAITS.values(), ids=WAITS.keys())
def test_mistake_in_a_wait(fields: dict[str, Any], field: str, message: str) -> None:
    (problem,) = problems(wait(**fields))
    assert problem.path == f"$.States.A{field}"
    assert message in problem.message


def test_waits_that_are_right() -> None:
    assert accepted(wait(Seconds=0))
    assert accepted(wait(Timestamp="2026-12-31T10:00:00+01:00", Assign={"x": 1}))
    assert accepted(wait(QueryLanguage="JSONata", Seconds="{% $states.input.s %}"))
    assert accepted(wait(QueryLanguage="JSONata", Timestamp="{% $now() %}", Output=1))


def fail(**fields: Any) -> dict[str, Any]:
    return {"StartAt": "A", "States": {"A": {"Type": "Fail", **fields}}}


def test_a_fail_says_its_error_once() -> None:
    assert accepted(fail(Error="E", CausePath="States.Format('{}', $.a)"))
    assert accepted(fail(ErrorPath="$x.error"))
    (both,) = problems(fail(Error="E", ErrorPath="$.e"))
    assert "got both" in both.message
    (unclosed,) = problems(fail(CausePath="States.Format("))
    assert unclosed.path == "$.States.A.CausePath"
