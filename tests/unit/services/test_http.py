"""Calls of HTTP endpoints, up to what goes over the wire."""

import json
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import boto3
import pytest
from botocore.exceptions import ConnectTimeoutError
from botocore.session import Session

from unum_runtime.errors import StatesError
from unum_runtime.features.services import Clients, call


class Answer:
    def __init__(self, status: int = 200, text: str = '{"b": 2}') -> None:
        self.status_code, self.text = status, text
        self.headers = {"Content-Type": "application/json"}


class Wire:
    """Takes requests, and gives always the same answer."""

    def __init__(self, answer: Answer | Exception | None = None) -> None:
        self.answer = answer or Answer()
        self.sent: list[Any] = []

    def send(self, request: Any) -> Any:
        self.sent.append(request)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def clients(self) -> Clients:
        session = Session()
        session.set_credentials("key", "secret")
        return Clients(session, {"region_name": "eu-west-1"}, self.send)


API = {"ApiEndpoint": "a1.execute-api.eu-west-1.amazonaws.com", "Method": "POST"}


def test_an_api_of_api_gateway() -> None:
    wire = Wire()
    result = call(
        "apigateway:invoke",
        {
            **API,
            "Stage": "prod",
            "Path": "/pets/a b",
            "QueryParameters": {"n": [1, 2], "q": ["x y"]},
            "Headers": {"Wanted": ["a", "b"]},
            "RequestBody": {"a": 1},
        },
        clients=wire.clients(),
    )
    assert result == {
        "Headers": {"Content-Type": ["application/json"]},
        "ResponseBody": {"b": 2},
        "StatusCode": 200,
        "StatusText": "OK",
    }
    (request,) = wire.sent
    assert request.method == "POST"
    assert request.url == "https://a1.execute-api.eu-west-1.amazonaws.com/prod/pets/a%20b?n=1&n=2&q=x+y"
    assert request.headers["Wanted"] == "a,b"
    assert json.loads(request.body) == {"a": 1}
    assert "Authorization" not in request.headers


@pytest.mark.parametrize("kind", ["IAM_ROLE", "RESOURCE_POLICY"])
def test_a_signed_call(kind: str) -> None:
    wire = Wire()
    call("apigateway:invoke", {**API, "AuthType": kind}, clients=wire.clients())
    authorization = wire.sent[0].headers["Authorization"]
    assert "/eu-west-1/execute-api/aws4_request" in str(authorization)


@pytest.mark.parametrize(
    ("answer", "error"),
    [(Answer(403, "no"), "ApiGateway.403"), (ConnectTimeoutError(endpoint_url="u"), "ApiGateway.SdkClientException")],
)
def test_errors_of_api_gateway(answer: Any, error: str) -> None:
    with pytest.raises(StatesError) as caught:
        call("apigateway:invoke", API, clients=Wire(answer).clients())
    assert caught.value.error == error


ENDPOINT = {"ApiEndpoint": "https://example.com/v1?a=b", "Method": "GET"}


@pytest.fixture
def connected(aws: boto3.Session) -> Any:
    """Makes a connection, and gives clients and parameters that name it."""

    def connect(wire: Wire, kind: str, secret: dict[str, Any]) -> tuple[Clients, dict[str, Any]]:
        clients = Clients(options={"region_name": "us-east-1"}, send=wire.send)
        stored = aws.client("secretsmanager").create_secret(Name="s", SecretString=json.dumps(secret))["ARN"]
        events = clients.client("events")
        events.meta.events.register(
            "before-call.eventbridge.DescribeConnection",
            lambda **_: (Ok(), {"AuthorizationType": kind, "SecretArn": stored, "Name": "c"}),
        )
        config = {"ConnectionArn": "arn:aws:events:us-east-1:123456789012:connection/c/1"}
        return clients, {**ENDPOINT, "InvocationConfig": config}

    return connect


class Ok:
    status_code = 200


BASIC = {"username": "u", "password": "p"}


