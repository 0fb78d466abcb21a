"""Asynchronous events: retries, throttles, ages, destinations, and hundreds at once."""

import concurrent.futures
import json
import time
from typing import Any

import pytest

FAILING = """
    def handler(event, context):
        print("attempt", context.aws_request_id)
        raise KeyError("order")
"""
COUNTING = """
    import os, time, boto3

    table = boto3.resource("dynamodb").Table(os.environ["TABLE"])

    def handler(event, context):
        time.sleep(event.get("sleep_s", 0))
        table.update_item(
            Key={"name": "seen"},
            UpdateExpression="ADD numbers :number",
            ExpressionAttributeValues={":number": {event["number"]}},
        )
"""


def _destination(arn: str) -> dict[str, Any]:
    return {"OnFailure": {"Destination": arn}}


def test_only_valid_events_for_existing_functions_are_accepted(cloud: Any) -> None:
    name = cloud.function("def handler(event, context): return event")
    for missing in ("none", f"{name}:7", f"arn:aws:lambda:us-east-1:000000000000:function:{name}:none"):
        with pytest.raises(cloud.awslambda.exceptions.ResourceNotFoundException):
            cloud.send(missing)
    elsewhere = cloud.client("lambda", "eu-west-1")
    with pytest.raises(elsewhere.exceptions.ResourceNotFoundException):
        elsewhere.invoke(FunctionName=name, InvocationType="Event")
    with pytest.raises(cloud.awslambda.exceptions.InvalidRequestContentException):
        cloud.awslambda.invoke(FunctionName=name, InvocationType="Event", Payload=b"{")


def test_failing_event_keeps_its_id_and_reaches_its_versions_destination(cloud: Any) -> None:
    url, arn = cloud.queue()
    name = cloud.function(FAILING, Publish=True)
    cloud.awslambda.put_function_event_invoke_config(
        FunctionName=name, Qualifier="1", MaximumRetryAttempts=1, DestinationConfig=_destination(arn)
    )
    request_id = cloud.send(f"{name}:1", {"order": 7})

    record = json.loads(cloud.receive(url)["Body"])

    assert (cloud.emulator.logs / f"{name}.log").read_text().count(f"attempt {request_id}") == 2
    assert record["version"] == "1.0"
    assert record["requestContext"] == {
        "requestId": request_id,
        "functionArn": f"arn:aws:lambda:us-east-1:000000000000:function:{name}:1",
        "condition": "RetriesExhausted",
        "approximateInvokeCount": 2,
    }
    assert record["requestPayload"] == {"order": 7}
    assert record["responseContext"] == {"statusCode": 200, "executedVersion": "1", "functionError": "Unhandled"}
    assert record["responsePayload"]["errorType"] == "KeyError"


def test_the_configuration_of_another_qualifier_does_not_apply(cloud: Any) -> None:
    other_url, other_arn = cloud.queue()
    alias_url, alias_arn = cloud.queue()
    name = cloud.function(FAILING, Publish=True)
    cloud.awslambda.create_alias(FunctionName=name, Name="start", FunctionVersion="1")
    for qualifier, arn in ((None, other_arn), ("1", other_arn), ("start", alias_arn)):
        options = {"Qualifier": qualifier} if qualifier else {}
        cloud.awslambda.put_function_event_invoke_config(
            FunctionName=name, MaximumRetryAttempts=0, DestinationConfig=_destination(arn), **options
        )
    cloud.send(name, Qualifier="start")
    record = json.loads(cloud.receive(alias_url)["Body"])
    assert record["requestContext"]["functionArn"].endswith(f"{name}:start")
    assert record["responseContext"]["executedVersion"] == "1"
    assert "Messages" not in cloud.sqs.receive_message(QueueUrl=other_url)


def test_a_crash_and_a_timeout_reach_the_destination_too(cloud: Any) -> None:
    url, arn = cloud.queue()
    name = cloud.function(
        """
        import os, time

        def handler(event, context):
            os._exit(1) if event == "crash" else time.sleep(60)
        """,
        Timeout=1,
    )
    cloud.awslambda.put_function_event_invoke_config(
        FunctionName=name, MaximumRetryAttempts=0, DestinationConfig=_destination(arn)
    )
    cloud.send(name, "crash")
    assert json.loads(cloud.receive(url)["Body"])["responsePayload"]["errorType"] == "Runtime.ExitError"
    cloud.send(name, "sleep")
    assert json.loads(cloud.receive(url)["Body"])["responsePayload"]["errorType"] == "Sandbox.Timedout"


