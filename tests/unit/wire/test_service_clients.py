"""Clients with boto3's parameters, on real sockets."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError
from botocore.retries.standard import ThrottledRetryableChecker, TransientRetryableChecker
from botocore.session import get_session

from tests.unit.wire.conftest import HANG_UP, Peer, Request, answer
from unum_runtime.wire import api
from unum_runtime.wire.api import MAX_ATTEMPTS, is_transient, pause_s
from unum_runtime.wire.call_errors import CallError, Unsupported, call_errors, error_code
from unum_runtime.wire.service_clients import WireClient, wire_client

Start = Callable[..., Peer]
Connect = Callable[..., Any]
ENVIRONMENT = {"AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "test"}
FUNCTION = "arn:aws:lambda:eu-west-1:123456789012:function:f:7"
REFUSED = answer(
    b'{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"no","Item":{"n":{"N":"1"}}}',
    "400 Bad Request",
)
THROTTLED = answer(b'{"__type":"x#ProvisionedThroughputExceededException"}', "400 Bad Request")
BROKEN = answer(b"<html>", "502 Bad Gateway")
BATCH = {"RequestItems": {"t": {"Keys": [{"pk": {"S": "a"}}], "ConsistentRead": True}}}


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Return a function (service, peer, further variables) that creates clients."""
    made: list[WireClient] = []

    def connected(service: str, peer: Peer, **environment: str) -> WireClient:
        made.append(wire_client(service, ENVIRONMENT | {"AWS_ENDPOINT_URL": peer.url} | environment))
        return made[-1]

    yield connected
    for client in made:
        for connection in client._api.connections._idle:
            connection.close()


def by_botocore(service: str, peer: Peer) -> Any:
    return get_session().create_client(
        service, "eu-west-1", endpoint_url=peer.url, aws_access_key_id="id", aws_secret_access_key="test"
    )


def scope(request: Request) -> list[str]:
    """Return the credential scope of the signature, without the day."""
    return request.headers["authorization"].partition(",")[0].split("/")[2:]


@pytest.mark.parametrize(
    ("service", "operation", "parameters"),
    [
        ("dynamodb", "put_item", {"TableName": "t", "Item": {"pk": {"S": "ä\u2028"}, "n": {"N": "1"}}}),
        ("dynamodb", "get_item", {"TableName": "t", "Key": {"pk": {"S": "a"}}, "ConsistentRead": True}),
        ("dynamodb", "batch_get_item", BATCH),
        ("dynamodb", "query", {"TableName": "t", "KeyConditionExpression": "pk = :pk", "Limit": 1}),
        ("dynamodb", "update_item", {"TableName": "t", "Key": {"pk": {"S": "a"}}, "UpdateExpression": "SET a = :b"}),
        ("sqs", "send_message", {"QueueUrl": "https://q/1/q", "MessageBody": "ä"}),
        ("sqs", "send_message_batch", {"QueueUrl": "https://q/1/q", "Entries": [{"Id": "0", "MessageBody": "m"}]}),
        ("lambda", "invoke", {"FunctionName": FUNCTION, "InvocationType": "Event", "Payload": b'{"n": 1}'}),
    ],
)
def test_requests_equal_botocores(
    start: Start, connect: Connect, service: str, operation: str, parameters: dict[str, Any]
) -> None:
    ours, theirs = start(answer()), start(answer())
    getattr(connect(service, ours), operation)(**parameters)
    theirs_client = by_botocore(service, theirs)
    getattr(theirs_client, operation)(**parameters)
    theirs_client.close()
    (asked,), (expected,) = ours.requests, theirs.requests
    assert asked.head == expected.head
    assert asked.body == expected.body if service == "lambda" else json.loads(asked.body) == json.loads(expected.body)
    for name in ("content-type", "x-amz-target", "x-amz-invocation-type"):
        assert asked.headers.get(name) == expected.headers.get(name)
    assert scope(asked) == scope(expected) == ["eu-west-1", service, "aws4_request"]


def test_responses_are_parsed(start: Start, connect: Connect) -> None:
    peer = start(answer(b'{"Item": {"n": {"N": "1"}}}'))
    assert connect("dynamodb", peer).get_item(TableName="t") == {"Item": {"n": {"N": "1"}}}
    assert connect("lambda", start(answer(b"", "202 Accepted"))).invoke(
        FunctionName=FUNCTION, InvocationType="Event", Payload=b"1"
    ) == {"StatusCode": 202}


def test_an_error_has_name_and_fields(start: Start, connect: Connect) -> None:
    peer = start(REFUSED)
    with pytest.raises(CallError, match="ConditionalCheckFailedException: no") as raised:
        connect("dynamodb", peer).put_item(TableName="t")
    assert error_code(raised.value) == "ConditionalCheckFailedException"
    assert raised.value.response["Item"] == {"n": {"N": "1"}}
    assert len(peer.requests) == 1


