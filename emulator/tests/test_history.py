"""History of what tables, Lambda and queues saw, and faults on request."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from unum_emulator.process import Emulator

# Writes an item under the event's name, overwrites nothing, and sends a message.
WRITER = """
    import os, boto3
    from botocore.exceptions import ClientError

    items = boto3.client("dynamodb")
    queues = boto3.client("sqs")

    def handler(event, context):
        try:
            items.put_item(
                TableName=os.environ["TABLE"],
                Item={"name": {"S": event["name"]}},
                ConditionExpression="attribute_not_exists(#n)",
                ExpressionAttributeNames={"#n": "name"},
            )
        except ClientError:
            pass
        items.update_item(
            TableName=os.environ["TABLE"],
            Key={"name": {"S": event["name"]}},
            UpdateExpression="ADD runs :one",
            ExpressionAttributeValues={":one": {"N": "1"}},
        )
        queues.send_message(QueueUrl=os.environ["QUEUE"], MessageBody='{"for": "somebody"}')
        return event["name"]
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, new_cloud: Callable[[Emulator], Any]) -> Iterator[Any]:
    path = tmp_path_factory.mktemp("history") / "history.jsonl"
    with Emulator(sys.executable, max_processes=4, history=path) as emulator:
        yield new_cloud(emulator), path


def lines(path: Path, **fields: Any) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in path.read_text().splitlines()]
    return [line for line in found if all(line.get(name) == value for name, value in fields.items())]


def deploy(cloud: Any, **tags: str) -> str:
    table, (url, _) = cloud.table(name="S"), cloud.queue()
    variables = {"TABLE": table, "QUEUE": url}
    name: str = cloud.function(WRITER, Environment={"Variables": variables}, Tags=tags, Timeout=20)
    return name


def test_writes_and_messages_name_the_delivery_that_made_them(recorded: Any) -> None:
    cloud, path = recorded
    name = deploy(cloud)
    for _ in range(2):
        assert cloud.invoke(name, {"name": "a"})[0] == "a"
    first, second = (line["delivery"] for line in lines(path, what="begun") if name in line["function"])
    made = [(line["by"], line["operation"], line["accepted"]) for line in lines(path, what="write", key=["a"])]
    assert made == [
        (first, "put_item", True),
        (first, "update_item", True),
        (second, "put_item", False),
        (second, "update_item", True),
    ]
    assert [line["before"] for line in lines(path, what="write", by=first)] == [None, {"name": {"S": "a"}}]
    assert lines(path, what="write", by=second)[-1]["after"]["runs"] == {"N": "2"}
    assert [line["body"] for line in lines(path, what="message", by=first)] == [{"for": "somebody"}]
    assert [line["result"] for line in lines(path, what="ended", delivery=first)] == ["answer"]


def test_an_event_is_followed_through_its_attempts_to_the_last_word(recorded: Any) -> None:
    cloud, path = recorded
    name = deploy(cloud, **{"emulator:faults": "doomed=1"})
    request_id = cloud.send(name, {"name": "b"})
    cloud.until(lambda: lines(path, what="given up", request=request_id))
    assert len(lines(path, what="sent", request=request_id)) == 1
    begun = [line["delivery"] for line in lines(path, what="begun", request=request_id)]
    assert len(begun) == 3
    assert [lines(path, what="ended", delivery=each)[0]["result"] for each in begun] == ["killed"] * 3
    assert len([line for line in lines(path, what="fault") if line["delivery"] in begun]) == 3


def test_only_the_first_attempt_of_an_event_dies(recorded: Any) -> None:
    cloud, path = recorded
    name = deploy(cloud, **{"emulator:faults": "first=1 within=1"})
    request_id = cloud.send(name, {"name": "first"})
    cloud.until(lambda: _ended(path, request_id) == 2)
    begun = [line["delivery"] for line in lines(path, what="begun", request=request_id)]
    results = [lines(path, what="ended", delivery=each)[0]["result"] for each in begun]
    assert results[0] == "killed"
    assert "killed" not in results[1:]


def _ended(path: Path, request_id: str) -> int:
    """Return how many attempts of an event have ended."""
    begun = [line["delivery"] for line in lines(path, what="begun", request=request_id)]
    return sum(bool(lines(path, what="ended", delivery=each)) for each in begun)


def test_a_process_dies_before_or_after_the_effect_of_a_request(recorded: Any) -> None:
    cloud, path = recorded
    name = deploy(cloud, **{"emulator:faults": "die=1 within=1"})
    for number in range(8):
        cloud.invoke(name, {"name": f"c{number}"})
    begun = [line["delivery"] for line in lines(path, what="begun") if name in line["function"]]
    for delivery in begun:
        (fault,) = lines(path, what="fault", delivery=delivery)
        writes = lines(path, what="write", by=delivery)
        assert len(writes) == (fault["fault"] == "dies after a request")
        assert [line["result"] for line in lines(path, what="ended", delivery=delivery)] == ["killed"]


def test_an_event_is_delivered_twice_with_one_request_id(recorded: Any) -> None:
    cloud, path = recorded
    name = deploy(cloud, **{"emulator:faults": "twice=1"})
    request_id = cloud.send(name, {"name": "d"})
    cloud.until(lambda: len(lines(path, what="begun", request=request_id)) == 2)
    assert len(lines(path, what="sent", request=request_id)) == 1


def test_an_unknown_fault_is_refused() -> None:
    pytest.importorskip("ministack")
    from unum_emulator.aws_lambda.injected_faults import Faults  # noqa: PLC0415 - its import needs the emulator's packages

    with pytest.raises(ValueError, match=r"expected some of .*, got 'sleep=1'"):
        Faults.parse("sleep=1")


def test_objects_are_recorded_before_and_after_each_attempt(recorded: Any) -> None:
    cloud, path = recorded
    client = cloud.client("s3")
    client.create_bucket(Bucket="seen")
    client.put_object(Bucket="seen", Key="a/=1", Body=b'{"n": 1}', IfNoneMatch="*")
    with pytest.raises(ClientError):
        client.put_object(Bucket="seen", Key="a/=1", Body=b'{"n": 2}', IfNoneMatch="*")
    client.put_object(Bucket="seen", Key="a&b", Body=b"text")
    client.delete_objects(Bucket="seen", Delete={"Objects": [{"Key": "a/=1"}, {"Key": "a&b"}]})
    made = [(line["name"], line["accepted"], line["before"], line["after"]) for line in lines(path, bucket="seen")]
    assert made == [
        ("a/=1", True, None, {"n": 1}),
        ("a/=1", False, {"n": 1}, {"n": 1}),
        ("a&b", True, None, 4),
        ("a/=1", True, {"n": 1}, None),
        ("a&b", True, 4, None),
    ]
    assert {line["by"] for line in lines(path, bucket="seen")} == {""}
