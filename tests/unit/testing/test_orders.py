"""As docs/howto/test-workflows.md shows it: what a user tests a workflow with."""

from collections.abc import Callable
from pathlib import Path

import pytest

from docs.snippets.functions.orders import price, split, total
from unum_compiler.testing import Faults, WorkflowRun

SNIPPETS = Path(__file__).parents[3] / "docs" / "snippets"
WORKFLOW = SNIPPETS / "workflow.asl.json"
FUNCTIONS = {"Split": split, "Price": price, "Total": total}
ORDER = {"order": {"apple": 3, "plum": 2}}

Run = Callable[..., WorkflowRun]


# --8<-- [start:steps]
def test_an_order_is_priced(run_workflow: Run) -> None:
    done = run_workflow(WORKFLOW, FUNCTIONS, ORDER)
    assert done.output == {"lines": 2, "cents": 130}
    assert done.path == ["Split", "Price", "Price", "Total"]
    assert [task.result["cents"] for task in done.of("Price")] == [90, 40]
    assert done.usd_per_million < 12


# --8<-- [end:steps]
# --8<-- [start:errors]
def test_an_unknown_item_fails_the_execution(run_workflow: Run) -> None:
    done = run_workflow(WORKFLOW, FUNCTIONS, {"order": {"brick": 1}})
    error, cause = done.failure
    assert (error, "brick" in str(cause)) == ("KeyError", True)
    assert done.of("Total") == []


# --8<-- [end:errors]
# --8<-- [start:faults]
@pytest.mark.parametrize(
    "faults", [Faults(crashes=2, duplicates=2), Faults(throttles=3), Faults(duplicates=1, jumps=1)]
)
def test_an_order_is_priced_once_whatever_happens(run_workflow: Run, faults: Faults) -> None:
    done = run_workflow(WORKFLOW, FUNCTIONS, ORDER, faults=faults, runs=10)
    assert done.output == {"lines": 2, "cents": 130}


# --8<-- [end:faults]
# --8<-- [start:mocks]
PAYMENT = {
    "StartAt": "Charge",
    "States": {
        "Charge": {
            "Type": "Task",
            "Resource": "arn:aws:states:::lambda:invoke",
            "Parameters": {"FunctionName": "charge", "Payload.$": "$"},
            "OutputPath": "$.Payload",
            "TimeoutSeconds": 60,
            "Retry": [{"ErrorEquals": ["Lambda.TooManyRequestsException"], "IntervalSeconds": 10, "MaxAttempts": 2}],
            "Next": "Ship",
        },
        "Ship": {"Type": "Wait", "Seconds": 86_400, "Next": "Notify"},
        "Notify": {
            "Type": "Task",
            "Resource": "arn:aws:states:::sns:publish",
            "Parameters": {"TopicArn": "${Topic}", "Message.$": "$.receipt"},
            "End": True,
        },
    },
}
BUSY = {"Throw": {"Error": "Lambda.TooManyRequestsException", "Cause": "busy"}}
MOCKS = {
    "StateMachines": {"Payment": {"TestCases": {"busy": {"Charge": "PaidAtLast"}}}},
    "MockedResponses": {"PaidAtLast": {"0-1": BUSY, "2": {"Return": {"Payload": {"receipt": "r-1"}}}}},
}


def test_a_busy_payment_is_tried_again(run_workflow: Run) -> None:
    done = run_workflow(PAYMENT, input={"cents": 7}, mocks=MOCKS, auto_mock=True)
    assert [task.error for task in done.of("Charge")] == ["Lambda.TooManyRequestsException"] * 2 + [None]
    assert done.of("Notify")[0].input["Message"] == "r-1"
    assert done.waited_s == 10 + 20 + 86_400


# --8<-- [end:mocks]
# --8<-- [start:clock]
def test_a_slow_payment_times_out(run_workflow: Run) -> None:
    def slow(_event: object, context: object) -> None:
        context.clock.sleep(61)  # type: ignore[attr-defined]  # virtual time

    done = run_workflow(PAYMENT, {"charge": slow}, {"cents": 7}, auto_mock=True)
    assert done.failure[0] == "States.Timeout"


# --8<-- [end:clock]
# --8<-- [start:snapshot]
def test_nothing_else_changes(run_workflow: Run) -> None:
    done = run_workflow(WORKFLOW, FUNCTIONS, ORDER)
    stored = SNIPPETS / "orders.run.json"
    assert done.snapshot() == stored.read_text(encoding="utf-8").rstrip("\n")


# --8<-- [end:snapshot]