def test_an_error_may_be_named_in_a_header(start: Start, connect: Connect) -> None:
    header = "x-amzn-ErrorType: ResourceNotFoundException:http://internal"
    peer = start(answer(b'{"Type":"User","Message":"no such function"}', "404 Not Found", header))
    with pytest.raises(CallError, match=r"^ResourceNotFoundException: no such function$"):
        connect("lambda", peer).invoke(FunctionName=FUNCTION, InvocationType="Event", Payload=b"1")


@pytest.mark.parametrize("failure", [THROTTLED, BROKEN, HANG_UP, answer(b"12345")[:-2] + b"...", b"no HTTP\r\n\r\n..."])
def test_transient_errors_are_retried(start: Start, connect: Connect, failure: bytes) -> None:
    peer = start(failure, failure, answer(b'{"a": 1}'))
    assert connect("dynamodb", peer).query(TableName="t") == {"a": 1}
    assert len(peer.requests) == 3


def test_permanent_errors_are_raised(start: Start, connect: Connect) -> None:
    peer = start(THROTTLED)
    with pytest.raises(CallError, match="ProvisionedThroughputExceededException"):
        connect("dynamodb", peer).query(TableName="t")
    assert len(peer.requests) == MAX_ATTEMPTS == 6


def test_an_answer_that_is_no_json_is_an_error(start: Start, connect: Connect) -> None:
    with pytest.raises(CallError, match="expected JSON"):
        connect("dynamodb", start(answer(b"<html>"))).query(TableName="t")


def test_pauses_grow_and_are_longer_after_throttling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("random.uniform", lambda _low, high: high)
    monkeypatch.setattr(api, "MAX_PAUSE_S", 20.0)
    silence = CallError("no answer")
    throttled = refused("ThrottlingException", 400)
    assert [pause_s(attempt, silence) for attempt in range(3)] == [0.05, 0.1, 0.2]
    assert [pause_s(attempt, throttled) for attempt in range(6)] == [1, 2, 4, 8, 16, 20]


def test_requests_have_the_trace_header(start: Start, connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_X_AMZN_TRACE_ID", "Root=1-5759e988-bd862e3fe1be46a994272793;Lineage=1:a\n")
    peer = start(answer())
    connect("sqs", peer).send_message(QueueUrl="q", MessageBody="m")
    assert peer.requests[0].headers["x-amzn-trace-id"] == "Root=1-5759e988-bd862e3fe1be46a994272793;Lineage=1:a%0A"


def test_paths_begin_with_the_endpoints_path(start: Start, connect: Connect) -> None:
    peer = start(answer())
    connect("dynamodb", peer, AWS_ENDPOINT_URL=f"{peer.url}/base/").query(TableName="t")
    assert peer.requests[0].head == "POST /base/ HTTP/1.1"


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"AWS_REGION": ""}, "region"),
        ({"AWS_ACCESS_KEY_ID": ""}, "credentials"),
        ({"AWS_PROFILE": "other"}, "AWS_PROFILE"),
        ({"AWS_CREDENTIAL_EXPIRATION": "2030-01-01T00:00:00Z"}, "AWS_CREDENTIAL_EXPIRATION"),
        ({"AWS_LAMBDA_INITIALIZATION_TYPE": "snap-start"}, "snapshot"),
    ],
)
def test_settings_that_need_botocore(changed: dict[str, str], reason: str) -> None:
    environment = {name: value for name, value in (ENVIRONMENT | changed).items() if value}
    with pytest.raises(Unsupported, match=reason):
        wire_client("dynamodb", environment)


def test_botocores_errors_are_call_errors() -> None:
    failed = ClientError({"Error": {"Code": "Throttling"}}, "Query")
    assert isinstance(failed, call_errors())
    assert error_code(failed) == "Throttling"
    assert error_code(ValueError()) is None


def test_transient_errors_equal_botocores() -> None:
    names = [
        *ThrottledRetryableChecker._THROTTLED_ERROR_CODES,  # type: ignore[attr-defined]  # private names
        *TransientRetryableChecker._TRANSIENT_ERROR_CODES,  # type: ignore[attr-defined]  # private names
    ]
    for name in names:
        assert is_transient(refused(name, 400)), name
    for status in TransientRetryableChecker._TRANSIENT_STATUS_CODES:  # type: ignore[attr-defined]  # private names
        assert is_transient(refused("Other", status)), status
    assert not is_transient(refused("ConditionalCheckFailedException", 400))
    assert not is_transient(refused("AccessDeniedException", 403))


def refused(name: str, status: int) -> CallError:
    return CallError(name, {"Error": {"Code": name}, "ResponseMetadata": {"HTTPStatusCode": status}})
