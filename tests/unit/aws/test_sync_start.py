"""Alias that starts an execution, waits for its end, and answers with the result, on the control function."""

import base64
import json
from typing import Any

import pytest

from tests.unit.aws.control_platform import CONTROL, Context, Deployed, at, deployed
from unum_runtime.functions.operations import control_entry, sync_start

__all__ = ["deployed"]  # the fixture

RUN = at("A", "run-Flow")


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sync_start, "FIRST_PAUSE_S", 0.001)


def ask(deployed: Deployed, event: Any, *, remaining_ms: int = 6_000, name: str = "e") -> Any:
    deployed.functions.use("control")
    context = Context(f"{CONTROL}:sync-Flow", "1", aws_request_id=name, remaining_ms=remaining_ms)
    return control_entry.handle(event, context)


def http(body: Any, **fields: Any) -> Any:
    domain = "abc.execute-api.us-east-1.amazonaws.com"
    return {
        "version": "2.0",
        "requestContext": {"domainName": domain, "http": {"method": "POST"}},
        "body": body,
    } | fields


def of_rest_api(body: Any) -> Any:
    return {"httpMethod": "POST", "requestContext": {"stage": "prod"}, "body": body, "isBase64Encoded": False}


def started(deployed: Deployed, name: str = "e") -> None:
    """Let the run alias answer that the execution `name`, which exists, was started."""
    at_ms = int(deployed.client.describe(name).started_at.timestamp() * 1000)
    deployed.functions.answers[RUN] = {"StartDate": at_ms, "Status": "RUNNING", "IsNew": True}


@pytest.fixture
def succeeded(deployed: Deployed) -> Deployed:
    deployed.begun()
    deployed.client.nudge("e")
    deployed.run("B", 1, lambda event: {"n": event["n"], "é": 1.5})
    started(deployed)
    return deployed


@pytest.mark.parametrize("make", [http, of_rest_api])
@pytest.mark.parametrize("is_encoded", [False, True])
def test_http_request_gets_the_result_as_body(succeeded: Deployed, make: Any, *, is_encoded: bool) -> None:
    event = make('{"n": 1}')
    if is_encoded:
        event |= {"body": base64.b64encode(b'{"n": 1}').decode(), "isBase64Encoded": True}
    found = ask(succeeded, event)
    assert (found["statusCode"], json.loads(found["body"])) == (200, {"n": 1, "é": 1.5})
    assert found["headers"]["content-type"] == "application/json"
    assert found["headers"]["x-execution-arn"].endswith(":execution:Flow:e")


def test_plain_request_is_answered_like_start_sync_execution(succeeded: Deployed) -> None:
    found = ask(succeeded, {"name": "e", "input": {"n": 1}}, name="request")
    assert (found["name"], found["status"], json.loads(found["output"])) == ("e", "SUCCEEDED", {"n": 1, "é": 1.5})
    assert found["stopDate"] >= found["startDate"]
    assert found["executionArn"].endswith(":execution:Flow:e")


def test_request_to_the_run_alias_has_name_and_body(succeeded: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []
    own = succeeded.functions.invoke
    monkeypatch.setattr(succeeded.functions, "invoke", lambda **given: sent.append(given) or own(**given))
    ask(succeeded, http('{"$unum": 1, "force": true}'))
    ask(succeeded, http(None))
    assert [json.loads(each["Payload"]) for each in sent] == [
        {"$unum": 1, "start": "e", "answer": True, "input": value} for value in ({"$unum": 1, "force": True}, {})
    ]


def test_failed_execution_is_a_server_error(deployed: Deployed) -> None:
    deployed.failed()
    started(deployed)
    found = ask(deployed, http("{}"))
    assert (found["statusCode"], json.loads(found["body"])["error"]) == (500, "ValueError")


def test_execution_that_outlasts_the_wait_is_named(deployed: Deployed) -> None:
    deployed.begun()
    started(deployed)
    found = ask(deployed, http("{}"), remaining_ms=5_050)
    assert (found["statusCode"], json.loads(found["body"])["error"]) == (504, "States.Timeout")
    assert found["headers"]["x-execution-arn"].endswith(":e")
    assert ask(deployed, {"name": "e", "input": 1}, remaining_ms=5_050)["status"] == "RUNNING"


@pytest.mark.parametrize(
    ("domain", "is_bounded"), [("x.execute-api.r.amazonaws.com", True), ("x.lambda-url.r.on.aws", False)]
)
def test_wait_is_as_long_as_the_sender_waits(
    deployed: Deployed, monkeypatch: pytest.MonkeyPatch, domain: str, *, is_bounded: bool
) -> None:
    deployed.begun()
    started(deployed)
    limits: list[float] = []
    monkeypatch.setattr(sync_start, "_wait", lambda _rt, _execution, limit_s: limits.append(limit_s))
    ask(deployed, http("{}", requestContext={"domainName": domain}), remaining_ms=300_000)
    assert limits == [28.0 if is_bounded else 295.0]


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ({"error": "ExecutionAlreadyExists", "message": "other input"}, 400),
        ({"error": "InvalidExecutionInput", "message": "too large"}, 400),
        ({"error": "StartsPaused", "message": "paused"}, 503),
    ],
)
def test_refused_start_is_an_error_of_its_kind(deployed: Deployed, answer: Any, status: int) -> None:
    deployed.functions.answers[RUN] = answer
    found = ask(deployed, http("{}"))
    assert (found["statusCode"], json.loads(found["body"])) == (
        status,
        {"error": answer["error"], "cause": answer["message"]},
    )
    assert ask(deployed, {"input": 1}) == answer


@pytest.mark.parametrize("body", ["no JSON", "[NaN]", "{} {}", '"\\ud800"'])
def test_body_that_is_no_json_starts_nothing(deployed: Deployed, body: str) -> None:
    found = ask(deployed, http(body))
    assert (found["statusCode"], json.loads(found["body"])["error"]) == (400, "InvalidExecutionInput")
    assert deployed.functions.called == []


@pytest.mark.parametrize("event", [None, [], {"n": 1}, {"input": 1, "force": True}, {"$unum": 1, "control": "stop"}])
def test_what_is_no_request_starts_nothing(deployed: Deployed, event: Any) -> None:
    assert ask(deployed, event)["error"] == "InvalidExecutionInput"
    assert deployed.functions.called == []
