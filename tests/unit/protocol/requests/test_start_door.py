"""The start alias takes every event as input, never as a command."""

import json
import sys
from typing import Any

import pytest

from tests.unit.protocol.platform import Platform, chain
from unum_runtime.errors import NotOurEvent, StartRefused
from unum_runtime.model.checkpoint import start_record
from unum_runtime.model.envelope import MARK, Writer, start_event, start_request
from unum_runtime.model.naming import Execution
from unum_runtime.protocol.history.start_records import record_start
from unum_runtime.protocol.requests import doors, former, respond
from unum_runtime.store.large_items import LargeItems
from unum_runtime.store.memory import MemoryObjects

REGISTER = {MARK: 1, "register": "e", "input": '{"n": 1}'}
DESCRIBE = {MARK: 1, "describe": "e"}
STARTS = [start_request("e"), start_request("e", Writer("w", 5)), start_event("e", {"n": 1}), start_event(5, 1)]
ANSWERED = [
    REGISTER,
    DESCRIBE,
    respond.request("t", output="1"),
    respond.request("t", error="E", cause="c"),
    respond.request("t", heartbeat=True, request_id="r"),
    respond.request("t", worker="me"),
]
LIKE_THEM = [
    {"$unum": 1},
    {"$unum": 2, "start": "e"},
    {"$unum": 1.0, "start": "e"},
    {"$unum": True, "start": "e"},
    {"$unum": "1", "start": "e"},
    {"$unum": 1, "start": 5},
    {"$unum": 1, "start": "e", "more": 1},
    {"$unum": 1, "start": "e", "input": 1, "answer": True},
    {"$unum": 1, "start": "e", "input": 1, "more": 1},
    {"$unum": 1, "token": "t"},
    {"$unum": 1, "token": "t", "output": "1", "more": 1},
    {"$unum": 1, "describe": "e", "more": 1},
    {"$unum": 1, "upload": "a", "bytes": 5},
    {"$unum": 1, "control": "stop", "execution": "e"},
    {"$unum": 1, "control": "fork", "execution": "e", "node": "A", "name": "f"},
    {"$unum": 1, "workflow": "w", "ir": "d", "execution": ["e", 5], "frames": [], "step": 1, "state": "A", "input": 1},
    {"$unum": 1, "take_over": {}},
    {"start": "e"},
    {"describe": "e"},
]


@pytest.fixture
def platform() -> Platform:
    return Platform.of(chain("A"), A=lambda event: {"a": event})


def arrive(platform: Platform, event: Any, **options: Any) -> Any:
    return doors.start_by_event(platform.runtime(), json.loads(json.dumps(event)), "request", **options)


@pytest.mark.parametrize("former_clients", [False, True])
@pytest.mark.parametrize("event", [*LIKE_THEM, None, 5, "x", [], {}, [start_request("e")]])
def test_what_merely_looks_like_a_command_is_input(platform: Platform, event: Any, *, former_clients: bool) -> None:
    told = arrive(platform, event, former_clients=former_clients)
    assert told == {"workflow": "w", "execution": "request"}
    assert platform.ending("request").outcome.value == {"a": event}


@pytest.mark.parametrize("event", STARTS[2:])
def test_a_former_start_with_an_input_is_refused_and_kept(platform: Platform, event: Any) -> None:
    with pytest.raises(NotOurEvent, match="former_clients=True"):
        arrive(platform, event)
    assert platform.calls == {}


@pytest.mark.parametrize("event", STARTS[:2])
def test_a_former_start_without_an_input_is_refused_to_its_caller(platform: Platform, event: Any) -> None:
    with pytest.raises(StartRefused, match="former_clients=True"):
        arrive(platform, event)
    assert platform.calls == {}


@pytest.mark.parametrize("event", ANSWERED)
def test_a_former_request_is_refused_with_a_hint(platform: Platform, event: Any) -> None:
    refused = arrive(platform, event)
    assert refused["error"] == "ValidationException"
    assert "former_clients=True" in refused["message"]
    assert [message for message, _ in platform.logged] == ["refused"]
    assert platform.calls == {}


def test_former_starts_work_with_the_option(platform: Platform) -> None:
    draft = start_record(Execution("e", platform.clock.ms), {"n": 1})
    record_start(platform.memory, "w", draft, expires_at_s=platform.clock.ms // 1000 + 700_000)
    assert arrive(platform, start_request("e"), former_clients=True) == {"workflow": "w", "execution": "e"}
    assert platform.ending("e").outcome.value == {"a": {"n": 1}}
    assert arrive(platform, start_event("f", 2), former_clients=True) == {"workflow": "w", "execution": "f"}
    assert platform.ending("f").outcome.value == {"a": 2}
    assert arrive(platform, start_event("", 3), former_clients=True) == {"workflow": "w", "execution": "request"}


def test_former_requests_of_tasks_work_with_the_option(platform: Platform) -> None:
    arn = platform.workflow.home.arn("execution:w:e")
    assert arrive(platform, REGISTER, former_clients=True) == {"ExecutionArn": arn, "StartDate": platform.clock.ms}
    assert platform.calls == {}
    arrive(platform, start_request("e"), former_clients=True)
    assert arrive(platform, DESCRIBE, former_clients=True)["Output"] == '{"a":{"n":1}}'
    wrong = arrive(platform, {**REGISTER, "input": "{"}, former_clients=True)
    assert wrong["error"] == "InvalidExecutionInput"
    deep = arrive(platform, {**REGISTER, "input": "[" * 100_000}, former_clients=True)
    assert deep["error"] == "InvalidExecutionInput"
    assert arrive(platform, {**REGISTER, "register": "a b"}, former_clients=True)["error"] == "InvalidName"
    odd = {MARK: 1, "describe": 5}
    refused = {"error": "ValidationException", "message": f"expected texts, got {odd!r}"}
    assert arrive(platform, odd, former_clients=True) == refused


def test_a_former_start_may_have_an_input_that_only_a_bucket_holds(platform: Platform) -> None:
    large = {**REGISTER, "input": json.dumps("x" * 400_000)}
    assert arrive(platform, large, former_clients=True)["error"] == "InvalidExecutionInput"
    platform.store = LargeItems(platform.memory, MemoryObjects(), "w")
    assert "ExecutionArn" in arrive(platform, large, former_clients=True)


def test_former_answers_work_with_the_option(platform: Platform) -> None:
    assert arrive(platform, ANSWERED[2], former_clients=True)["error"] == "InvalidToken"


def test_every_former_request_is_told_from_input() -> None:
    assert all(map(former.is_start, STARTS))
    assert all(map(former.is_answered, ANSWERED))
    assert not any(map(former.is_former, [*LIKE_THEM, None, 5, "x", [], [start_request("e")]]))


@pytest.mark.parametrize("event", [{"n": 1}, None, "x", [MARK]])
def test_input_without_mark_or_identity_loads_no_former_names_or_requests(
    platform: Platform, event: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("former", "renamed"):
        monkeypatch.delattr(f"unum_runtime.protocol.requests.{name}", raising=False)
        monkeypatch.setitem(sys.modules, f"unum_runtime.protocol.requests.{name}", None)  # an import of it fails
    assert arrive(platform, event) == {"workflow": "w", "execution": "request"}
    with pytest.raises(ImportError):
        arrive(platform, start_request("e"))