def test_a_function_can_be_the_destination(cloud: Any) -> None:
    table = cloud.table(name="S")
    handler = cloud.function(
        """
        import os, boto3

        def handler(event, context):
            item = {"name": event["requestContext"]["condition"], "version": context.function_version}
            boto3.resource("dynamodb").Table(os.environ["TABLE"]).put_item(Item=item)
        """,
        Publish=True,
        Environment={"Variables": {"TABLE": table}},
    )
    name = cloud.function("def handler(event, context): return 1 / event")
    arn = f"arn:aws:lambda:us-east-1:000000000000:function:{handler}:1"
    targets = {"OnFailure": {"Destination": arn}, "OnSuccess": {"Destination": arn}}
    cloud.awslambda.put_function_event_invoke_config(
        FunctionName=name, MaximumRetryAttempts=0, DestinationConfig=targets
    )
    cloud.send(name, 0)
    cloud.send(name, 1)
    items = cloud.until(lambda: len(found := cloud.dynamodb.scan(TableName=table)["Items"]) == 2 and found)
    assert {(item["name"]["S"], item["version"]["S"]) for item in items} == {
        ("RetriesExhausted", "1"),
        ("Success", "1"),
    }


def test_a_dead_letter_queue_gets_the_event_itself(cloud: Any) -> None:
    url, arn = cloud.queue()
    name = cloud.function(FAILING, DeadLetterConfig={"TargetArn": arn})
    cloud.awslambda.put_function_event_invoke_config(FunctionName=name, MaximumRetryAttempts=0)
    request_id = cloud.send(name, {"order": 8})
    message = cloud.receive(url)
    assert json.loads(message["Body"]) == {"order": 8}
    assert message["MessageAttributes"]["RequestID"]["StringValue"] == request_id


def test_throttles_do_not_count_as_attempts(cloud: Any) -> None:
    table = cloud.table(name="S")
    name = cloud.function(COUNTING, Publish=True, Environment={"Variables": {"TABLE": table}})
    cloud.awslambda.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=1)
    cloud.awslambda.put_function_event_invoke_config(FunctionName=name, Qualifier="1", MaximumRetryAttempts=0)
    started = time.monotonic()
    for number in range(8):
        cloud.send(f"{name}:1", {"number": number, "sleep_s": 0.1})
    cloud.until(lambda: _numbers(cloud, table) == set(range(8)))
    assert time.monotonic() - started > 0.8


def test_an_event_beyond_its_maximum_age_is_dropped(cloud: Any) -> None:
    url, arn = cloud.queue()
    name = cloud.function(FAILING)
    cloud.client("lambda", parameter_validation=False).put_function_event_invoke_config(
        FunctionName=name, MaximumEventAgeInSeconds=1, DestinationConfig=_destination(arn)
    )
    cloud.send(name)
    record = json.loads(cloud.receive(url)["Body"])
    assert record["requestContext"]["condition"] == "EventAgeExceeded"
    assert record["requestContext"]["approximateInvokeCount"] == 1


def test_zero_concurrency_drops_events_at_once(cloud: Any) -> None:
    url, arn = cloud.queue()
    name = cloud.function(FAILING)
    cloud.awslambda.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=0)
    cloud.awslambda.put_function_event_invoke_config(FunctionName=name, DestinationConfig=_destination(arn))
    cloud.send(name)
    record = json.loads(cloud.receive(url)["Body"])
    assert record["requestContext"]["condition"] == "ZeroReservedConcurrency"
    assert record["requestContext"]["approximateInvokeCount"] == 0
    assert "responsePayload" not in record


def test_three_hundred_events_finish_in_a_bounded_number_of_processes(cloud: Any, processes: Any) -> None:
    table = cloud.table(name="S")
    name = cloud.function(COUNTING, Environment={"Variables": {"TABLE": table}}, Timeout=30)
    started = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda number: cloud.send(name, {"number": number}), range(300)))
    # The first look is before the first question, because all may have ended by then.
    peak = len(processes.descendants(cloud.emulator.pid))
    while _numbers(cloud, table) != set(range(300)):
        peak = max(peak, len(processes.descendants(cloud.emulator.pid)))
        assert time.monotonic() - started < 120
        time.sleep(0.05)
    assert 0 < peak <= 2 * 8, "one that ends may be there beside the one that takes its place"


def _numbers(cloud: Any, table: str) -> set[int]:
    item = cloud.dynamodb.get_item(TableName=table, Key={"name": {"S": "seen"}}, ConsistentRead=True).get("Item", {})
    return {int(number) for number in item.get("numbers", {}).get("NS", [])}
