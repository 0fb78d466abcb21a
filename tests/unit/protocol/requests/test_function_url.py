"""Answers for Tasks that wait, sent as HTTP requests through the alias of a real workflow."""

import base64
import json
from typing import Any

import pytest

from tests.unit.client.alias_caller import AliasCaller
from unum_runtime.model.checkpoint import Failure, Success
from unum_runtime.protocol.requests.function_url import respond


@pytest.fixture
def entry() -> AliasCaller:
    return AliasCaller.of_a_task_that_waits()


def event(body: str | None, method: str = "POST", *, encoded: bool = False) -> dict[str, Any]:
    """As a function URL sends it."""
    request = {"version": "2.0", "requestContext": {"http": {"method": method, "path": "/"}}}
    return {**request, "isBase64Encoded": encoded} | ({} if body is None else {"body": body})


def posted(entry: AliasCaller, **content: Any) -> tuple[int, Any]:
    return answered(entry, event(json.dumps(content)))


def answered(entry: AliasCaller, request: Any) -> tuple[int, Any]:
    """(status, value of the body)."""
    response: Any = respond(entry.platform.runtime(), request)
    assert response["headers"] == {"content-type": "application/x-amz-json-1.0"}
    return response["statusCode"], json.loads(response["body"])


def test_success(entry: AliasCaller) -> None:
    assert posted(entry, taskToken=entry.begun(), output='{"n": [1, null]}') == (200, {})
    assert entry.outcome == Success({"n": [1, None]})


@pytest.mark.parametrize(
    ("given", "outcome"),
    [
        ({"error": "Bad", "cause": "because"}, Failure("Bad", "because")),
        ({"error": "Bad"}, Failure("Bad", None)),
        ({"error": None, "cause": "because"}, Failure(None, "because")),
    ],
)
def test_failure(entry: AliasCaller, given: dict[str, Any], outcome: Failure) -> None:
    assert posted(entry, taskToken=entry.begun(), **given) == (200, {})
    assert entry.outcome == outcome


def test_heartbeat(entry: AliasCaller) -> None:
    token = entry.begun()
    assert posted(entry, taskToken=token, heartbeat=True) == (200, {})
    assert entry.outcome is None


def test_a_body_that_is_no_text(entry: AliasCaller) -> None:
    content = json.dumps({"taskToken": entry.begun(), "output": '"é"'}, ensure_ascii=False)
    assert answered(entry, event(base64.b64encode(content.encode()).decode(), encoded=True)) == (200, {})
    assert entry.outcome == Success("é")


def test_errors_have_the_names_of_step_functions(entry: AliasCaller) -> None:
    token = entry.begun()
    status, invalid = posted(entry, taskToken=token, output="no JSON")
    assert (status, invalid["__type"]) == (400, "InvalidOutput")
    assert posted(entry, taskToken="made up", heartbeat=True)[1]["__type"] == "InvalidToken"
    posted(entry, taskToken=token, output="1")
    status, late = posted(entry, taskToken=token, output="2")
    assert (status, late["__type"]) == (400, "TaskTimedOut")
    assert entry.outcome == Success(1)


@pytest.mark.parametrize(
    ("content", "got"),
    [
        ({}, "an object of []"),
        ({"taskToken": "t"}, "an object of ['taskToken']"),
        ({"taskToken": "t", "output": {"n": 1}}, "an object of ['output', 'taskToken']"),
        ({"taskToken": "t", "heartbeat": False}, "an object of ['heartbeat', 'taskToken']"),
        ({"taskToken": "t", "error": 1}, "an object of ['error', 'taskToken']"),
        ({"taskToken": "t", "error": "E", "cause": 1}, "an object of ['cause', 'error', 'taskToken']"),
        ({"taskToken": "t", "heartbeat": True, "error": "E"}, "an object of ['error', 'heartbeat', 'taskToken']"),
        ({"taskToken": "t", "output": "1", "error": "E"}, "an object of ['error', 'output', 'taskToken']"),
        ({"token": "t", "worker": "w"}, "an object of ['token', 'worker']"),
        ({"taskToken": "t", "worker": "w"}, "an object of ['taskToken', 'worker']"),
        ([], "another value"),
    ],
)
def test_content_that_says_nothing_is_told_what_is_allowed(entry: AliasCaller, content: Any, got: str) -> None:
    status, refusal = answered(entry, event(json.dumps(content)))
    assert (status, refusal["__type"]) == (400, "ValidationException")
    assert refusal["message"].startswith('expected POST with a JSON object of "taskToken" and one of: "output"')
    assert refusal["message"].endswith(f"; got {got}")


@pytest.mark.parametrize(
    ("request_", "got"),
    [
        (event(None, "GET"), "got GET"),
        (event("{}", "PUT"), "got PUT"),
        (event(None), "got a body that is not JSON: "),
        (event("{"), "got a body that is not JSON: "),
        (event("{}", encoded=True), "got a body that is not JSON: "),
        (event("/w==", encoded=True), "got a body that is not JSON: "),
        (event("[" * 100_000), "got a body that is not JSON: "),
        ({"start": "e"}, "got an event that is not an HTTP request"),
        (None, "got an event that is not an HTTP request"),
    ],
)
def test_what_is_no_request(entry: AliasCaller, request_: Any, got: str) -> None:
    status, refusal = answered(entry, request_)
    assert status == 400
    assert got in refusal["message"]
