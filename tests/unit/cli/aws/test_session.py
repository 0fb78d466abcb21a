"""Clients of commands, on real sockets: what they send, what they understand, and what they leave to boto3."""

import json
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, ClassVar

import pytest

from tests.unit.wire.conftest import HANG_UP, Peer, answer, no_pauses, start
from unum_cli.aws.aws_settings import Settings
from unum_cli.aws.session import Session
from unum_cli.aws.wire_requests import wire_client
from unum_runtime.errors import InvokeError
from unum_runtime.functions.operations.caller import LambdaCaller
from unum_runtime.wire.call_errors import CallError, Unsupported
from unum_runtime.wire.signing import Credentials

Start = Callable[..., Peer]
__all__ = ["no_pauses", "start"]  # fixtures

CONTROL = "arn:aws:lambda:us-east-1:123456789012:function:control:stop"
STACK = b"""<DescribeStacksResponse xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/"><DescribeStacksResult>
<Stacks><member><StackName>S</StackName><Outputs>
<member><OutputKey>A</OutputKey><OutputValue>1 &lt; 2</OutputValue><Description>d</Description></member>
<member><OutputKey>B</OutputKey><OutputValue/></member>
</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>"""
UNKNOWN = b"""<ErrorResponse xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/"><Error><Type>Sender</Type>
<Code>ValidationError</Code><Message>Stack with id Unknown does not exist</Message></Error></ErrorResponse>"""
BUSY = UNKNOWN.replace(b"ValidationError", b"Throttling")


class Recorded(Session):
    """Session that knows its clients."""

    made: ClassVar[list[Any]] = []

    def create(self, service: str, *, retries: int = 5, **config: Any) -> Any:
        self.made.append(super().create(service, retries=retries, **config))
        return self.made[-1]


def close(client: Any) -> None:
    for connection in client._api.connections._idle:
        connection.close()


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Peer], Session]]:
    """Return a function that returns a session at a peer."""

    def connected(peer: Peer) -> Session:
        monkeypatch.delenv("UNUM_CLIENT")
        for name, value in {
            "AWS_ENDPOINT_URL": peer.url,
            "AWS_ACCESS_KEY_ID": "id",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_CONFIG_FILE": "/dev/null",
            "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
        }.items():
            monkeypatch.setenv(name, value)
        return Recorded(None, "us-east-1")

    yield connected
    while Recorded.made:
        client = Recorded.made.pop()
        client.close() if hasattr(client, "close") else close(client)


def test_outputs_of_a_stack(start: Start, session: Callable[[Peer], Session]) -> None:
    peer = start(answer(STACK))
    (stack,) = session(peer).create("cloudformation").describe_stacks(StackName="S & T")["Stacks"]
    outputs = [{"OutputKey": "A", "OutputValue": "1 < 2"}, {"OutputKey": "B", "OutputValue": ""}]
    assert stack == {"Outputs": outputs}
    (request,) = peer.requests
    assert request.body == b"Action=DescribeStacks&Version=2010-05-15&StackName=S+%26+T"
    assert "/us-east-1/cloudformation/aws4_request" in request.headers["authorization"]


def test_an_error_in_xml(start: Start, session: Callable[[Peer], Session]) -> None:
    stacks = session(start(answer(UNKNOWN, "400 Bad Request"))).create("cloudformation")
    with pytest.raises(CallError, match=r"^ValidationError: Stack with id Unknown does not exist$") as raised:
        stacks.describe_stacks(StackName="Unknown")
    assert raised.value.response["Error"]["Code"] == "ValidationError"


def test_what_is_throttled_in_xml_is_tried_again(start: Start, session: Callable[[Peer], Session]) -> None:
    peer = start(answer(BUSY, "400 Bad Request"), answer(STACK))
    assert session(peer).create("cloudformation").describe_stacks(StackName="S")["Stacks"]


