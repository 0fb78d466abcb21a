"""Stores and queues that workflows rely on."""

import concurrent.futures
import functools
import json
import socket
import time
from typing import Any, BinaryIO
from urllib.parse import urlsplit

import pytest


def test_one_of_32_conditional_puts_wins_and_the_others_get_its_item(cloud: Any) -> None:
    table = cloud.table(name="S")

    def put(writer: int) -> int:
        try:
            cloud.dynamodb.put_item(
                TableName=table,
                Item={"name": {"S": "record"}, "writer": {"N": str(writer)}},
                ConditionExpression="attribute_not_exists(#name)",
                ExpressionAttributeNames={"#name": "name"},
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except cloud.dynamodb.exceptions.ConditionalCheckFailedException as lost:
            return int(lost.response["Item"]["writer"]["N"])
        return writer

    with concurrent.futures.ThreadPoolExecutor(32) as threads:
        winners = set(threads.map(put, range(32)))
    stored = cloud.dynamodb.get_item(TableName=table, Key={"name": {"S": "record"}}, ConsistentRead=True)["Item"]
    assert winners == {int(stored["writer"]["N"])}


@pytest.mark.parametrize("returned", ["UPDATED_NEW", "ALL_NEW"])
def test_adding_to_a_number_set_creates_it_and_returns_all_of_it(cloud: Any, returned: str) -> None:
    table = cloud.table(name="S")

    def add(number: int) -> set[int]:
        answer = cloud.dynamodb.update_item(
            TableName=table,
            Key={"name": {"S": "set"}},
            UpdateExpression="ADD members :member SET expires = :expires",
            ExpressionAttributeValues={":member": {"NS": [str(number)]}, ":expires": {"N": "4000000000"}},
            ReturnValues=returned,
        )
        assert ("name" in answer["Attributes"]) is (returned == "ALL_NEW")
        return {int(member) for member in answer["Attributes"]["members"]["NS"]}

    assert add(3) == {3}
    assert add(3) == {3}
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        seen = list(threads.map(add, range(16)))
    assert sum(members == set(range(16)) for members in seen) >= 1


def test_responses_arrive_in_one_packet(cloud: Any) -> None:
    address = urlsplit(cloud.emulator.endpoint)
    with socket.create_connection((address.hostname, address.port)) as connection:
        for _ in range(20):
            connection.sendall(_request(cloud, "GET", "/_ministack/health"))
            head, _, body = connection.recv(65_536).partition(b"\r\n\r\n")
            assert f"content-length: {len(body)}".encode() in head.lower().split(b"\r\n")
            assert json.loads(body)["services"]


def test_responses_keep_the_order_of_requests(cloud: Any) -> None:
    named = {"x_amz_target": "DynamoDB_20120810.GetItem", "service": "dynamodb"}
    quick = [_request(cloud, "POST", "/", body, **named) for body in (b'{"TableName": "none"}', b"{")]
    slow = _request(cloud, "GET", "/_ministack/health")
    address = urlsplit(cloud.emulator.endpoint)
    with socket.create_connection((address.hostname, address.port)) as connection, connection.makefile("rb") as stream:
        connection.sendall(slow + quick[0] + quick[1] + slow + quick[0])
        answers = [_answer(stream) for _ in range(5)]
    kinds = ["services", "ResourceNotFoundException", "SerializationException", "services", "ResourceNotFoundException"]
    assert [kind in answer for kind, answer in zip(kinds, answers, strict=True)] == [True] * 5


def _request(cloud: Any, method: str, target: str, body: bytes = b"", **headers: str) -> bytes:
    """Return the bytes of a signed request."""
    fields = {**cloud.signed(method, target, body, **headers), "content-length": str(len(body))}
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items()), "", ""]
    return "\r\n".join(lines).encode() + body


def _answer(stream: BinaryIO) -> str:
    """Return the body of the next response."""
    head = b"".join(iter(stream.readline, b"\r\n")).lower()
    return stream.read(int(head.partition(b"content-length: ")[2].split()[0])).decode()


