"""Histories of redriven executions."""

from typing import Any

import pytest

from tests.unit.protocol.map_platform import deliver_all, deployed, mapped
from tests.unit.protocol.platform import Platform
from unum_client import Client
from unum_client.descriptions import Description
from unum_client.events.history_events import events
from unum_client.reading import stored_steps
from unum_client.reading.progress import progress
from unum_client.stepfunctions import StepFunctionsClient
from unum_runtime.model.checkpoint import Status
from unum_runtime.model.ir import Home
from unum_runtime.protocol.control.redrives.redrive import redrive


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
    record = stored_steps.start_record(platform.memory, "w", "e")
    return [record, *stored_steps.steps(platform.memory, "w", record.name.execution)]


def described(platform: Platform) -> Description:
    record = stored_steps.start_record(platform.memory, "w", "e")
    return Description.of(record, stored_steps.last_step(platform.memory, "w", record.name.execution))


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
    reply = events(failed.workflow, steps(failed), now_ms=failed.clock.ms)
    ours = [event for event in reply if event["type"].startswith("Execution")]
    assert [event["type"] for event in ours] == [
        "ExecutionStarted",
        "ExecutionFailed",
        "ExecutionRedriven",
        "ExecutionSucceeded",
    ]
    assert ours[2]["executionRedrivenEventDetails"] == {"redriveCount": 1}
    assert ours[2]["previousEventId"] == ours[1]["id"]


def test_it_tells_how_often_and_when_last(failed: Platform) -> None:
    client = Client(store=failed.memory, workflow="w", clock=failed.clock)
    home = Home(partition="aws", region="eu-west-1", account="123456789012")
    boto = StepFunctionsClient(client, definition=failed.workflow, home=home)
    before = boto.describe_execution(executionArn="e")
    assert (before["redriveCount"], "redriveDate" in before) == (0, False)
    failed.clock.pass_seconds(60)
    redriven_ms = redrive(failed.runtime(), "e")
    assert boto.describe_execution(executionArn="e")["redriveCount"] == 1
    failed.clock.pass_seconds(60)
    deliver_all(failed)
    after = boto.describe_execution(executionArn="e")
    assert (after["status"], after["redriveCount"]) == ("SUCCEEDED", 1)
    assert after["redriveDate"].timestamp() * 1000 == redriven_ms
