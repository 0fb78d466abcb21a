"""Answers of the describe alias, with the state in memory."""

import json
from typing import Any

import pytest

from tests.unit.protocol.platform import Platform, chain
from unum_runtime.cold_start.records import replace
from unum_runtime.model.checkpoint import Failure, start_record
from unum_runtime.model.naming import Execution, checkpoint_key
from unum_runtime.model.requests import PAUSE_REQUEST, describe_request
from unum_runtime.protocol.control import describe, pausing
from unum_runtime.protocol.control.forks.fork import ForkRequest, fork
from unum_runtime.protocol.control.stop import stop
from unum_runtime.protocol.history.start_records import record_start
from unum_runtime.protocol.requests.answers import INVALID_REQUEST
from unum_runtime.store.large_items import LargeItems
from unum_simulator.memory_store import MemoryObjects


class Links:
    """Links that contain their object's name."""

    def upload(self, name: str, *, size: int, sha256: str) -> Any:
        raise AssertionError((name, size, sha256))

    def download(self, name: str) -> str:
        return f"https://bucket/{name}"


@pytest.fixture
def platform() -> Platform:
    return Platform.of(chain("A"), A=lambda event: {"a": event})


def begin(platform: Platform, value: Any) -> None:
    """Write the start record; the event is still on its way."""
    draft = start_record(Execution("e", platform.clock.ms), value)
    record_start(platform.store, "w", draft, expires_at_s=platform.clock.ms // 1000 + 700_000)


def ask(platform: Platform, event: Any) -> Any:
    return json.loads(json.dumps(describe.answer(platform.runtime(), event, Links())))


def test_a_pause_is_described(platform: Platform) -> None:
    assert ask(platform, PAUSE_REQUEST) == {"pause": None}
    pausing.answer(platform.runtime(), pausing.request("pause", reason="why not"))
    assert ask(platform, PAUSE_REQUEST) == {"pause": {"since_ms": platform.clock.ms, "reason": "why not"}}
    for wrong in ({**PAUSE_REQUEST, "describe": "e"}, {**PAUSE_REQUEST, "pause": 5}):
        assert ask(platform, wrong)["error"] == INVALID_REQUEST


def test_an_execution_is_described_while_it_runs_and_when_it_has_succeeded(platform: Platform) -> None:
    begun_ms = platform.clock.ms
    begin(platform, {"n": 1})
    running = ask(platform, describe_request("e"))
    assert running == {
        "ExecutionArn": platform.workflow.home.arn("execution:w:e"),
        "Name": "e",
        "StartDate": begun_ms,
        "StateMachineArn": platform.workflow.home.arn("stateMachine:w"),
        "Input": '{"n":1}',
        "InputDetails": {"Included": True},
        "Status": "RUNNING",
    }
    assert ask(platform, describe_request("e", status_only=True)) == {"Status": "RUNNING"}
    platform.clock.pass_seconds(2)
    platform.start("e", {"n": 1})
    assert ask(platform, describe_request("e")) == {
        **running,
        "Status": "SUCCEEDED",
        "StopDate": platform.clock.ms,
        "Output": '{"a":{"n":1}}',
        "OutputDetails": {"Included": True},
    }
    assert ask(platform, describe_request("e", status_only=True)) == {"Status": "SUCCEEDED"}


def test_a_failure_is_described() -> None:
    def fail(_event: Any) -> Any:
        raise ValueError("no such thing")

    platform = Platform.of(chain("A"), A=fail)
    platform.start("e", 1)
    platform.deliver_all()
    description = ask(platform, describe_request("e"))
    assert (description["Status"], description["Error"]) == ("FAILED", "ValueError")
    assert "no such thing" in description["Cause"]
    assert "Output" not in description


def test_the_origin_of_a_fork_is_described() -> None:
    platform = Platform.of(chain("A", "B"), A=lambda event: event, B=lambda event: event)
    platform.start("e", 1)
    platform.deliver_all()
    fork(platform.runtime(), ForkRequest(execution="e", node="B", name="f", visit=1, value=None), None)
    origin = {"execution": "e", "node": "B", "visit": 1}
    platform.deliver_all()
    assert ask(platform, describe_request("f"))["ForkedFrom"] == {**origin, "is_finished": True}


@pytest.mark.parametrize(
    ("node", "kept", "is_stopped", "is_finished"),
    [("B", 2, False, True), ("B", 1, False, False), ("B", 1, True, False), ("A", 0, False, False)],
)
def test_a_fork_is_finished_with_its_own_first_step(
    node: str, kept: int, *, is_stopped: bool, is_finished: bool
) -> None:
    platform = Platform.of(chain("A", "B"), A=lambda event: event, B=lambda event: event)
    platform.start("e", 1)
    platform.deliver_all()
    fork(platform.runtime(), ForkRequest(execution="e", node=node, name="f", visit=1, value=None), None)
    for step in platform.steps("f")[kept:]:
        del platform.memory._items[checkpoint_key("w", step.name)]
    if is_stopped:
        stop(platform.runtime(), Execution("f", platform.clock.ms), Failure("Stopped", None))
    assert ask(platform, describe_request("f"))["ForkedFrom"]["is_finished"] is is_finished


@pytest.mark.parametrize(
    ("failure", "shown"),
    [(Failure("E", None), {"Error": "E"}), (Failure(None, "c"), {"Cause": "c"}), (Failure(None, None), {})],
)
def test_a_failure_is_described_by_the_texts_that_it_has(
    platform: Platform, failure: Failure, shown: dict[str, str]
) -> None:
    begin(platform, 1)
    stop(platform.runtime(), Execution("e", platform.clock.ms), failure)
    description = ask(platform, describe_request("e"))
    assert {field: description[field] for field in ("Error", "Cause") if field in description} == shown


@pytest.mark.parametrize("status_only", [False, True])
@pytest.mark.parametrize("name", ["e", "a b", "", "x" * 2_000])
def test_an_execution_that_there_is_not_is_told(platform: Platform, name: str, *, status_only: bool) -> None:
    found = ask(platform, describe_request(name, status_only=status_only))
    assert found["error"] == "ExecutionDoesNotExist"


@pytest.mark.parametrize(
    "event",
    [
        None,
        [],
        {},
        {"$unum": 1},
        {"$unum": 1, "describe": 5},
        {"$unum": 1, "describe": "e", "status": False},
        {"$unum": 1, "describe": "e", "control": "stop"},
        {"$unum": 1, "describe": "e", "status": True, "more": 1},
        {"$unum": 2, "describe": "e"},
        {"$unum": 1, "control": "stop", "execution": "e"},
        {"$unum": 1, "start": "e", "input": 1},
        {"$unum": 1, "token": "t", "output": "1"},
    ],
)
def test_nothing_else_is_executed(platform: Platform, event: Any) -> None:
    platform.start("e", {"n": 1})
    assert ask(platform, event)["error"] == INVALID_REQUEST
    assert platform.calls == {"A": 1}
    assert [each.state for each in platform.steps()] == ["A"]


def test_a_description_above_an_answer_is_an_object(platform: Platform, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(describe, "MAX_BYTES", 300)
    platform.start("e", {"n": "x" * 400})
    platform.deliver_all()
    assert ask(platform, describe_request("e"))["error"] == "ClientError"
    objects = MemoryObjects()
    rt = replace(platform.runtime(), store=LargeItems(platform.memory, objects, "w"))
    assert describe.answer(rt, describe_request("e"))["error"] == "ClientError"
    (_, name) = describe.answer(rt, describe_request("e"), Links())["url"].split("https://bucket/")
    assert name.startswith("w/e:")
    assert json.loads(objects.get([name])[name])["Output"] == json.dumps({"a": {"n": "x" * 400}}, separators=(",", ":"))


def test_a_status_needs_no_large_value(platform: Platform) -> None:
    class Unread(MemoryObjects):
        def get(self, names: Any) -> Any:
            raise AssertionError(names)

    objects = Unread()
    platform.store = LargeItems(platform.memory, objects, "w", least_bytes=10)
    begin(platform, {"n": "x" * 400})
    assert ask(platform, describe_request("e", status_only=True)) == {"Status": "RUNNING"}
