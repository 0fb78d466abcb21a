"""For how long events may have to wait, as far as a definition tells."""

from typing import Any

import pytest

from tests.synth.machines import Machine, machine, task
from unum_compiler import compile_workflow
from unum_compiler.analysis.event_bounds import waits_long

LONGEST = 2_700
"""Seconds that the queue alone is cheaper for."""


def waiting(**fields: Any) -> Machine:
    """A Wait before a Task."""
    return machine(W={"Type": "Wait", **fields, "Next": "A"}, A=task("A"))


CALLBACK = {
    **task("arn:aws:states:::lambda:invoke.waitForTaskToken"),
    "Parameters": {"FunctionName": "A", "Payload": {"token.$": "$$.Task.Token"}},
}
JSONATA = {"QueryLanguage": "JSONata"}


def retrying(**retrier: Any) -> Machine:
    return machine(A={**task("A"), "Retry": [{"ErrorEquals": ["E"], **retrier}]})


@pytest.mark.parametrize(
    ("definition", "is_long"),
    [
        (waiting(Seconds=LONGEST), False),
        (waiting(Seconds=LONGEST + 1), True),
        (waiting(SecondsPath="$.s"), True),
        (waiting(Timestamp="2030-01-01T00:00:00Z"), True),
        (waiting(TimestampPath="$.t"), True),
        ({**waiting(Seconds="{% 5 %}"), **JSONATA}, True),
        ({**waiting(Seconds=5), **JSONATA}, False),
        ({**waiting(SecondsPath="$.s"), "TimeoutSeconds": LONGEST}, False),
        ({**waiting(SecondsPath="$.s"), "TimeoutSeconds": LONGEST + 1}, True),
        (retrying(), False),
        (retrying(IntervalSeconds=LONGEST), True),
        (retrying(IntervalSeconds=LONGEST, MaxAttempts=1), False),
        (retrying(IntervalSeconds=LONGEST + 1, MaxAttempts=0), False),
        (retrying(IntervalSeconds=1, MaxAttempts=12), False),
        (retrying(IntervalSeconds=1, MaxAttempts=13), True),
        (retrying(IntervalSeconds=1, MaxAttempts=13, MaxDelaySeconds=LONGEST), False),
        (retrying(IntervalSeconds=1, MaxAttempts=99_999_999, BackoffRate=10), True),
        (machine(A=CALLBACK), False),
        (machine(A={**CALLBACK, "TimeoutSeconds": LONGEST}), False),
        (machine(A={**CALLBACK, "TimeoutSeconds": LONGEST + 1}), True),
        (machine(A={**CALLBACK, "TimeoutSecondsPath": "$.s"}), True),
        (machine(A={**CALLBACK, "TimeoutSeconds": LONGEST + 1, "HeartbeatSeconds": 60}), False),
        (machine(A={**CALLBACK, "HeartbeatSeconds": LONGEST + 1}), True),
        ({**machine(A=CALLBACK), "TimeoutSeconds": LONGEST + 1}, True),
        (machine(A={**task("A"), "TimeoutSeconds": 99_999}), False),
    ],
)
def test_what_may_wait_for_long(definition: Machine, *, is_long: bool) -> None:
    assert waits_long(compile_workflow(definition, name="Flow", functions=None)) is is_long
