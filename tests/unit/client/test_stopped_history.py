"""Histories of stopped executions."""

from typing import Any

import pytest

from tests.unit.protocol.platform import Platform, chain
from unum_cli.commands.command_errors import CommandFailed
from unum_cli.commands.printing import check_success, print_description
from unum_client import Client, Description
from unum_client.reading.progress import Reach
from unum_client.stepfunctions import StepFunctionsClient
from unum_runtime.model.checkpoint import Failure, Status
from unum_runtime.model.ir import Home
from unum_runtime.protocol.control.stop import stop

WHY = Failure("NotNeeded", "somebody changed their mind")
WAIT = {
    "StartAt": "A",
    "States": {
        "A": {"Type": "Task", "Resource": "A", "Next": "Wait"},
        "Wait": {"Type": "Wait", "Seconds": 3600, "Next": "B"},
        "B": {"Type": "Task", "Resource": "B", "End": True},
    },
}
MAP = {
    "StartAt": "Each",
    "States": {
        "Each": {"Type": "Map", "ItemProcessor": chain("A"), "Next": "B"},
        "B": {"Type": "Task", "Resource": "B", "End": True},
    },
}


class Kept:
    """Timer that never delivers."""

    def schedule(self, events: Any) -> None:
        assert events


def stopped(definition: dict[str, Any], value: Any = 1, why: Failure = WHY, *, delivered: int = 0) -> Platform:
    """A platform with an execution that was stopped a minute after so many events were delivered."""
    functions: dict[str, Any] = {key: lambda event: event for key in "AB"}
    platform = Platform.of(definition, **functions)
    platform.options["timer"] = Kept()
    platform.start(value=value)
    for _ in range(delivered):
        platform.deliver(platform.sent.pop(0))
    platform.clock.pass_seconds(60)
    stop(platform.runtime(), client(platform)._record("e").name.execution, why)
    platform.clock.pass_seconds(3 * 3600)
    return platform


def client(platform: Platform) -> Client:
    return Client(store=platform.memory, workflow="w", clock=platform.clock)


def described(platform: Platform) -> Description:
    return client(platform).describe("e")


def test_it_is_described_as_aborted() -> None:
    found = described(stopped(chain("A", "B")))
    assert (found.status, found.output, found.error, found.cause) == (Status.ABORTED, None, WHY.error, WHY.cause)
    assert found.stopped_at is not None
    assert (found.stopped_at - found.started_at).total_seconds() == 60


def test_its_steps_are_those_that_were_committed() -> None:
    platform = stopped(chain("A", "B"))
    assert [step.state for step in client(platform).steps("e")] == ["A"]
    assert [step.state for step in client(platform).watch("e")] == ["A"]
    assert client(platform).wait("e").status is Status.ABORTED


@pytest.mark.parametrize(
    ("definition", "reached"),
    [
        (chain("A", "B"), {"A": Reach.SUCCEEDED, "B": Reach.STOPPED}),
        (MAP, {"Each": Reach.STOPPED, "A": Reach.STOPPED, "B": Reach.NOT_REACHED}),
    ],
)
def test_what_was_begun_is_shown_as_stopped(definition: dict[str, Any], reached: dict[str, Reach]) -> None:
    platform = stopped(definition, [1, 2])
    found = client(platform).progress("e", platform.workflow)
    assert {name: progress.reach for name, progress in found.items()} == reached


def history_of(platform: Platform) -> list[dict[str, Any]]:
    home = Home(partition="aws", region="eu-west-1", account="123456789012")
    boto = StepFunctionsClient(client(platform), definition=platform.workflow, home=home)
    assert boto.describe_execution(executionArn="e")["status"] == "ABORTED"
    return boto.events(executionArn="e")


def test_its_history_ends_with_the_stop() -> None:
    found = history_of(stopped(chain("A", "B")))
    last = found[-1]
    assert (last["type"], last["previousEventId"]) == ("ExecutionAborted", len(found) - 1)
    assert last["executionAbortedEventDetails"] == {"error": WHY.error, "cause": WHY.cause}
    assert [event["type"] for event in found[-3:-1]] == ["TaskStateEntered", "LambdaFunctionScheduled"]


def test_a_wait_that_the_stop_cuts_short_is_never_left() -> None:
    found = history_of(stopped(WAIT))
    assert [event["type"] for event in found[-2:]] == ["WaitStateEntered", "ExecutionAborted"]
    assert (found[-1]["timestamp"] - found[0]["timestamp"]).total_seconds() == 60


def test_branches_that_a_stop_cuts_short_have_come_to_no_end() -> None:
    found = [event["type"] for event in history_of(stopped(MAP, [1, 2], delivered=1))]
    assert found.count("MapIterationStarted") == 2
    assert found.count("MapIterationSucceeded") == 1
    assert found[-1] == "ExecutionAborted"


def test_the_command_line_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    found = described(stopped(chain("A", "B")))
    print_description(found)
    assert "error    NotNeeded: somebody changed their mind" in capsys.readouterr().out
    with pytest.raises(CommandFailed, match=r"^execution e was stopped: NotNeeded: somebody changed their mind$"):
        check_success(found)


def test_the_command_line_says_nothing_where_nobody_said_why(capsys: pytest.CaptureFixture[str]) -> None:
    found = described(stopped(chain("A", "B"), why=Failure(None, None)))
    print_description(found)
    assert "error" not in capsys.readouterr().out
    with pytest.raises(CommandFailed, match=r"^execution e was stopped$"):
        check_success(found)
