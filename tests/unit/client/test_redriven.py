"""What a client tells of executions that were redriven."""

from typing import Any

import pytest

from tests.unit.protocol.mapping import deliver_all, deployed, mapped
from tests.unit.protocol.platform import Platform
from unum_runtime.client import history
from unum_runtime.client.events import events
from unum_runtime.client.progress import progress
from unum_runtime.client.records import Description
from unum_runtime.model.checkpoint import Status
from unum_runtime.protocol.redrive import redrive


@pytest.fixture
def failed() -> Platform:
    """An execution of a Map that failed in its last branch, and would not again."""
    runs: list[Any] = []

    def fail_once(event: Any) -> Any:
        runs.append(event)
        if event == 2 and runs.count(2) == 1:
            raise ValueError(event)
        return event

    platform = deployed(mapped("A", after="C"), A=fail_once)
    platform.start("e", [0, 1, 2])
    deliver_all(platform)
    return platform


def steps(platform: Platform) -> list[Any]:
    record = history.start_record(platform.memory, "w", "e")
    return [record, *history.steps(platform.memory, "w", record.name.execution)]


def described(platform: Platform) -> Description:
    record = history.start_record(platform.memory, "w", "e")
    return Description.of(record, history.last_step(platform.memory, "w", record.name.execution))


def test_it_runs_again_and_ends_again(failed: Platform) -> None:
    assert described(failed).status is Status.FAILED
    redrive(failed.runtime(), "e")
    assert (described(failed).status, described(failed).stopped_at) == (Status.RUNNING, None)
    deliver_all(failed)
    assert (described(failed).status, described(failed).output) == (Status.SUCCEEDED, [0, 1, 2])


def test_its_progress_is_that_of_what_runs(failed: Platform) -> None:
    assert progress(failed.workflow, steps(failed))["C"].over
    redrive(failed.runtime(), "e")
    found = progress(failed.workflow, steps(failed))
    assert (found["A"].over, found["A"].running) == (False, 1)


def test_its_history_tells_of_the_failure_the_redrive_and_the_end(failed: Platform) -> None:
    redrive(failed.runtime(), "e")
    deliver_all(failed)
    told = events(failed.workflow, steps(failed), now_ms=failed.clock.ms)
    ours = [event for event in told if event["type"].startswith("Execution")]
    assert [event["type"] for event in ours] == [
        "ExecutionStarted",
        "ExecutionFailed",
        "ExecutionRedriven",
        "ExecutionSucceeded",
    ]
    assert ours[2]["executionRedrivenEventDetails"] == {"redriveCount": 1}
    assert ours[2]["previousEventId"] == ours[1]["id"]
