"""Plans after a state failed: a retry, a catcher, or the end of an execution whose time is over."""

from typing import Any

from unum_compiler import compile_workflow
from unum_runtime.model.checkpoint import Continuation, Failure, Success
from unum_runtime.model.naming import Execution
from unum_runtime.model.states import Task
from unum_runtime.protocol.planning.evaluation import EvaluationContext
from unum_runtime.protocol.planning.retry import NotRetried, Retry, recover

BEGUN_MS = 1_800_000_000_000
FAILURE = Failure("E", "why")
RETRY: dict[str, Any] = {"Retry": [{"ErrorEquals": ["E"], "IntervalSeconds": 30, "MaxAttempts": 2}]}
CATCH: dict[str, Any] = {"Catch": [{"ErrorEquals": ["E"], "Next": "B", "ResultPath": "$.error"}]}


def recovered(later_s: int, retries: tuple[int, ...] = (), **fields: Any) -> Retry | NotRetried:
    """Return the plan after the failure of Task A, this long after the start of an execution of 60 seconds."""
    states = {
        "A": {"Type": "Task", "Resource": "A", "Next": "B", **fields},
        "B": {"Type": "Task", "Resource": "B", "End": True},
    }
    definition = {"StartAt": "A", "TimeoutSeconds": 60, "States": states}
    workflow = compile_workflow(definition, name="w", functions={"A", "B"})
    state = workflow.states["A"]
    assert isinstance(state, Task)
    evaluation = EvaluationContext(workflow, Execution("e", BEGUN_MS), BEGUN_MS, "seed", {"v": 1, "$items": [1]})
    return recover(state, FAILURE, {"a": 1}, evaluation, retries=retries, now_ms=BEGUN_MS + later_s * 1000)


def test_a_retry_waits_for_its_interval_but_not_past_the_deadline() -> None:
    assert recovered(10, **RETRY) == Retry((1,), BEGUN_MS + 40_000)
    assert recovered(40, **RETRY) == Retry((1,), BEGUN_MS + 60_000)
    assert recovered(1, (1,), **RETRY) == Retry((2,), BEGUN_MS + 60_000)


def test_without_a_retry_a_catcher_continues() -> None:
    found = recovered(10, (2,), **RETRY, **CATCH)
    assert isinstance(found, NotRetried)
    assert found.outcome == Success({"a": 1, "error": {"Error": "E", "Cause": "why"}})
    assert found.continuation == Continuation(variables={"v": 1}, goes_to="B", caught=FAILURE)


def test_after_the_deadline_nothing_is_retried_or_caught() -> None:
    for fields in ({}, RETRY, CATCH, {**RETRY, **CATCH}):
        assert recovered(60, **fields) == NotRetried(FAILURE, Continuation())
    assert recovered(59) == NotRetried(FAILURE, Continuation())


def test_a_jitter_is_drawn_from_the_visit_of_the_state() -> None:
    jitter = [{"ErrorEquals": ["E"], "IntervalSeconds": 30, "MaxAttempts": 2, "JitterStrategy": "FULL"}]
    first, second = recovered(10, Retry=jitter), recovered(10, Retry=jitter)
    assert isinstance(first, Retry)
    assert BEGUN_MS + 10_000 < first.due_ms < BEGUN_MS + 40_000
    assert second == first