def test_an_endpoint_with_the_credentials_and_parameters_of_a_connection(connected: Any) -> None:
    wire = Wire()
    more = {
        "header_parameters": [{"key": "X-Kept", "value": "h"}],
        "query_string_parameters": [{"key": "kept", "value": "q"}],
        "body_parameters": [{"key": "kept", "value": "b"}],
    }
    clients, parameters = connected(wire, "BASIC", {**BASIC, "invocation_http_parameters": more})
    body = {"RequestBody": {"a": 1}, "QueryParameters": {"c": "d"}, "Headers": {"X-Own": "o"}}
    assert call("http:invoke", parameters | body, clients=clients)["ResponseBody"] == {"b": 2}
    (request,) = wire.sent
    assert parse_qsl(urlsplit(request.url).query) == [("a", "b"), ("c", "d"), ("kept", "q")]
    assert request.headers["Authorization"] == "Basic dTpw"
    assert (request.headers["X-Kept"], request.headers["X-Own"]) == ("h", "o")
    assert json.loads(request.body) == {"a": 1, "kept": "b"}


def test_an_api_key(connected: Any) -> None:
    wire = Wire()
    clients, parameters = connected(wire, "API_KEY", {"api_key_name": "X-Key", "api_key_value": "k"})
    call("http:invoke", parameters, clients=clients)
    assert wire.sent[0].headers["X-Key"] == "k"


@pytest.mark.parametrize(
    ("style", "form"),
    [
        (None, "a%5B0%5D=1&a%5B1%5D=2&o%5Bp%5D=q"),
        ("REPEAT", "a=1&a=2&o%5Bp%5D=q"),
        ("BRACKETS", "a%5B%5D=1&a%5B%5D=2&o%5Bp%5D=q"),
        ("COMMAS", "a=1%2C2&o%5Bp%5D=q"),
        ("NONE", "a=%5B1%2C2%5D&o%5Bp%5D=q"),
    ],
)
def test_a_form(connected: Any, style: str | None, form: str) -> None:
    wire = Wire()
    clients, parameters = connected(wire, "BASIC", BASIC)
    options = {"RequestEncodingOptions": {"ArrayFormat": style}} if style else {}
    body = {
        "RequestBody": {"a": [1, 2], "o": {"p": "q"}},
        "Headers": {"content-type": "application/x-www-form-urlencoded"},
        "Transform": {"RequestBodyEncoding": "URL_ENCODED", **options},
    }
    call("http:invoke", parameters | body, clients=clients)
    assert wire.sent[0].body.decode() == form


@pytest.mark.parametrize(
    ("kind", "parameters", "answer", "error", "cause"),
    [
        ("BASIC", {}, Answer(404, "gone"), "States.Http.StatusCode.404", "gone"),
        ("BASIC", {}, Answer(302, ""), "States.Http.StatusCode.302", ""),
        ("BASIC", {}, ConnectTimeoutError(endpoint_url="u"), "States.Http.Socket", "u"),
        ("OAUTH_CLIENT_CREDENTIALS", {}, None, "Events.ConnectionResource.InvalidConnectionState", "has no auth"),
        ("UNKNOWN", {}, None, "States.Runtime", "use BASIC, API_KEY or OAUTH_CLIENT_CREDENTIALS"),
        ("BASIC", {"ApiEndpoint": "http://a"}, None, "States.Runtime", "https://"),
        ("BASIC", {"InvocationConfig": None}, None, "States.Runtime", "InvocationConfig.ConnectionArn"),
    ],
)
def test_errors_of_endpoints(
    connected: Any, kind: str, parameters: dict[str, Any], answer: Any, error: str, cause: str
) -> None:
    clients, base = connected(Wire(answer), kind, BASIC)
    with pytest.raises(StatesError) as caught:
        call("http:invoke", base | parameters, clients=clients)
    assert caught.value.error == error
    assert cause in caught.value.cause