def test_tables_belong_to_a_region_and_errors_match_dynamodb(cloud: Any) -> None:
    table = cloud.table(name="S")
    elsewhere = cloud.client("dynamodb", "eu-west-1")
    with pytest.raises(elsewhere.exceptions.ResourceNotFoundException) as missing:
        elsewhere.get_item(TableName=table, Key={"name": {"S": "none"}})
    answer = missing.value.response["ResponseMetadata"]
    assert answer["HTTPHeaders"]["content-type"] == "application/x-amz-json-1.0"
    assert answer["RequestId"]
    assert "Item" not in cloud.dynamodb.get_item(TableName=table, Key={"name": {"S": "none"}})


def test_repeated_numbers_are_accepted(cloud: Any) -> None:
    table = cloud.table(name="S")
    for _ in range(2):
        cloud.dynamodb.put_item(TableName=table, Item={"name": {"S": "number"}, "value": {"N": "007.50"}})
        stored = cloud.dynamodb.get_item(TableName=table, Key={"name": {"S": "number"}})["Item"]
        assert stored["value"] == {"N": "7.5"}
        with pytest.raises(cloud.dynamodb.exceptions.ClientError, match="numeric value"):
            cloud.dynamodb.put_item(TableName=table, Item={"name": {"S": "number"}, "value": {"N": "seven"}})


@pytest.mark.parametrize(
    ("value", "refusal"),
    [
        ({"M": {"a": {"N": "seven"}}}, "numeric value"),
        ({"L": [{"SS": ["a", "a"]}]}, "duplicates"),
        (functools.reduce(lambda inner, _: {"L": [inner]}, range(33), {"S": "a"}), "Nesting Levels"),
    ],
    ids=["number", "set", "nesting"],
)
def test_nested_values_are_validated(cloud: Any, value: Any, refusal: str) -> None:
    table = cloud.table(name="S")
    with pytest.raises(cloud.dynamodb.exceptions.ClientError, match=f"1 validation error detected: .*{refusal}"):
        cloud.dynamodb.put_item(TableName=table, Item={"name": {"S": "a"}, "value": value})
    with pytest.raises(cloud.dynamodb.exceptions.ClientError, match=f"1 validation error detected: .*{refusal}"):
        cloud.dynamodb.update_item(
            TableName=table,
            Key={"name": {"S": "a"}},
            UpdateExpression="SET #value = :value",
            ExpressionAttributeNames={"#value": "value"},
            ExpressionAttributeValues={":value": value},
        )


def test_updates_never_modify_the_old_item(cloud: Any) -> None:
    table, key = cloud.table(name="S"), {"name": {"S": "a"}}
    before = {"inner": {"M": {"list": {"L": [{"M": {"n": {"N": "1"}}}]}}}}
    cloud.dynamodb.put_item(TableName=table, Item=key | before)
    update = {
        "TableName": table,
        "Key": key,
        "UpdateExpression": "SET #inner.#list[0].n = :two",
        "ExpressionAttributeNames": {"#inner": "inner", "#list": "list"},
        "ExpressionAttributeValues": {":two": {"N": "2"}},
    }
    assert cloud.dynamodb.update_item(**update, ReturnValues="ALL_OLD")["Attributes"] == key | before
    with pytest.raises(cloud.dynamodb.exceptions.ClientError, match="document path"):
        cloud.dynamodb.update_item(**update | {"UpdateExpression": "SET #inner.#list[0].n = :two, absent.x = :two"})
    after = {"inner": {"M": {"list": {"L": [{"M": {"n": {"N": "2"}}}]}}}}
    assert cloud.dynamodb.get_item(TableName=table, Key=key)["Item"] == key | after


