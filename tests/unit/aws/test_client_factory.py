"""Choice of the AWS client."""

import json
import os
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from botocore.exceptions import UnknownServiceError

import unum_runtime
from tests.unit.aws.conftest import forget_clients
from unum_runtime.aws import client_factory
from unum_runtime.wire.service_clients import DynamoDb

ENVIRONMENT = {"AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "test"}


@pytest.fixture(autouse=True)
def function(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)


def is_ours(client: Any) -> bool:
    return isinstance(client, DynamoDb)


def test_ours_where_nothing_is_said() -> None:
    assert is_ours(client_factory.client("dynamodb"))


def test_botocore_s_where_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    monkeypatch.setenv("UNUM_CLIENT", "botocore")
    client = client_factory.client("dynamodb")
    assert not is_ours(client)
    assert client.meta.config.retries["total_max_attempts"] == 6, "as many as ours"


@pytest.mark.parametrize("choice", [None, "wire"])
def test_botocore_s_where_ours_cannot_and_who_wanted_ours_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], choice: str | None
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    monkeypatch.setenv("AWS_LAMBDA_INITIALIZATION_TYPE", "snap-start")
    if choice is not None:
        monkeypatch.setenv("UNUM_CLIENT", choice)
    assert not is_ours(client_factory.client("dynamodb"))
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["message"] for line in lines] == ["botocore is the client of dynamodb"] * (choice is not None)


def test_an_empty_choice_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNUM_CLIENT", "")
    assert is_ours(client_factory.client("dynamodb"))


def test_another_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNUM_CLIENT", "boto")
    with pytest.raises(ValueError, match="UNUM_CLIENT: expected 'wire', 'botocore' or nothing, got 'boto'"):
        client_factory.client("dynamodb")


def test_connections_are_open_before_the_first_call(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(10)
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://localhost:{listener.getsockname()[1]}")
        client_factory.start_connecting("dynamodb").join(10)
        accepted, _ = listener.accept()
        accepted.close()
    idle = client_factory.client("dynamodb")._api.connections._idle
    assert len(idle) == 1
    idle[0].close()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AWS_ENDPOINT_URL", "http://localhost:1"),
        ("UNUM_CLIENT", "botocore"),
        ("UNUM_CLIENT", "none"),
        ("AWS_LAMBDA_INITIALIZATION_TYPE", "snap-start"),
    ],
)
def test_that_it_cannot_be_done_is_left_to_the_first_call(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(name, value)
    thread = client_factory.start_connecting("dynamodb", "lambda")
    thread.join(10)
    assert not thread.is_alive()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("choice", ["wire", "botocore"])
def test_clients_are_those_of_the_environment_before_user_code_changed_it(
    monkeypatch: pytest.MonkeyPatch, choice: str
) -> None:
    monkeypatch.setenv("UNUM_CLIENT", choice)
    client_factory.start_connecting().join(10)
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    client = client_factory.client("dynamodb")
    assert (client._api._signer.region if is_ours(client) else client.meta.region_name) == "eu-west-1"


@pytest.mark.parametrize("service", ["dynamodb", "s3"])
def test_botocores_clients_precede_changes_of_the_environment(monkeypatch: pytest.MonkeyPatch, service: str) -> None:
    monkeypatch.setenv("UNUM_CLIENT", "botocore")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token")
    monkeypatch.setenv("NO_PROXY", "")
    client_factory.start_connecting().join(10)
    changed = {
        "AWS_ACCESS_KEY_ID": "theirs",
        "AWS_SECRET_ACCESS_KEY": "theirs",
        "AWS_ENDPOINT_URL": "http://their.endpoint",
        "AWS_MAX_ATTEMPTS": "99",
        "HTTPS_PROXY": "http://their.proxy:1",
    }
    for name, value in changed.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_SESSION_TOKEN")
    after = dict(os.environ)
    client = client_factory.client(service) if service == "dynamodb" else client_factory.botocore_client(service)
    key = client._request_signer._credentials
    assert (key.access_key, key.secret_key, key.token) == ("id", "test", "token")
    assert client.meta.endpoint_url == f"https://{service}.eu-west-1.amazonaws.com"
    assert client._endpoint.http_session._proxy_config._proxies == {}
    assert os.environ == after, "user code's own is as it was"


def test_a_client_that_cannot_be_made_leaves_the_environment_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    client_factory.start_connecting().join(10)
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    with pytest.raises(UnknownServiceError):
        client_factory.botocore_client("no-such-service")
    assert os.environ["AWS_REGION"] == "us-east-1"


def test_credentials_that_a_snapshot_s_sandbox_gets_are_those_of_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "before")
    client_factory.start_connecting().join(10)
    monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "now")
    with client_factory._original_environment():
        assert os.environ["AWS_CONTAINER_AUTHORIZATION_TOKEN"] == "now"


def test_threads_that_want_a_client_have_the_same() -> None:
    for _ in range(20):
        forget_clients()
        barrier = Barrier(4)

        def wanted(_: int, barrier: Barrier = barrier) -> Any:
            barrier.wait()
            return client_factory.client("dynamodb")

        with ThreadPoolExecutor(4) as pool:
            assert len({*map(id, pool.map(wanted, range(4)))}) == 1


def test_the_normal_path_loads_neither_botocore_nor_what_takes_long() -> None:
    code = "import sys, unum_runtime.functions.task_function; print(*sys.modules)"
    command = [sys.executable, "-S", "-c", code]  # without `site`, whose editable packages load more
    env = os.environ | {"PYTHONPATH": str(Path(unum_runtime.__file__).parents[1])}
    completed = subprocess.run(command, capture_output=True, text=True, check=True, env=env)  # noqa: S603 - ours
    loaded = completed.stdout.split()
    slow = {
        "boto3",
        "botocore",
        "urllib3",
        "http.client",
        "email",
        "ssl",
        "uuid",
        "random",
        "pathlib",
        "datetime",
        "asyncio",
        "dataclasses",
        "socket",
        "hashlib",
        "urllib.parse",
        "signal",
    }
    assert slow & set(loaded) == set()
    assert not [name for name in loaded if name.startswith("unum_runtime.features.services")]
