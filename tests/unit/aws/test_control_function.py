"""The aliases of the control function: each takes its own requests."""

import re
import time
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.unit.aws.control_platform import CONTROL, NUDGE, Context, Deployed
from unum_runtime.errors import ExecutionDoesNotExist, StartsPaused
from unum_runtime.functions.operations import control_entry
from unum_runtime.protocol.control.control_aliases import ControlAlias
from unum_runtime.protocol.control.operator_requests import ValidationException


@pytest.mark.parametrize(
    "event",
    [
        {},
        [],
        {"$unum": 1, "workflow": "Flow", "execution": ["e", 1], "frames": [], "step": 1, "state": "B"},
        {"requestContext": {}, "requestPayload": {}},
        {"$unum": 1, "control": "erase", "execution": "e"},
        {"$unum": 1, "control": "nudge", "execution": 1},
        {"$unum": 1, "control": "nudge", "execution": "e", "silent_ms": "long"},
        {"$unum": 1, "control": "stop", "execution": "e", "error": 1},
        {"$unum": 99, "control": "stop", "execution": "e"},
        {"$unum": 99, "control": "sweep", "silent_ms": 1, "nudge": True},
        {"$unum": 1, "control": "sweep"},
        {"$unum": 1, "control": "sweep", "silent_ms": 1, "nudge": True, "after": 1},
        {"$unum": 1, "control": "fork", "execution": "e", "node": "B", "name": "not a name"},
    ],
)
@pytest.mark.parametrize("qualifier", [*(f"{alias}-Flow" for alias in ControlAlias), "1"])
def test_nothing_is_taken_for_anything_but_a_request(deployed: Deployed, event: Any, qualifier: str) -> None:
    answer = control_entry.handle(event, Context(f"{CONTROL}:{qualifier}", "1"))
    assert answer["error"] == ValidationException.__name__
    assert deployed.functions.sent() == []


REQUESTS: dict[ControlAlias, dict[str, Any]] = {
    ControlAlias.STOP: {"control": "stop"},
    ControlAlias.REDRIVE: {"control": "redrive"},
    ControlAlias.FORK: {"control": "fork", "node": "B", "name": "f", "input": 1},
    ControlAlias.NUDGE: {"control": "nudge"},
    ControlAlias.DELETE: {"control": "delete"},
    ControlAlias.PAUSE: {"control": "pause", "reason": "why not"},
    ControlAlias.MEMO: {"control": "list_remembered", "limit": 1},
    ControlAlias.SWEEP: {"control": "sweep", "silent_ms": 1, "nudge": True},
}
ANSWERS = ("ExecutionNotRedrivable", "NodeNotForkable", "ExecutionNotDeletable")
OF_WORKFLOWS = (ControlAlias.PAUSE, ControlAlias.MEMO)


@pytest.mark.parametrize("alias", [each for each in ControlAlias if each is not ControlAlias.OPERATE])
@pytest.mark.parametrize("asked", REQUESTS)
def test_an_alias_takes_no_other_request(deployed: Deployed, alias: ControlAlias, asked: ControlAlias) -> None:
    deployed.begun()
    before = deployed.client.describe("e")
    event = {"$unum": 1, **({} if asked in OF_WORKFLOWS else {"execution": "e"}), **REQUESTS[asked]}
    time.sleep(0.01)
    deployed.functions.use("control")
    answer = control_entry.handle(event, Context(f"{CONTROL}:{alias}-Flow", "1"))
    if alias is asked:
        assert answer.get("error") in (None, *ANSWERS) or "expected a Task with memoize" in answer["message"]
        return
    said = f"the alias '{alias}-Flow' takes .*, got '{event['control']}': invoke '{asked}-Flow'"
    assert answer["error"] == ValidationException.__name__
    assert re.search(said, answer["message"])
    assert deployed.functions.sent() == []
    assert deployed.client.describe("e") == before
    assert deployed.client.describe_pause() is None
    with pytest.raises(ExecutionDoesNotExist):
        deployed.client.describe("f")


@pytest.mark.parametrize("control", ["why", "definition"])
def test_questions_have_the_alias_of_nudges(deployed: Deployed, control: str) -> None:
    deployed.begun()
    event = {"$unum": 1, "execution": "e", "control": control}
    deployed.functions.use("control")
    for alias in ControlAlias:
        answer = control_entry.handle(event, Context(f"{CONTROL}:{alias}-Flow", "1"))
        assert ("error" in answer) is (alias not in (ControlAlias.NUDGE, ControlAlias.OPERATE))


def test_an_unknown_alias_takes_nothing(deployed: Deployed) -> None:
    deployed.begun()
    answer = control_entry.handle(NUDGE, Context(f"{CONTROL}:live", "1"))
    assert (answer["error"], deployed.functions.sent()) == (ValidationException.__name__, [])


def test_a_workflow_is_paused_and_resumed(deployed: Deployed) -> None:
    deployed.failed()
    deployed.begun("other")
    begun = datetime.now(UTC).replace(microsecond=0)
    made = deployed.client.pause_starts("the supplier is closed")
    assert (made.reason, made.since >= begun) == ("the supplier is closed", True)
    assert deployed.client.pause_starts("another reason") == deployed.client.describe_pause() == made
    with pytest.raises(StartsPaused, match=r"workflow 'Flow' starts no executions since .*: the supplier is closed;"):
        deployed.client.fork("e", from_node="B", new_name="f")
    assert deployed.client.nudge("other").count == 1
    assert deployed.client.redrive("e").is_done
    assert deployed.client.resume_starts() == made
    assert deployed.client.resume_starts() is deployed.client.describe_pause() is None
    assert deployed.client.fork("e", from_node="B", new_name="f").name == "f"
    assert deployed.client.pause_starts("another reason").reason == "another reason"
    assert {each for each in deployed.functions.called if "pause" in each} == {"control:pause-Flow"}


@pytest.mark.parametrize("reason", ["", "x" * 1_001])
def test_a_pause_needs_a_reason(deployed: Deployed, reason: str) -> None:
    with pytest.raises(ValidationException, match="reason: expected a text of 1 to 1000 characters, got"):
        deployed.client.pause_starts(reason)


@pytest.mark.parametrize(
    "event",
    [
        {"control": "pause"},
        {"control": "pause", "reason": 5},
        {"control": "pause", "reason": "\ud800"},
        {"control": "resume", "execution": "e"},
        {"control": "resume", "reason": "x"},
    ],
)
def test_what_pauses_no_workflow(deployed: Deployed, event: Any) -> None:
    deployed.functions.use("control")
    answer = control_entry.handle({"$unum": 1, **event}, Context(f"{CONTROL}:pause-Flow", "1"))
    assert answer["error"] == ValidationException.__name__
    assert deployed.client.describe_pause() is None