@pytest.mark.parametrize("body", [b"<html>", b""])
def test_no_xml_is_an_error(start: Start, session: Callable[[Peer], Session], body: bytes) -> None:
    with pytest.raises(CallError, match="expected XML, got"):
        session(start(answer(body))).create("cloudformation").describe_stacks(StackName="S")


def test_a_function_answers(start: Start, session: Callable[[Peer], Session]) -> None:
    peer = start(answer(b'{"a": 1}'))
    assert LambdaCaller(session(peer).create("lambda")).call(CONTROL, b"{}") == {"a": 1}
    (request,) = peer.requests
    assert request.headers["x-amz-invocation-type"] == "RequestResponse"
    assert request.head.split()[1] == f"/2015-03-31/functions/{CONTROL.replace(':', '%3A')}/invocations"


def test_a_function_fails(start: Start, session: Callable[[Peer], Session]) -> None:
    failed = answer(b'{"errorMessage": "no"}', "200 OK", "X-Amz-Function-Error: Unhandled")
    with pytest.raises(InvokeError, match="Unhandled"):
        LambdaCaller(session(start(failed)).create("lambda")).call(CONTROL, b"{}")


def test_letters_are_received(start: Start, session: Callable[[Peer], Session]) -> None:
    peer = start(answer(b'{"Messages": []}'), answer())
    queues = session(peer).create("sqs")
    assert queues.receive_message(QueueUrl="q", MaxNumberOfMessages=1) == {"Messages": []}
    queues.delete_message(QueueUrl="q", ReceiptHandle="r")
    assert [each.headers["x-amz-target"] for each in peer.requests] == [
        "AmazonSQS.ReceiveMessage",
        "AmazonSQS.DeleteMessage",
    ]
    assert json.loads(peer.requests[1].body) == {"QueueUrl": "q", "ReceiptHandle": "r"}


@pytest.mark.parametrize(("retries", "timeout_s"), [(0, 60), (3, 60), (3, 310)])
def test_calls_are_tried_as_often_as_asked(
    start: Start, session: Callable[[Peer], Session], retries: int, timeout_s: int
) -> None:
    peer = start(answer(b"", "503 Service Unavailable"))
    client = session(peer).create("lambda", retries=retries, read_timeout=timeout_s)
    with pytest.raises(CallError):
        client.invoke(FunctionName=CONTROL, Payload=b"{}")
    assert len(peer.requests) == retries + 1


def test_a_call_that_takes_long_is_given_its_time(start: Start, session: Callable[[Peer], Session]) -> None:
    client = session(start(HANG_UP)).create("lambda", retries=0, read_timeout=310)
    with pytest.raises(CallError):
        client.invoke(FunctionName=CONTROL, Payload=b"{}")


def test_credentials_may_be_renewed_between_requests(start: Start) -> None:
    peer, numbers = start(answer()), count()
    environment = {"AWS_ENDPOINT_URL": peer.url}
    settings = Settings("us-east-1", environment, lambda: Credentials(f"key{next(numbers)}", "secret"))
    client = wire_client("dynamodb", settings, 0, None)
    for _ in range(2):
        client.get_item(TableName="t", Key={})  # type: ignore[attr-defined]
    first, second = (each.headers["authorization"].partition("/")[0] for each in peer.requests)
    assert first != second
    close(client)


def test_other_services_are_for_boto3(start: Start, session: Callable[[Peer], Session]) -> None:
    found = session(start(answer()))
    assert type(found.create("s3")).__module__ == "botocore.client"
    with pytest.raises(Unsupported):
        wire_client("s3", Settings("us-east-1", {}, lambda: Credentials("a", "b")), 0, None)


def test_botocore_may_be_asked_for(
    start: Start, session: Callable[[Peer], Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = session(start(answer()))
    monkeypatch.setenv("UNUM_CLIENT", "botocore")
    assert found.region_name == "us-east-1"
    assert type(found.create("dynamodb")).__module__ == "botocore.client"
