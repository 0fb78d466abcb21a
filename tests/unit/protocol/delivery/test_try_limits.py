"""Time limits of a try: precedence, expiry and error."""

import pytest

from tests.unit.protocol.platform import chain
from unum_compiler import compile_workflow
from unum_runtime.model.checkpoint import Failure
from unum_runtime.model.states import Json, Task
from unum_runtime.protocol.delivery.run_task import check_before, exceeded_limit, user_code_limit_s
from unum_runtime.protocol.runtime import CallbackPending, JobPending
from unum_runtime.protocol.waiting.callback import Limits

WAITS: Json = {"Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken", "Parameters": {"FunctionName": "A"}}


def task(**fields: Json) -> Task:
    return compile_workflow(chain("A", A=fields), name="w", functions={"A"}).task("A")


@pytest.mark.parametrize(
    ("limits", "alone", "waits"),
    [
        (Limits(), None, None),
        (Limits(timeout_s=5), 5, 5),
        (Limits(heartbeat_s=3), 3, None),
        (Limits(timeout_s=5, heartbeat_s=3), 3, 5),
        (Limits(timeout_s=2, heartbeat_s=3), 2, 2),
    ],
)
def test_only_a_responder_sends_heartbeats(limits: Limits, alone: float | None, waits: float | None) -> None:
    assert user_code_limit_s(task(), limits) == alone
    assert user_code_limit_s(task(**WAITS), limits) == waits


@pytest.mark.parametrize(
    ("limits", "elapsed_ms", "error"),
    [
        (Limits(), 10**9, None),
        (Limits(timeout_s=2), 2000, None),
        (Limits(timeout_s=2), 2001, "States.Timeout"),
        (Limits(heartbeat_s=2), 2000, None),
        (Limits(heartbeat_s=2), 2001, "States.HeartbeatTimeout"),
        (Limits(timeout_s=2, heartbeat_s=1), 1001, "States.HeartbeatTimeout"),
        (Limits(timeout_s=2, heartbeat_s=1), 2001, "States.Timeout"),
    ],
)
def test_a_limit_is_exceeded_after_its_last_millisecond(limits: Limits, elapsed_ms: int, error: str | None) -> None:
    found = exceeded_limit(task(), limits, elapsed_ms)
    assert (found.error if found else None) == error


def test_what_is_said_of_it() -> None:
    assert exceeded_limit(task(), Limits(timeout_s=2.5), 3000) == Failure(
        "States.Timeout", "state 'A': took longer than 2.5 s"
    )


@pytest.mark.parametrize(
    ("found", "now_ms", "delay_ms"),
    [
        (JobPending("job", 500), 0, 500),
        (JobPending("job", 500), 600, 400),
        (JobPending("job", 500), 1000, 0),
        (JobPending("job", 500), 2000, 0),
        (CallbackPending(), 0, 1000),
        (CallbackPending(), 2000, 0),
    ],
)
def test_the_next_check_is_no_later_than_the_deadline_of_the_execution(
    found: JobPending | CallbackPending, now_ms: int, delay_ms: int
) -> None:
    job = found.job if isinstance(found, JobPending) else None
    assert check_before(1000, now_ms, found) == JobPending(job, delay_ms)
