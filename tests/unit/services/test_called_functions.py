"""Calls of Lambda functions, against a local server that answers as Lambda's API does."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, NamedTuple

import pytest
from botocore.session import Session

from unum_runtime.clock import SkippingClock
from unum_runtime.errors import StatesError
from unum_runtime.features.services import Clients, service_function
from unum_runtime.model.called_functions import CALLED
from unum_runtime.model.states import Json, Pattern
from unum_runtime.protocol.runtime import Call, CallbackPending

ARN = "arn:aws:lambda:us-east-1:123456789012:function:resize"
FUNCTIONS = {"Resize": ARN}


class Asked(NamedTuple):
    path: str
    headers: dict[str, str]
    body: Json


class Lambda:
    """Lambda's API on a local port: it keeps the requests, and answers each with `status`, `headers` and `body`."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.answer(200, b'{"n": 2}', {"X-Amz-Executed-Version": "$LATEST"})

    def answer(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.status, self.body, self.headers = status, body, headers or {}

    @contextmanager
    def serve(self) -> Iterator[str]:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                owner.asked.append(Asked(self.path, dict(self.headers.items()), json.loads(body) if body else None))
                self.send_response(owner.status)
                for name, value in {"Content-Length": str(len(owner.body)), **owner.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(owner.body)

            def log_message(self, *_arguments: object) -> None:
                """Stay silent."""

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            Thread(target=server.serve_forever, daemon=True).start()
            yield f"http://127.0.0.1:{server.server_address[1]}"
            server.shutdown()


@pytest.fixture
def aws_lambda(models: Session, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lambda]:
    api = Lambda()
    with api.serve() as endpoint:
        options = {"region_name": "us-east-1", "endpoint_url": endpoint}
        keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
        # One attempt: botocore's own repetitions only take time here.
        monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
        clients = Clients(models, {**options, **keys})
        monkeypatch.setattr(service_function, "_clients", lambda: clients)
        yield api


def called(resource: str, parameters: Json, pattern: Pattern = Pattern.RESPONSE) -> Any:
    call = Call("run", "run/A#0", "A", "$services", "w/run/A#0", resource=resource, pattern=pattern)
    return service_function.handle(call, parameters, SkippingClock(), FUNCTIONS)


def invoked(**parameters: Json) -> Any:
    return called("lambda:invoke", {"FunctionName": f"{CALLED}Resize", **parameters})


def failing(call: Callable[[], Any]) -> StatesError:
    with pytest.raises(StatesError) as caught:
        call()
    return caught.value


PATH = "/2015-03-31/functions/arn%3Aaws%3Alambda%3Aus-east-1%3A123456789012%3Afunction%3Aresize/invocations"


def test_a_function_gets_its_input_and_gives_its_result(aws_lambda: Lambda) -> None:
    assert called(f"{CALLED}Resize", {"n": 1}) == {"n": 2}
    assert [(each.path, each.body) for each in aws_lambda.asked] == [(PATH, {"n": 1})]


def test_lambda_invoke_gives_the_response(aws_lambda: Lambda) -> None:
    answer = invoked(Payload=[1])
    assert (answer["Payload"], answer["StatusCode"], answer["ExecutedVersion"]) == ({"n": 2}, 200, "$LATEST")
    assert answer["SdkHttpMetadata"]["HttpStatusCode"] == 200
    assert [each.body for each in aws_lambda.asked] == [[1]]


def test_options_reach_lambda(aws_lambda: Lambda) -> None:
    aws_lambda.answer(200, b"null", {"X-Amz-Log-Result": "bG9n", "X-Amz-Executed-Version": "7"})
    answer = invoked(Qualifier="live", LogType="Tail", ClientContext="e30=", Payload={})
    assert (answer["LogResult"], answer["ExecutedVersion"], answer["Payload"]) == ("bG9n", "7", None)
    (asked,) = aws_lambda.asked
    assert asked.path == f"{PATH}?Qualifier=live"
    assert (asked.headers["X-Amz-Log-Type"], asked.headers["X-Amz-Client-Context"]) == ("Tail", "e30=")


@pytest.mark.parametrize(("kind", "status"), [("Event", 202), ("DryRun", 204)])
def test_nobody_waits_for_these(aws_lambda: Lambda, kind: str, status: int) -> None:
    aws_lambda.answer(status)
    answer = invoked(InvocationType=kind, Payload={})
    assert (answer["StatusCode"], answer["Payload"], "ExecutedVersion" in answer) == (status, "", False)
    assert aws_lambda.asked[0].headers["X-Amz-Invocation-Type"] == kind


def test_a_function_that_passes_a_token_on_is_not_the_responder(aws_lambda: Lambda) -> None:
    parameters = {"FunctionName": f"{CALLED}Resize", "Payload": {"token": "t"}}
    assert called("lambda:invoke", parameters, Pattern.CALLBACK) == CallbackPending()
    assert aws_lambda.asked[0].body == {"token": "t"}


# AWS Lambda API Reference, "Invoke", errors; the other names are those in Step Functions' own retriers.
ERRORS = {
    "TooManyRequestsException": (429, "Lambda.TooManyRequestsException"),
    "ServiceException": (500, "Lambda.ServiceException"),
    "ResourceNotFoundException": (404, "Lambda.ResourceNotFoundException"),
    "RequestTooLargeException": (413, "Lambda.RequestTooLargeException"),
    "EC2ThrottledException": (502, "Lambda.EC2ThrottledException"),
    "AccessDeniedException": (403, "Lambda.AWSLambdaException"),
    "Unheard": (500, "Lambda.AWSLambdaException"),
}


@pytest.mark.parametrize("code", ERRORS)
def test_errors_of_lambda(aws_lambda: Lambda, code: str) -> None:
    status, name = ERRORS[code]
    aws_lambda.answer(status, b'{"Message": "no"}', {"X-Amzn-ErrorType": code})
    for call in (lambda: called(f"{CALLED}Resize", {}), lambda: invoked(Payload={})):
        failed = failing(call)
        assert failed.error == name
        assert f"no (Service: AWSLambda; Status Code: {status}; Error Code: {code};" in failed.cause


FAULTS = {
    b'{"errorType": "Oops", "errorMessage": "no"}': "Oops",
    b'{"errorType": "Sandbox.Timedout", "errorMessage": "RequestId: 1 Error: Task timed out"}': "Sandbox.Timedout",
    b'{"errorMessage": "2026-11-23 Task timed out after 3.00 seconds"}': "Lambda.Unknown",
}


@pytest.mark.parametrize("body", FAULTS)
def test_errors_of_the_function(aws_lambda: Lambda, body: bytes) -> None:
    aws_lambda.answer(200, body, {"X-Amz-Function-Error": "Unhandled"})
    failed = failing(lambda: called(f"{CALLED}Resize", {}))
    assert (failed.error, failed.cause) == (FAULTS[body], body.decode())


def test_lambda_that_cannot_be_reached(aws_lambda: Lambda, models: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
    nowhere = Clients(models, {"region_name": "us-east-1", "endpoint_url": "http://127.0.0.1:9", **keys})
    monkeypatch.setattr(service_function, "_clients", lambda: nowhere)
    assert failing(lambda: invoked(Payload={})).error == "Lambda.SdkClientException"
    assert aws_lambda.asked == []


def test_large_values_pass(aws_lambda: Lambda) -> None:
    text = "x" * 5_000_000
    aws_lambda.answer(200, json.dumps(text).encode())
    assert called(f"{CALLED}Resize", text) == text
    assert aws_lambda.asked[0].body == text
