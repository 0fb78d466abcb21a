"""``http:invoke`` with OAuth client credentials, against a local token endpoint and API."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import boto3
import pytest
from botocore.httpsession import URLLib3Session

from tests.unit.services.https_server import Asked, Server, https_server
from unum_runtime.errors import StatesError
from unum_runtime.features.services import Clients, call, http


class Provider:
    """A token endpoint at ``/token`` and an API elsewhere, which accepts the tokens in `valid`."""

    def __init__(self) -> None:
        self.granted = 0
        self.valid: set[str] = set()
        self.token_answer: tuple[int, Any] | None = None
        self.lifetime_s: int | None = 3600

    def answer(self, asked: Asked) -> tuple[int, str]:
        if not asked.target.startswith("/token"):
            is_valid = asked.headers.get("Authorization") in self.valid
            return (200, '{"ok": true}') if is_valid else (401, "{}")
        if self.token_answer is not None:
            return self.token_answer[0], json.dumps(self.token_answer[1])
        self.granted += 1
        self.valid.add(f"Bearer token-{self.granted}")
        lifetime = {} if self.lifetime_s is None else {"expires_in": self.lifetime_s}
        return 200, json.dumps({"access_token": f"token-{self.granted}", "token_type": "bearer", **lifetime})


@pytest.fixture
def provider() -> Provider:
    return Provider()


@pytest.fixture
def server(tmp_path: Path, provider: Provider) -> Iterator[Server]:
    with https_server(tmp_path, provider.answer) as running:
        yield running


class Ok:
    status_code = 200


@pytest.fixture
def invoke(aws: boto3.Session, server: Server, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Calls the API by a connection whose secret is the given one."""
    monkeypatch.setattr(http, "_tokens", {})
    manager = aws.client("secretsmanager")
    secret = manager.create_secret(Name="s", SecretString="{}")["ARN"]
    authority: Any = str(server.certificate)  # the stubs know no file
    clients = Clients(options={"region_name": "us-east-1"}, send=URLLib3Session(verify=authority).send)
    described = {"AuthorizationType": "OAUTH_CLIENT_CREDENTIALS", "SecretArn": secret, "Name": "c"}
    clients.client("events").meta.events.register(
        "before-call.eventbridge.DescribeConnection", lambda **_: (Ok(), described)
    )

    def call_api(**fields: Any) -> Any:
        given = {"client_id": "me", "client_secret": "s&t", "authorization_endpoint": f"{server.url}/token", **fields}
        manager.put_secret_value(SecretId=secret, SecretString=json.dumps(given))
        config = {"ConnectionArn": "arn:aws:events:us-east-1:123456789012:connection/c/1"}
        parameters = {"ApiEndpoint": f"{server.url}/v1", "Method": "GET", "InvocationConfig": config}
        return call("http:invoke", parameters, clients=clients)

    return call_api


def token_requests(server: Server) -> list[Asked]:
    return [asked for asked in server.asked if asked.target.startswith("/token")]


def test_a_token_is_requested_once_and_kept(invoke: Callable[..., Any], server: Server) -> None:
    entries = [{"key": "audience", "value": "api", "is_value_secret": False}]
    fields = {
        "http_method": "POST",
        "oauth_http_parameters": {"body_parameters": entries},
        "invocation_http_parameters": {"header_parameters": [{"key": "X-Kept", "value": "h"}]},
    }
    for _ in range(3):
        assert invoke(**fields)["ResponseBody"] == {"ok": True}
    (request,) = token_requests(server)
    assert (request.method, request.headers["Content-Type"]) == ("POST", "application/x-www-form-urlencoded")
    assert dict(parse_qsl(request.body)) == {
        "grant_type": "client_credentials",
        "client_id": "me",
        "client_secret": "s&t",
        "audience": "api",
    }
    assert [asked.headers["X-Kept"] for asked in server.asked if asked not in token_requests(server)] == ["h"] * 3


def test_a_token_may_be_requested_by_get(invoke: Callable[..., Any], server: Server) -> None:
    invoke(http_method="GET", oauth_http_parameters={"query_string_parameters": [{"key": "scope", "value": "a b"}]})
    (request,) = token_requests(server)
    assert (request.method, request.body) == ("GET", "")
    assert dict(parse_qsl(urlsplit(request.target).query))["scope"] == "a b"
    assert dict(parse_qsl(urlsplit(request.target).query))["client_id"] == "me"


def test_a_changed_secret_gets_another_token(invoke: Callable[..., Any], server: Server) -> None:
    invoke()
    invoke(client_secret="rotated")
    assert len(token_requests(server)) == 2


@pytest.mark.parametrize(("lifetime_s", "requests"), [(3600, 1), (None, 1), (30, 2)])
def test_a_token_is_used_until_shortly_before_its_expiry(
    invoke: Callable[..., Any], server: Server, provider: Provider, lifetime_s: int | None, requests: int
) -> None:
    provider.lifetime_s = lifetime_s
    invoke()
    invoke()
    assert len(token_requests(server)) == requests


def test_an_expired_token_is_replaced(
    invoke: Callable[..., Any], server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    invoke()
    later_s = time.monotonic() + 3600 - http.MARGIN_S + 1
    monkeypatch.setattr("unum_runtime.features.services.http.time.monotonic", lambda: later_s)
    invoke()
    assert len(token_requests(server)) == 2


def test_a_refused_token_is_replaced_once(invoke: Callable[..., Any], server: Server, provider: Provider) -> None:
    invoke()
    provider.valid.clear()
    assert invoke()["StatusCode"] == 200
    assert len(token_requests(server)) == 2
    provider.token_answer = 200, {"access_token": "worthless"}
    provider.valid.clear()
    with pytest.raises(StatesError) as caught:
        invoke()
    assert caught.value.error == "States.Http.StatusCode.401"
    assert len(token_requests(server)) == 3


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((401, {"client_secret": "s&t"}), "answered with status 401"),
        ((200, {"token": 1}), "no access_token"),
        ((200, []), "no access_token"),
    ],
)
def test_a_server_that_gives_no_token(
    invoke: Callable[..., Any], provider: Provider, answer: tuple[int, Any], message: str
) -> None:
    provider.token_answer = answer
    with pytest.raises(StatesError) as caught:
        invoke()
    assert caught.value.error == "Events.ConnectionResource.InvalidConnectionState"
    assert message in caught.value.cause
    assert "s&t" not in caught.value.cause


def test_a_token_endpoint_that_does_not_answer(invoke: Callable[..., Any]) -> None:
    with pytest.raises(StatesError, match=r"Events\.ConnectionResource\.InvalidConnectionState"):
        invoke(authorization_endpoint="https://127.0.0.1:9/token")