def test_a_query_is_paged_in_order(cloud: Any) -> None:
    table = cloud.table(execution="S", step="S")
    for number in range(7):
        cloud.dynamodb.put_item(TableName=table, Item={"execution": {"S": "e"}, "step": {"S": f"{number:02}"}})
    steps, start = [], {}
    while True:
        page = cloud.dynamodb.query(
            TableName=table,
            KeyConditionExpression="execution = :e",
            ExpressionAttributeValues={":e": {"S": "e"}},
            Limit=3,
            **start,
        )
        steps += [item["step"]["S"] for item in page["Items"]]
        if "LastEvaluatedKey" not in page:
            break
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
    assert steps == [f"{number:02}" for number in range(7)]


def test_a_large_query_is_paged_by_size(cloud: Any) -> None:
    table = cloud.table(execution="S", step="S")
    for number in range(4):
        item = {"execution": {"S": "e"}, "step": {"S": str(number)}, "value": {"S": "x" * 350_000}}
        cloud.dynamodb.put_item(TableName=table, Item=item)
    page = cloud.dynamodb.query(
        TableName=table, KeyConditionExpression="execution = :e", ExpressionAttributeValues={":e": {"S": "e"}}
    )
    assert 0 < len(page["Items"]) < 4
    assert "LastEvaluatedKey" in page


def test_a_batch_returns_what_exists(cloud: Any) -> None:
    table = cloud.table(name="S")
    for number in range(3):
        cloud.dynamodb.put_item(TableName=table, Item={"name": {"S": str(number)}})
    keys = [{"name": {"S": str(number)}} for number in range(5)]
    answer = cloud.dynamodb.batch_get_item(RequestItems={table: {"Keys": keys, "ConsistentRead": True}})
    assert sorted(item["name"]["S"] for item in answer["Responses"][table]) == ["0", "1", "2"]
    assert not answer["UnprocessedKeys"]
    with pytest.raises(cloud.dynamodb.exceptions.ClientError, match="100"):
        cloud.dynamodb.batch_get_item(
            RequestItems={table: {"Keys": [{"name": {"S": str(number)}} for number in range(101)]}}
        )


def test_items_above_400_kb_are_refused(cloud: Any) -> None:
    table = cloud.table(name="S")
    with pytest.raises(cloud.dynamodb.exceptions.ClientError, match="size has exceeded"):
        cloud.dynamodb.put_item(TableName=table, Item={"name": {"S": "a"}, "value": {"S": "x" * 410_000}})


def test_a_table_remembers_its_ttl_attribute(cloud: Any) -> None:
    table = cloud.table(name="S")
    specification = {"Enabled": True, "AttributeName": "expires"}
    cloud.dynamodb.update_time_to_live(TableName=table, TimeToLiveSpecification=specification)
    described = cloud.dynamodb.describe_time_to_live(TableName=table)["TimeToLiveDescription"]
    assert described == {"TimeToLiveStatus": "ENABLED", "AttributeName": "expires"}


PAUSE_S = 0.14
"""Almost the pause of 0.15 s that the emulator's Step Functions makes without our change."""


def test_a_message_is_delayed(cloud: Any) -> None:
    url, _ = cloud.queue()
    sent = time.monotonic()
    cloud.sqs.send_message(QueueUrl=url, MessageBody="later", DelaySeconds=1)
    assert "Messages" not in cloud.sqs.receive_message(QueueUrl=url)
    assert cloud.receive(url)["Body"] == "later"
    assert time.monotonic() - sent >= 1


def test_step_functions_starts_without_a_pause(cloud: Any) -> None:
    client = cloud.client("stepfunctions")
    definition = '{"StartAt": "P", "States": {"P": {"Type": "Pass", "End": true}}}'
    role = "arn:aws:iam::000000000000:role/any"
    machine = client.create_state_machine(name="pass", definition=definition, roleArn=role)["stateMachineArn"]

    def took_s() -> float:
        started = time.monotonic()
        execution = client.start_execution(stateMachineArn=machine)["executionArn"]
        cloud.until(lambda: client.describe_execution(executionArn=execution)["status"] == "SUCCEEDED")
        return time.monotonic() - started

    # With the pause none takes less; on a busy machine some do without it.
    cloud.until(lambda: took_s() < PAUSE_S)
