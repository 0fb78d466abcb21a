"""The start alias takes every event as input, never as a command."""

import json
from typing import Any

import pytest

from tests.unit.protocol.platform import Platform, chain
from unum_runtime.model.envelope import MARK, Writer, start_event, start_request
from unum_runtime.protocol.requests import entry_aliases, respond

COMMANDS = [
    start_request("e"),
    start_request("e", Writer("w", 5)),
    start_event("e", {"n": 1}),
    start_event(5, 1),
    {MARK: 1, "register": "e", "input": '{"n": 1}'},
    {MARK: 1, "describe": "e"},
    respond.request("t", output="1"),
    respond.request("t", error="E", cause="c"),
    respond.request("t", heartbeat=True, request_id="r"),
    respond.request("t", worker="me"),
]
"""Requests that other aliases take."""

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


@pytest.mark.parametrize("event", [*COMMANDS, *LIKE_THEM, None, 5, "x", [], {}, [start_request("e")]])
def test_a_command_and_what_looks_like_one_are_input(platform: Platform, event: Any) -> None:
    reply = entry_aliases.start_by_event(platform.runtime(), json.loads(json.dumps(event)), "request")
    assert reply == {"workflow": "w", "execution": "request"}
    assert platform.ending("request").outcome.value == {"a": event}


def test_a_start_that_needs_nothing_any_more_is_logged_and_answered(platform: Platform) -> None:
    platform.options |= {"retention_s": 3_600, "result_retention_s": 7_200}
    platform.run("e", 1)
    platform.clock.pass_seconds(4_000)  # the result alone is left
    assert entry_aliases.run(platform.runtime(), start_request("e"), "request") == {"workflow": "w", "execution": "e"}
    assert platform.messages()[-1] == "refused"
