"""Calls with other roles, against moto."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.session import Session

from unum_runtime.clock import SkippingClock
from unum_runtime.errors import StatesError
from unum_runtime.features.services import Clients, Roles, call, service_function
from unum_runtime.features.services.boto_clients import MARGIN_MS, MOST_KEPT
from unum_runtime.model.states import Pattern
from unum_runtime.protocol.runtime import Call, JobPending

ROLE = "arn:aws:iam::222222222222:role/caller"


class Sts:
    """Answers as STS does; counts who asks for what."""

    def __init__(self, clients: Clients) -> None:
        self.asked: list[tuple[str, str]] = []
        self.expires = datetime(2030, 1, 1, tzinfo=UTC)
        self._client, clients.client = clients.client, self.client  # the others are moto's

    def client(self, service: str) -> Any:
        return self if service == "sts" else self._client(service)

    def assume_role(self, RoleArn: str, RoleSessionName: str) -> Any:  # noqa: N803 - its names
        self.asked.append((RoleArn, RoleSessionName))
        if "denied" in RoleArn:
            raise ClientError({"Error": {"Code": "AccessDenied", "Message": "not you"}}, "AssumeRole")
        keys = {"AccessKeyId": "other", "SecretAccessKey": "secret", "SessionToken": "session"}
        return {"Credentials": {**keys, "Expiration": self.expires}}


@pytest.fixture
def sts(clients: Clients) -> Sts:
    return Sts(clients)


@pytest.fixture
def roles(clients: Clients, sts: Sts) -> Roles:  # noqa: ARG001 - takes its place in `clients`
    return Roles(clients)


def ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


def test_a_session_is_kept_until_shortly_before_it_expires(roles: Roles, sts: Sts) -> None:
    last_ms = ms(sts.expires) - MARGIN_MS
    first = roles.clients(ROLE, "run", 0)
    assert roles.clients(ROLE, "run", last_ms - 1) is first
    sts.expires += timedelta(hours=1)
    assert roles.clients(ROLE, "run", last_ms) is not first
    assert sts.asked == [(ROLE, "unum-run")] * 2


def test_each_execution_has_a_session_of_its_own(roles: Roles, sts: Sts) -> None:
    assert roles.clients(ROLE, "a", 0) is not roles.clients(ROLE, "b/ü", 0)
    roles.clients(ROLE, "x" * 80, 0)
    assert [name for _, name in sts.asked] == ["unum-a", "unum-b--", f"unum-{'x' * 59}"]


def test_only_so_many_are_kept(roles: Roles, sts: Sts) -> None:
    for number in range(MOST_KEPT + 1):
        roles.clients(ROLE, str(number), 0)
    roles.clients(ROLE, "1", 0)
    assert len(sts.asked) == MOST_KEPT + 1
    roles.clients(ROLE, "0", 0)
    assert len(sts.asked) == MOST_KEPT + 2


def test_requests_are_signed_with_the_role(roles: Roles) -> None:
    client = roles.clients(ROLE, "run", 0).client("sqs")
    assert client._request_signer._credentials.access_key == "other"


def test_calls_over_http_are_signed_with_the_role() -> None:
    sent: list[Any] = []

    def send(request: Any) -> Any:
        sent.append(request)
        return type("Answer", (), {"status_code": 200, "text": "{}", "headers": {}})

    own = Clients(Session(), {"region_name": "us-east-1"}, send)
    Sts(own)
    parameters = {"ApiEndpoint": "a.execute-api.us-east-1.amazonaws.com", "Method": "GET", "AuthType": "IAM_ROLE"}
    call("apigateway:invoke", parameters, clients=Roles(own).clients(ROLE, "run", 0))
    assert sent[0].headers["X-Amz-Security-Token"] == "session"
    assert "Credential=other/" in str(sent[0].headers["Authorization"])


def test_a_role_that_cannot_be_assumed_fails_the_task(roles: Roles) -> None:
    with pytest.raises(StatesError, match=r"States\.Permissions: the role denied cannot be assumed: .*not you"):
        roles.clients("denied", "run", 0)


@pytest.fixture
def function(clients: Clients, roles: Roles, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The service function, with these clients."""
    monkeypatch.setattr(service_function, "_clients", lambda: clients)
    monkeypatch.setattr(service_function, "_roles", lambda _own: roles)
    return iter(())


def handled(resource: str, parameters: Any, role: Any = ROLE, **fields: Any) -> Any:
    invocation = Call("run", "run/1", "Ask", "$services", "flow/run/1", resource=resource, **fields)
    arguments = {"Credentials": {"RoleArn": role}, "Parameters": parameters}
    return service_function.handle(invocation, arguments, SkippingClock())


@pytest.mark.usefixtures("function")
def test_the_function_calls_with_the_role(sts: Sts, aws: boto3.Session) -> None:
    queue = aws.client("sqs").create_queue(QueueName="orders")["QueueUrl"]
    assert handled("sqs:sendMessage", {"QueueUrl": queue, "MessageBody": "x"})["MessageId"]
    assert sts.asked == [(ROLE, "unum-run")]


@pytest.mark.usefixtures("function")
def test_a_job_is_begun_and_looked_at_with_the_role(sts: Sts, machine: str) -> None:
    begun = handled("states:startExecution", {"StateMachineArn": machine}, pattern=Pattern.SYNC)
    assert isinstance(begun, JobPending)
    looked = handled("states:startExecution", {"StateMachineArn": machine}, pattern=Pattern.SYNC, job=begun.job)
    assert isinstance(looked, JobPending)
    assert sts.asked == [(ROLE, "unum-run")]


@pytest.mark.usefixtures("function")
def test_the_arn_of_a_role_is_a_text() -> None:
    with pytest.raises(StatesError, match=r"States\.Runtime: Credentials: expected the ARN of a role"):
        handled("sqs:sendMessage", {}, role=None)


@pytest.mark.usefixtures("function", "sts")
def test_a_function_of_another_account_gets_its_event_and_gives_its_result(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def answer(resource: str, parameters: Any, *, clients: Clients) -> Any:
        asked.append((resource, parameters, clients.credentials.token))
        return {"StatusCode": 200, "Payload": 42}

    monkeypatch.setattr("unum_runtime.features.services.call", answer)
    arn = "arn:aws:lambda:us-east-1:222222222222:function:echo"
    assert handled(arn, {"n": 1}) == 42
    assert asked == [("lambda:invoke", {"FunctionName": arn, "Payload": {"n": 1}}, "session")]
