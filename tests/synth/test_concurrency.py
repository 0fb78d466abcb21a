"""Fan-outs that outlast Lambda's queue are a warning at synth, with the limit that avoids it."""

from typing import Any

import pytest
from aws_cdk import Duration

from tests.synth.deployment import Deployment, function
from tests.synth.machines import machine, task
from unum_constructs import ConstructError


def warned(fields: dict[str, Any], concurrency: Any = None, **options: Any) -> list[str]:
    deployment = Deployment.new()
    if concurrency is not None:
        deployment.stack.node.set_context("unum:accountConcurrency", concurrency)
    processor = {"StartAt": "T", "States": {"T": {**task("T"), **fields.pop("task", {})}}}
    states = machine(M={"Type": "Map", "ItemProcessor": processor, "End": True, **fields})
    deployment.flow(states, {"T": function(deployment.stack, "T", **options)})
    return [each.text for each in deployment.warnings() if "longQueue" in each.text]


MINUTES_15 = {"timeout": Duration.minutes(15)}


@pytest.mark.parametrize(
    ("fields", "options"),
    [
        ({}, MINUTES_15),
        ({"MaxConcurrency": 0}, {"timeout": Duration.seconds(216)}),
        ({"MaxConcurrency": 24_000}, MINUTES_15),
        ({}, {"timeout": Duration.minutes(1), "reserved_concurrent_executions": 3}),
        ({"MaxConcurrency": 0}, {**MINUTES_15, "reserved_concurrent_executions": 0}),
        ({"MaxConcurrency": 0, "task": {"TimeoutSeconds": 200}}, MINUTES_15),
        ({}, {}),
    ],
)
def test_what_lambda_keeps_long_enough_is_no_warning(fields: dict[str, Any], options: dict[str, Any]) -> None:
    assert warned(dict(fields), **options) == []


@pytest.mark.parametrize(
    ("fields", "options", "most"),
    [
        ({"MaxConcurrency": 0}, {"timeout": Duration.seconds(217)}, "99,539"),
        ({"MaxConcurrencyPath": "$.n"}, MINUTES_15, "24,000"),
        ({"MaxConcurrency": 24_001}, MINUTES_15, "24,000"),
        ({}, {"timeout": Duration.minutes(1), "reserved_concurrent_executions": 2}, "720"),
    ],
)
def test_longer_queue_is_a_warning_with_a_limit(fields: dict[str, Any], options: dict[str, Any], most: str) -> None:
    (text,) = warned(dict(fields), **options)
    assert f"MaxConcurrency of at most {most} " in text
    assert "[ack: unum:longQueue[T]]" in text


@pytest.mark.parametrize("given", [10_000, "10000"])
def test_context_tells_the_concurrency_of_the_account(given: Any) -> None:
    assert warned({"MaxConcurrency": 0}, given, **MINUTES_15) == []
    assert warned({"MaxConcurrency": 0}, 10, **MINUTES_15) != []


@pytest.mark.parametrize("given", [0, -1, "many", True, 1.5, ""])
def test_malformed_context_is_refused(given: Any) -> None:
    expected = r"^Stack/Flow: context value 'unum:accountConcurrency': expected a number of concurrent executions, got "
    with pytest.raises(ConstructError, match=expected):
        warned({}, given)


def test_task_outside_of_maps_is_no_warning() -> None:
    deployment = Deployment.of(machine(A=task("A")), "A")
    assert deployment.warnings() == []
